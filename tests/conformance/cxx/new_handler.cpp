// operator new calls the new handler until it gives up (N30, C++ [new.delete.single]).
//
// A handler may make room (then new succeeds), uninstall itself (then bad_alloc, or null from the
// nothrow form) or throw. Requests that can never be met call it just the same.
// SPDX-License-Identifier: MIT
#include "../probe.hpp"

#include <cstdint>
#include <new>
#include <sys/resource.h>

namespace {

int calls;
void* spare;

void give_up_after_three() {
  if (++calls == 3) std::set_new_handler(nullptr);
}

struct OutOfRoom : std::bad_alloc {};

[[noreturn]] void throw_own() {
  ++calls;
  throw OutOfRoom();
}

void free_spare() {
  ++calls;
  if (spare == nullptr) {
    std::set_new_handler(nullptr);
    return;
  }
  free(spare);
  spare = nullptr;
}

std::size_t impossible() { return probe::opaque(static_cast<std::size_t>(PTRDIFF_MAX) - 100); }

template <typename Take>
void expect_bad_alloc(const char* what, Take take) {
  calls = 0;
  std::set_new_handler(give_up_after_three);
  bool is_thrown = false;
  void* block = nullptr;
  try {
    block = probe::opaque(take());
  } catch (const std::bad_alloc&) {
    is_thrown = true;
  }
  PROBE_EXPECT(is_thrown, "%s gives %p and throws nothing", what, block);
  PROBE_EXPECT(calls == 3, "%s called the handler %d times, not 3", what, calls);
}

template <typename Take>
void expect_null(const char* what, Take take) {
  calls = 0;
  std::set_new_handler(give_up_after_three);
  void* block = probe::opaque(take());
  PROBE_EXPECT(block == nullptr, "%s gives %p", what, block);
  PROBE_EXPECT(calls == 3, "%s called the handler %d times, not 3", what, calls);
}

void check_throwing_handler() {
  std::set_new_handler(throw_own);
  calls = 0;
  bool is_own = false;
  try {
    probe::opaque(::operator new(impossible()));
  } catch (const OutOfRoom&) {
    is_own = true;
  } catch (const std::bad_alloc&) {}
  PROBE_EXPECT(is_own && calls == 1, "the handler's own exception did not arrive");
  void* block = probe::opaque(::operator new(impossible(), std::nothrow));
  PROBE_EXPECT(block == nullptr && calls == 2, "nothrow with a throwing handler gives %p", block);
  std::set_new_handler(nullptr);
}

// Address space for one of two blocks: the second fits into what the handler frees.
void check_handler_makes_room() {
  spare = probe::opaque(malloc(300 * probe::mib));
  rlimit limit{500 * probe::mib, RLIM_INFINITY};
  if (spare == nullptr || setrlimit(RLIMIT_AS, &limit) != 0) return;
  std::set_new_handler(free_spare);
  calls = 0;
  bool is_met = false;
  try {
    ::operator delete(probe::opaque(::operator new(probe::opaque(280 * probe::mib))));
    is_met = true;
  } catch (const std::bad_alloc&) {}
  PROBE_EXPECT(is_met, "the handler freed 300 MiB, but new did not try again");
  PROBE_EXPECT(calls == 1, "the handler was called %d times, not once", calls);
}

}  // namespace

int main() {
  const auto aligned = static_cast<std::align_val_t>(128);
  expect_bad_alloc("new", [] { return ::operator new(impossible()); });
  expect_bad_alloc("new[]", [] { return ::operator new[](impossible()); });
  expect_bad_alloc("aligned new", [&] { return ::operator new(impossible(), aligned); });
  expect_bad_alloc("aligned new[]", [&] { return ::operator new[](impossible(), aligned); });
  expect_null("nothrow new", [] { return ::operator new(impossible(), std::nothrow); });
  expect_null("nothrow new[]", [] { return ::operator new[](impossible(), std::nothrow); });
  expect_null("aligned nothrow new",
              [&] { return ::operator new(impossible(), aligned, std::nothrow); });
  expect_null("aligned nothrow new[]",
              [&] { return ::operator new[](impossible(), aligned, std::nothrow); });
  check_throwing_handler();
  check_handler_makes_room();
  return probe::verdict();
}
