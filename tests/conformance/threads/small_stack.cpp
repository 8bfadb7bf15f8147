// Threads with the smallest stack POSIX allows, 16 KiB, use every entry point (N46).
//
// The stack is painted beforehand, so the deepest byte written is known afterwards: it is printed,
// and a sixteenth of the stack must have stayed free. Slow paths are provoked: fresh size classes,
// large blocks, foreign frees, refusals, trimming, the exit of the thread.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <climits>
#include <cstdint>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

namespace {

constexpr unsigned char paint = 0xc7;
constexpr std::size_t foreign_count = 500;

void* foreign[foreign_count];

void* use_everything(void* argument) {
  auto* results = static_cast<int*>(argument);
  for (std::size_t size = 1; size < 8 * probe::mib; size += size / 4 + 1) {
    void* block = malloc(size);
    if (block == nullptr) *results += 1;
    block = realloc(block, size + size / 2);
    free(block);
    free(calloc(1, size));
    free(aligned_alloc(8192, size));
  }
  if (probe::opaque(malloc(probe::opaque(SIZE_MAX / 2))) != nullptr) *results += 1;
  for (void* block : foreign) free(block);
  void* kept[200];
  for (int round = 0; round < 100; ++round) {
    for (void*& block : kept) block = malloc(700);
    for (void* block : kept) free(block);
  }
  malloc_trim(0);
  return nullptr;
}

std::size_t untouched_bytes(const unsigned char* stack) {
  std::size_t count = 0;
  while (stack[count] == paint) ++count;
  return count;
}

}  // namespace

int main() {
  const auto stack_bytes = static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN));
  const std::size_t mapped = stack_bytes < 16 * probe::kib ? 16 * probe::kib : stack_bytes;
  std::size_t least = mapped;
  for (int i = 0; i < 40; ++i) {
    for (void*& block : foreign) block = malloc(24 + static_cast<std::size_t>(i) * 100);
    auto* stack = static_cast<unsigned char*>(
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(stack, paint, mapped);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    int results = 0;
    pthread_t thread;
    const bool is_started = pthread_attr_setstack(&attributes, stack, mapped) == 0 &&
                            pthread_create(&thread, &attributes, use_everything, &results) == 0;
    PROBE_EXPECT(is_started, "a thread with a stack of %zu bytes cannot be made", mapped);
    if (!is_started) break;
    pthread_join(thread, nullptr);
    PROBE_EXPECT(results == 0, "%d calls went wrong", results);
    const std::size_t left = untouched_bytes(stack);
    if (left < least) least = left;
    munmap(stack, mapped);
  }
  probe::figure("stack never used", static_cast<double>(least), "bytes");
  PROBE_EXPECT(least >= mapped / 16, "only %zu of %zu bytes of stack stayed free", least, mapped);
  return probe::verdict();
}
