// Aligned entry points asked for the impossible: EINVAL, ENOMEM, and memptr untouched (N29).
//
// POSIX: posix_memalign takes powers of two that are multiples of sizeof(void*), reports by return
// value and leaves *memptr alone on failure. aligned_alloc and memalign may refuse (EINVAL) an
// alignment that is no power of two, or round it up (glibc before 2.38). Both are accepted; a block
// with neither alignment is not.
// SPDX-License-Identifier: MIT
#include "../probe.hpp"

#include <cerrno>
#include <cstdint>
#include <malloc.h>

namespace {

void* const untouched = reinterpret_cast<void*>(std::uintptr_t{0x1234567});

void check_posix(std::size_t alignment, std::size_t size, int wanted) {
  void* block = untouched;
  const int error = posix_memalign(&block, probe::opaque(alignment), probe::opaque(size));
  PROBE_EXPECT(error == wanted, "posix_memalign(%zu, %zu) returns %d, not %d", alignment, size,
               error, wanted);
  PROBE_EXPECT(error == 0 || block == untouched, "posix_memalign(%zu, %zu) wrote %p", alignment,
               size, block);
  if (error == 0) free(block);
}

using AlignedCall = void* (*)(std::size_t, std::size_t);

void check_odd_alignment(const char* name, AlignedCall call, std::size_t alignment) {
  std::size_t rounded = 1;
  while (rounded < alignment) rounded *= 2;
  errno = 0;
  void* block = probe::opaque(call(probe::opaque(alignment), 96));
  if (block == nullptr) {
    PROBE_EXPECT(errno == EINVAL, "%s(%zu, 96) sets errno %d", name, alignment, errno);
    return;
  }
  PROBE_EXPECT(reinterpret_cast<std::uintptr_t>(block) % rounded == 0,
               "%s(%zu, 96) gives %p, neither refused nor rounded up", name, alignment, block);
  free(block);
}

void check_too_large(const char* name, AlignedCall call, std::size_t alignment, std::size_t size) {
  errno = 0;
  void* block = probe::opaque(call(alignment, probe::opaque(size)));
  PROBE_EXPECT(block == nullptr, "%s(%zu, %zu) gives %p", name, alignment, size, block);
  PROBE_EXPECT(errno == ENOMEM, "%s(%zu, %zu) sets errno %d", name, alignment, size, errno);
}

}  // namespace

int main() {
  const std::size_t invalid[] = {0, 1, 2, 4, 3, 7, 9, 12, 24, 40, 48, 100, 4097, SIZE_MAX};
  for (const std::size_t alignment : invalid) check_posix(alignment, 64, EINVAL);
  for (const std::size_t alignment : invalid) check_posix(alignment, 0, EINVAL);

  const std::size_t valid[] = {8, 64, 4096, 2 * probe::mib};
  for (const std::size_t alignment : valid) {
    check_posix(alignment, SIZE_MAX, ENOMEM);
    check_posix(alignment, SIZE_MAX - alignment + 1, ENOMEM);
    check_posix(alignment, static_cast<std::size_t>(PTRDIFF_MAX) + 1, ENOMEM);
    check_too_large("aligned_alloc", aligned_alloc, alignment, SIZE_MAX - alignment + 1);
    check_too_large("memalign", memalign, alignment, SIZE_MAX - alignment + 1);
    check_too_large("aligned_alloc", aligned_alloc, alignment, PTRDIFF_MAX);
    void* block = nullptr;
    PROBE_EXPECT(posix_memalign(&block, alignment, 0) == 0, "size 0, alignment %zu", alignment);
    free(block);
  }
  // Powers of two, or rounded up to one, that no address is a multiple of.
  const std::size_t highest = std::size_t{1} << 63;
  for (const std::size_t alignment : {highest / 2, highest}) {
    check_posix(alignment, 64, ENOMEM);
    check_too_large("aligned_alloc", aligned_alloc, alignment, 64);
    check_too_large("memalign", memalign, alignment, 64);
  }
  for (const std::size_t alignment : {3, 24, 48, 100}) {
    check_odd_alignment("aligned_alloc", aligned_alloc, alignment);
    check_odd_alignment("memalign", memalign, alignment);
  }
  // C17 dropped the rule that the size be a multiple of the alignment.
  void* block = probe::opaque(aligned_alloc(64, probe::opaque(std::size_t{100})));
  PROBE_EXPECT(block != nullptr, "aligned_alloc(64, 100)");
  free(block);
  return probe::verdict();
}
