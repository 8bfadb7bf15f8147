// What every form of operator new does with a size that cannot be had: throw, or give null.
//
// Owns: the eight forms, shared by the probes cxx_bad_alloc and cxx_wrapping_new.
// SPDX-License-Identifier: MIT
#ifndef TALUS_TESTS_CONFORMANCE_CXX_REFUSED_SIZES_HPP
#define TALUS_TESTS_CONFORMANCE_CXX_REFUSED_SIZES_HPP

#include <cstdint>
#include <new>

#include "../probe.hpp"

namespace probe {

template <typename Take>
void expect_bad_alloc(const char* what, std::size_t size, Take take) {
  void* block = nullptr;
  try {
    block = opaque(take(opaque(size)));
  } catch (const std::bad_alloc&) {
    return;
  }
  fail("%s(%zu) gives %p and throws nothing", what, size, block);
}

template <typename Take>
void expect_null(const char* what, std::size_t size, Take take) {
  void* block = opaque(take(opaque(size)));
  PROBE_EXPECT(block == nullptr, "%s(%zu) gives %p", what, size, block);
}

inline void check_refused_size(std::size_t size) {
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

}  // namespace probe

#endif  // TALUS_TESTS_CONFORMANCE_CXX_REFUSED_SIZES_HPP
