// SPDX-License-Identifier: MIT
// stress/exhaustion_storm: threads fight for the last memory there is.
//
// The kernel is the fake one: after a while it refuses every new mapping, and each third purge and
// move all the time. Threads allocate until they are told there is no memory, free, and go on.
// Null is a right answer; a changed block, a lost byte or a crash is not.
#include "footprint.hpp"

static_assert(TALUS_FAKE_OS, "this program needs the operating system that can be told to fail");

namespace {

using stress::kib;
using stress::mib;

constexpr int thread_count = 4;
constexpr size_t blocks_max = 600;
talus::core::Atomic<uint64_t> refusal_count, block_count;

void refuse(talus::core::os::FakeCall call, uint64_t from, uint64_t every) {
  const size_t row = static_cast<size_t>(call);
  talus::core::os::fake_plan.refuse_from[row].store_relaxed(from);
  talus::core::os::fake_plan.refuse_every[row].store_relaxed(every);
}

void* try_make_filled(stress::Random& random, size_t bytes) {
  if (bytes < stress::stamp_bytes_min) bytes = stress::stamp_bytes_min;
  void* block = talus::core::allocate(bytes);
  (block == nullptr ? refusal_count : block_count).fetch_add_relaxed(1);
  if (block != nullptr) stress::fill(block, bytes, random.next());
  return block;
}

void work(int index, const stress::Deadline& deadline) {
  stress::Random random{static_cast<uint64_t>(index)};
  static void* all_blocks[thread_count][blocks_max];
  void** blocks = all_blocks[index];
  while (!deadline.is_over()) {
    void*& place = blocks[random.below(blocks_max)];
    stress::check_and_release(place);
    const bool is_large = random.below(3) == 0;
    const size_t bytes = is_large ? 40 * kib + random.below(mib) : random.size(32 * kib);
    place = try_make_filled(random, bytes);
    if (place != nullptr) continue;
    // No memory: free some and go on, as a program that survives would.
    for (size_t i = 0; i < 20; i++) {
      void*& other = blocks[random.below(blocks_max)];
      stress::check_and_release(other);
      other = nullptr;
    }
  }
  for (size_t i = 0; i < blocks_max; i++) {
    stress::check_and_release(blocks[i]);
    blocks[i] = nullptr;
  }
}

}  // namespace

int main() {
  talus::core::process_starts();
  // A few arenas and pieces of metadata, then nothing more.
  refuse(talus::core::os::FakeCall::map, 14, 0);
  refuse(talus::core::os::FakeCall::purge, 0, 3);
  refuse(talus::core::os::FakeCall::move_pages, 0, 3);
  refuse(talus::core::os::FakeCall::map_anew, 0, 3);
  const stress::Deadline deadline;
  stress::run_threads(thread_count, [&deadline](int index) { work(index, deadline); });
  printf("%zu blocks, %zu refusals, %zu KiB reserved\n",
         static_cast<size_t>(block_count.load_relaxed()),
         static_cast<size_t>(refusal_count.load_relaxed()),
         talus::core::collect_totals().space.reserved_bytes / kib);
  STRESS_CHECK(refusal_count.load_relaxed() > 100, "memory never ran out");
  STRESS_CHECK(talus::core::os::fake_plan.misaligned_calls.load_relaxed() == 0,
               "a misaligned call");
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  return 0;
}
