// Without a handler: bad_alloc from every throwing new, null from every nothrow new (N30).
//
// Asked for sizes no machine has and for memory that a limit on addresses refuses. After each
// refusal the process must be able to go on: throwing itself allocates, and it does so while the
// allocator has just failed. Sizes that wrap when rounded are the probe cxx_wrapping_new.
// SPDX-License-Identifier: MIT
#include "../probe.hpp"

#include <cstdint>
#include <new>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace {

template <typename Take>
void expect_bad_alloc(const char* what, std::size_t size, Take take) {
  void* block = nullptr;
  try {
    block = probe::opaque(take(probe::opaque(size)));
  } catch (const std::bad_alloc&) {
    return;
  }
  probe::fail("%s(%zu) gives %p and throws nothing", what, size, block);
}

template <typename Take>
void expect_null(const char* what, std::size_t size, Take take) {
  void* block = probe::opaque(take(probe::opaque(size)));
  PROBE_EXPECT(block == nullptr, "%s(%zu) gives %p", what, size, block);
}

void check_size(std::size_t size) {
  const auto aligned = static_cast<std::align_val_t>(256);
  expect_bad_alloc("new", size, [](std::size_t n) { return ::operator new(n); });
  expect_bad_alloc("new[]", size, [](std::size_t n) { return ::operator new[](n); });
  expect_bad_alloc("aligned new", size, [&](std::size_t n) { return ::operator new(n, aligned); });
  expect_bad_alloc("aligned new[]", size,
                   [&](std::size_t n) { return ::operator new[](n, aligned); });
  expect_null("nothrow new", size, [](std::size_t n) { return ::operator new(n, std::nothrow); });
  expect_null("nothrow new[]", size,
              [](std::size_t n) { return ::operator new[](n, std::nothrow); });
  expect_null("aligned nothrow new", size,
              [&](std::size_t n) { return ::operator new(n, aligned, std::nothrow); });
  expect_null("aligned nothrow new[]", size,
              [&](std::size_t n) { return ::operator new[](n, aligned, std::nothrow); });
}

void check_containers() {
  bool is_thrown = false;
  try {
    std::vector<std::string> lines;
    lines.reserve(probe::opaque(std::size_t{1} << 56));
  } catch (const std::bad_alloc&) {
    is_thrown = true;
  }
  PROBE_EXPECT(is_thrown, "vector::reserve over all addresses");
}

}  // namespace

int main() {
  check_size(PTRDIFF_MAX);
  check_size(static_cast<std::size_t>(PTRDIFF_MAX) + 1);
  check_containers();
  rlimit limit{600 * probe::mib, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) == 0) check_size(probe::gib);
  std::string text(100000, 'x');
  PROBE_EXPECT(text.find_first_not_of('x') == std::string::npos, "a string after the refusals");
  return probe::verdict();
}
