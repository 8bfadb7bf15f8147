// SPDX-License-Identifier: MIT
// stress/small_stacks: threads with the smallest stack that glibc allows. musl's 2 KiB have no room
// for a text to print either.
//
// Every slow path must fit: first call, refill, remote delivery, large blocks, resizing, trimming,
// the thread's end. Sanitizers need more stack themselves, and so do audits, whose walks over trees
// recurse; both get it.
#include "footprint.hpp"

namespace stress::small_stacks {

stress::Exchange<128> exchange;

void use_every_path(uint64_t seed) {
  stress::Random random{seed};
  void* blocks[24];
  for (void*& block : blocks) block = stress::make_filled(random, random.size(32 * stress::kib));
  for (void*& block : blocks) block = exchange.swap(random, block);
  for (void*& block : blocks) {
    if (block != nullptr) {
      block = stress::resize_filled(block, random.size(300 * stress::kib), random);
    }
    stress::check_and_release(block);
  }
  void* aligned = talus::core::allocate_aligned(4096, 5000);
  STRESS_CHECK(reinterpret_cast<uintptr_t>(aligned) % 4096 == 0, "%p", aligned);
  talus::core::free_block(aligned);
  void* zeroed = talus::core::allocate_zeroed(3 * stress::mib);
  STRESS_CHECK(static_cast<char*>(zeroed)[2 * stress::mib] == 0, "calloc");
  talus::core::free_block(zeroed);
  if (seed % 64 == 0) talus::core::purge_beyond(0);
  if (seed % 16 == 0) (void)talus::core::collect_totals();
}

int run() {
  talus::core::process_starts();
  const size_t allowed = static_cast<size_t>(PTHREAD_STACK_MIN);
  const size_t smallest = allowed > 16 * stress::kib ? allowed : 16 * stress::kib;
  const bool is_checked = stress::is_sanitized || TALUS_AUDIT != 0;
  const size_t stack_bytes = is_checked ? 256 * stress::kib : smallest;
  const stress::Deadline deadline;
  uint64_t thread_count = 0;
  while (!deadline.is_over()) {
    stress::run_threads(
        4, [&](int i) { use_every_path(thread_count + static_cast<uint64_t>(i)); }, stack_bytes);
    thread_count += 4;
  }
  printf("%zu threads with %zu KiB of stack\n", static_cast<size_t>(thread_count),
         stack_bytes / stress::kib);
  exchange.empty();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  return 0;
}

const Program program{"small_stacks", run};

}  // namespace stress::small_stacks
