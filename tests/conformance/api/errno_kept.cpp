// free keeps errno, whatever it has to do inside (N29; POSIX.1-2024, glibc since 2.33).
//
// A cleanup path frees before it reports errno, so a free that unmaps, purges or takes a lock and
// leaves its own code there hides the caller's error. Small, large, aligned and null; a batch big
// enough to make the allocator give memory back; and blocks of a thread that has ended.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cerrno>
#include <malloc.h>
#include <thread>

namespace {

// No call sets this number.
constexpr int marker = 12345;

void expect_free_keeps_errno(void* block, const char* what, std::size_t size) {
  errno = marker;
  free(block);
  const int after = errno;
  PROBE_EXPECT(after == marker, "free of %s (%zu bytes) left errno %d", what, size, after);
}

void check_batch(std::size_t size, std::size_t count) {
  void** blocks = static_cast<void**>(malloc(count * sizeof(void*)));
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = malloc(size);
    if (blocks[i] != nullptr) probe::fill(blocks[i], size, i);
  }
  for (std::size_t i = 0; i < count; ++i) expect_free_keeps_errno(blocks[i], "a batch", size);
  free(blocks);
}

void check_foreign(std::size_t size) {
  void* blocks[64];
  std::thread([&] {
    for (void*& block : blocks) block = malloc(size);
  }).join();
  for (void* block : blocks) expect_free_keeps_errno(block, "an ended thread's block", size);
}

}  // namespace

int main() {
  expect_free_keeps_errno(nullptr, "null", 0);
  for (std::size_t size = 1; size <= 256 * probe::mib; size *= 4) {
    expect_free_keeps_errno(malloc(size), "a fresh block", size);
    expect_free_keeps_errno(aligned_alloc(64 * probe::kib, size), "an aligned block", size);
    void* block = probe::opaque(malloc(size));
    expect_free_keeps_errno(realloc(block, size / 2 + 1), "a shrunk block", size);
  }
  check_batch(48, 200000);
  check_batch(3000, 10000);
  check_batch(200 * probe::kib, 200);
  check_foreign(100);
  check_foreign(100 * probe::kib);
  return probe::verdict();
}
