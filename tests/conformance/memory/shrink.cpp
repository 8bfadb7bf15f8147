// realloc to a smaller size gives the rest back (N33): at most 1.2 times the new size in 3 s.
//
// Case one: 300 blocks from 1 MiB to 64 KiB each. Case two: one block from 300 MiB to 20 MiB. Case
// three: 300 blocks from 1 MiB to 700 KiB, each less than a third smaller. Each case has a process
// of its own, so that what one leaves serves no other. The waiting is idle, for a program that has
// shrunk its buffers is often done. 2 MiB are granted for tables and stacks.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <cstring>
#include <malloc.h>

namespace {

constexpr std::size_t slack = 2 * probe::mib;

struct Case {
  const char* name;
  std::size_t count;
  std::size_t from;
  std::size_t to;
};

constexpr const char* roles[] = {"many", "one", "little"};
constexpr Case cases[] = {
    {"300 of 1 MiB to 64 KiB", 300, probe::mib, 64 * probe::kib},
    {"300 MiB to 20 MiB", 1, 300 * probe::mib, 20 * probe::mib},
    {"300 of 1 MiB to 700 KiB", 300, probe::mib, 700 * probe::kib},
};

void check(const char* name, std::size_t count, std::size_t from, std::size_t to) {
  static char* blocks[300];
  const std::size_t base = probe::resident_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = static_cast<char*>(probe::opaque(malloc(from)));
    std::memset(blocks[i], static_cast<int>(i + 1), from);
  }
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = static_cast<char*>(realloc(blocks[i], to));
    PROBE_EXPECT(blocks[i] != nullptr, "shrinking to %zu gives null", to);
    if (blocks[i] == nullptr) return;
    PROBE_EXPECT(blocks[i][to - 1] == static_cast<char>(i + 1), "contents lost by shrinking");
  }
  const std::size_t limit = base + count * to / 10 * 12 + slack;
  const bool is_given = probe::within(3.0, [&] { return probe::resident_bytes() <= limit; });
  const std::size_t left = probe::saturating_difference(probe::resident_bytes(), base);
  PROBE_EXPECT(is_given, "%s: %zu KiB resident for %zu KiB", name, left / 1024, count * to / 1024);
  probe::figure(name, static_cast<double>(left) / static_cast<double>(count * to), "x new size");
  for (std::size_t i = 0; i < count; ++i) free(blocks[i]);
}

}  // namespace

int main(int argc, char** argv) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (!probe::is_role(argc, argv, roles[i])) continue;
    check(cases[i].name, cases[i].count, cases[i].from, cases[i].to);
    return probe::verdict();
  }
  probe::expect_ok_side_by_side(roles, 20);
  return probe::verdict();
}
