// new of a size that wraps to a small one when it is rounded up to the alignment (N29, N30).
//
// Every form must throw or give null. libstdc++ up to 12 rounds without looking in its own aligned
// new and hands out a tiny block, so glibc fails here by its C++ runtime; an allocator that
// replaces the operators can do better.
// SPDX-License-Identifier: MIT
#include "../probe.hpp"

#include <cstdint>
#include <new>

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

}  // namespace

int main() {
  check_size(SIZE_MAX);
  check_size(SIZE_MAX - 100);
  check_size(SIZE_MAX - 254);
  check_size(SIZE_MAX - 4096);
  return probe::verdict();
}
