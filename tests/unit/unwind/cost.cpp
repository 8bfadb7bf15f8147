// SPDX-License-Identifier: MIT
// tests/unit/unwind/cost: what a walk costs, compiled as it is shipped.
//
// Stacks of random programs with 24 to 28 frames, walked while their rules are known, and by
// libgcc. Says the medians. Fails if a walk with known rules takes five times what is promised
// (docs/decisions/0033), so that a slow machine does not matter and a lock or a system call does.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "compared.hpp"
#include "programs/shapes.hpp"

namespace talus::core::test {
namespace {

constexpr size_t walks = 200, stacks = 100, frames_least = 24, frames_most = 28;

double now_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Costs {
  std::vector<double> first, known, by_libgcc, frames;
  unwind::StackBounds bounds;

  template <typename Walk>
  static double time_of(Walk walk, size_t count) {
    const double begin = now_ns();
    for (size_t i = 0; i < count; i++) walk();
    return (now_ns() - begin) / static_cast<double>(count);
  }
  void measure() {
    uintptr_t addresses[512];
    size_t count = walk_by_libgcc(addresses, 512);
    if (count < frames_least || count > frames_most) return;
    const auto own = [&] { count = unwinder().walk(bounds, addresses, 512).frames; };
    const uint64_t made = unwinder().rules_made();
    const double first_ns = time_of(own, 1);
    const uint64_t rules = unwinder().rules_made() - made;
    if (rules > 0) first.push_back(first_ns / static_cast<double>(rules));
    known.push_back(time_of(own, walks));
    frames.push_back(static_cast<double>(count));
    by_libgcc.push_back(time_of([&] { walk_by_libgcc(addresses, 512); }, walks / 10));
  }
  static void look(void* with) { static_cast<Costs*>(with)->measure(); }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

int run() {
  Costs costs;
  uint64_t random = 4711;
  while (costs.known.size() < stacks) {
    Trip trip;
    trip.random = random += 2;
    trip.depth = 3 + random % 7;
    trip.look = Costs::look;
    trip.with = &costs;
    trip.has_signals = false;
    travel(trip);
  }
  const double known = median(costs.known), frames = median(costs.frames);
  std::printf("frames                 %8.0f\n", frames);
  std::printf("walk, rules known      %8.0f ns, %.1f a frame\n", known, known / frames);
  std::printf("walk by libgcc         %8.0f ns, %.1f a frame\n", median(costs.by_libgcc),
              median(costs.by_libgcc) / frames);
  std::printf("a rule that is made    %8.0f ns\n", median(costs.first));
  constexpr double promised_ns = 600;
  return known <= 5 * promised_ns ? 0 : 1;
}

}  // namespace
}  // namespace talus::core::test

int main() { return talus::core::test::run(); }
