// valloc and pvalloc: page aligned, and pvalloc rounds up to whole pages (N29).
// These are old calls, but databases and device code still make them; the page size is the running
// kernel's, not a constant. Freed blocks must come back to use, which the last loop shows.
// They are called from the main thread only; nothing here depends on other threads.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cstdint>
#include <malloc.h>
#include <unistd.h>

namespace {

bool is_aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

void check_size(std::size_t size, std::size_t page) {
  void* plain = valloc(size);
  void* padded = pvalloc(size);
  PROBE_EXPECT(plain != nullptr && is_aligned(plain, page), "valloc(%zu) gives %p", size, plain);
  PROBE_EXPECT(padded != nullptr && is_aligned(padded, page), "pvalloc(%zu) gives %p", size,
               padded);
  const std::size_t rounded = (size + page - 1) / page * page;
  PROBE_EXPECT(malloc_usable_size(plain) >= size, "valloc(%zu) is short", size);
  PROBE_EXPECT(malloc_usable_size(padded) >= rounded, "pvalloc(%zu) is not whole pages", size);
  probe::fill(plain, size, 1);
  probe::fill(padded, rounded, 2);
  PROBE_EXPECT(probe::is_filled(plain, size, 1), "valloc(%zu) overlaps", size);
  free(plain);
  free(padded);
}

}  // namespace

int main() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, page - 1, page, page + 1,
                                 10 * page + 5, probe::mib, 5 * probe::mib + 1}) {
    check_size(size, page);
  }
  const std::size_t before = probe::resident_bytes();
  for (int i = 0; i < 50000; ++i) {
    char* block = static_cast<char*>(probe::opaque(i % 2 != 0 ? valloc(3000) : pvalloc(3000)));
    block[0] = 1;
    free(block);
  }
  const std::size_t grown = probe::saturating_difference(probe::resident_bytes(), before);
  PROBE_EXPECT(grown < 20 * probe::mib, "50000 page blocks freed leave %zu KiB", grown / 1024);
  return probe::verdict();
}
