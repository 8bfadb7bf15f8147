// Requests that cannot be met: null, ENOMEM, and what existed before stays intact (N29).
//
// Sizes above PTRDIFF_MAX break pointer subtraction, products may wrap around, and rounding up to a
// page may wrap to zero: each has bitten an allocator in use today.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cerrno>
#include <cstdint>
#include <malloc.h>

namespace {

constexpr std::size_t half = static_cast<std::size_t>(PTRDIFF_MAX);

void expect_refused(const char* call, void* block) {
  const int error = errno;
  PROBE_EXPECT(block == nullptr, "%s gives %p", call, block);
  PROBE_EXPECT(error == ENOMEM, "%s sets errno %d", call, error);
  errno = 0;
}

#define EXPECT_REFUSED(call)                    \
  do {                                          \
    errno = 0;                                  \
    expect_refused(#call, probe::opaque(call)); \
  } while (false)

std::size_t hide(std::size_t size) { return probe::opaque(size); }

void check_fresh() {
  EXPECT_REFUSED(malloc(hide(half + 1)));
  EXPECT_REFUSED(malloc(hide(half)));
  EXPECT_REFUSED(malloc(hide(SIZE_MAX)));
  EXPECT_REFUSED(malloc(hide(SIZE_MAX - 15)));
  EXPECT_REFUSED(malloc(hide(SIZE_MAX - 4095)));
  EXPECT_REFUSED(malloc(hide(SIZE_MAX - 65535)));
  EXPECT_REFUSED(calloc(hide(SIZE_MAX / 2), hide(3)));
  EXPECT_REFUSED(calloc(hide(3), hide(SIZE_MAX / 2)));
  EXPECT_REFUSED(calloc(hide(std::size_t{1} << 32), hide(std::size_t{1} << 32)));
  EXPECT_REFUSED(calloc(hide((std::size_t{1} << 32) + 1), hide(std::size_t{1} << 32)));
  EXPECT_REFUSED(calloc(hide(1), hide(half + 1)));
  EXPECT_REFUSED(realloc(nullptr, hide(half + 1)));
  EXPECT_REFUSED(reallocarray(nullptr, hide(SIZE_MAX / 2), hide(3)));
  EXPECT_REFUSED(valloc(hide(SIZE_MAX)));
  EXPECT_REFUSED(pvalloc(hide(SIZE_MAX)));
  EXPECT_REFUSED(pvalloc(hide(SIZE_MAX - 4096)));
}

void check_existing(std::size_t size) {
  void* block = probe::opaque(malloc(size));
  probe::fill(block, size, size);
  EXPECT_REFUSED(realloc(probe::opaque(block), hide(half + 1)));
  EXPECT_REFUSED(realloc(probe::opaque(block), hide(half)));
  EXPECT_REFUSED(realloc(probe::opaque(block), hide(SIZE_MAX)));
  EXPECT_REFUSED(realloc(probe::opaque(block), hide(SIZE_MAX - 4095)));
  EXPECT_REFUSED(reallocarray(probe::opaque(block), hide(SIZE_MAX / 2), hide(3)));
  const std::size_t root = hide(std::size_t{1} << 32);
  EXPECT_REFUSED(reallocarray(probe::opaque(block), root, root));
  PROBE_EXPECT(probe::is_filled(block, size, size), "a failed realloc of %zu bytes spoilt them",
               size);
  void* grown = realloc(block, size + 100);
  PROBE_EXPECT(grown != nullptr, "realloc after refusals");
  free(grown);
}

}  // namespace

int main() {
  check_fresh();
  for (const std::size_t size : {std::size_t{40}, std::size_t{5000}, 3 * probe::mib}) {
    check_existing(size);
  }
  // A refusal must leave the allocator usable.
  for (std::size_t size = 1; size < 4 * probe::mib; size = size * 2 + 1) {
    void* block = probe::opaque(malloc(size));
    PROBE_EXPECT(block != nullptr, "malloc(%zu) after refusals", size);
    free(block);
  }
  return probe::verdict();
}
