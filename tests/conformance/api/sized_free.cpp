// C23's free_sized and free_aligned_sized, where the allocator or the libc has them (N29).
//
// They are looked up at run time and skipped when absent, since a libc of before 2025 has none. If
// present they must take every size and alignment, accept null, and really free.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <dlfcn.h>
#include <malloc.h>

namespace {

using FreeSized = void (*)(void*, std::size_t);
using FreeAlignedSized = void (*)(void*, std::size_t, std::size_t);

void check_sized(FreeSized free_sized) {
  free_sized(nullptr, 0);
  for (std::size_t size = 1; size < 16 * probe::mib; size += size / 3 + 1) {
    free_sized(probe::opaque(malloc(size)), size);
    free_sized(probe::opaque(calloc(1, size)), size);
    free_sized(probe::opaque(realloc(malloc(8), size)), size);
  }
  free_sized(probe::opaque(malloc(probe::opaque(std::size_t{0}))), 0);
  for (int i = 0; i < 300000; ++i) {
    char* block = static_cast<char*>(probe::opaque(malloc(1000)));
    block[0] = block[999] = 1;
    free_sized(block, 1000);
  }
}

void check_aligned_sized(FreeAlignedSized free_aligned_sized) {
  free_aligned_sized(nullptr, 64, 128);
  for (std::size_t alignment = 8; alignment <= 4 * probe::mib; alignment *= 4) {
    for (std::size_t size = alignment; size < 8 * probe::mib; size *= 4) {
      free_aligned_sized(probe::opaque(aligned_alloc(alignment, size)), alignment, size);
    }
  }
  for (int i = 0; i < 300000; ++i) {
    char* block = static_cast<char*>(probe::opaque(aligned_alloc(128, 1024)));
    block[0] = block[1023] = 1;
    free_aligned_sized(block, 128, 1024);
  }
}

}  // namespace

int main() {
  const auto sized = reinterpret_cast<FreeSized>(dlsym(RTLD_DEFAULT, "free_sized"));
  const auto aligned =
      reinterpret_cast<FreeAlignedSized>(dlsym(RTLD_DEFAULT, "free_aligned_sized"));
  if (sized == nullptr && aligned == nullptr) probe::skip("no free_sized, no free_aligned_sized");
  PROBE_EXPECT(sized != nullptr && aligned != nullptr, "only one of the two exists");
  const std::size_t before = probe::resident_bytes();
  if (sized != nullptr) check_sized(sized);
  if (aligned != nullptr) check_aligned_sized(aligned);
  const std::size_t grown = probe::saturating_difference(probe::resident_bytes(), before);
  PROBE_EXPECT(grown < 60 * probe::mib, "sized frees leave %zu KiB", grown / 1024);
  return probe::verdict();
}
