// SPDX-License-Identifier: MIT
// tests/entry/replaced_main: what override.hpp and new_delete.hpp promise a header-only program.
//
// Shows that each form of new and delete, the containers of both units and malloc by its usual name
// take blocks of Talus. A new handler is called, and one that throws ends a nothrow new with null.
#include <string>
#include <vector>

#include "expect.h"

#include <talus/new_delete.hpp>
#include <talus/override.hpp>

std::string* text_of_other_unit();
void* block_of_other_unit();

namespace {

uint64_t live_bytes() {
  uint64_t value = 0;
  EXPECT(talus_get("heap.live_bytes", &value) == 0);
  return value;
}

// `made` is a block of at least `bytes` bytes that Talus has, and is gone after `free_it`.
template <typename Make, typename Free>
void expect_ours(size_t bytes, Make make, Free free_it) {
  const uint64_t before = live_bytes();
  auto* made = make();
  EXPECT(made != nullptr && live_bytes() >= before + bytes);
  free_it(made);
  EXPECT(live_bytes() == before);
}

struct alignas(64) Line {
  char bytes[64];
};

void forms() {
  expect_ours(
      4, [] { return new int; }, [](int* p) { delete p; });
  expect_ours(
      400, [] { return new int[100]; }, [](int* p) { delete[] p; });
  expect_ours(
      4, [] { return new (std::nothrow) int; }, [](int* p) { delete p; });
  expect_ours(
      400, [] { return new (std::nothrow) int[100]; }, [](int* p) { delete[] p; });
  const auto aligned = [](Line* p) {
    EXPECT(reinterpret_cast<uintptr_t>(p) % 64 == 0);
    delete p;
  };
  expect_ours(
      64, [] { return new Line; }, aligned);
  expect_ours(
      64, [] { return new (std::nothrow) Line; }, aligned);
  expect_ours(
      640, [] { return new Line[10]; }, [](Line* p) { delete[] p; });
  expect_ours(
      640, [] { return new (std::nothrow) Line[10]; }, [](Line* p) { delete[] p; });
  expect_ours(
      100, [] { return new std::string(100, 'x'); }, [](std::string* p) { delete p; });
  expect_ours(100, text_of_other_unit, [](std::string* p) { delete p; });
}

void usual_names() {
  expect_ours(
      100, [] { return malloc(100); }, [](void* p) { free(p); });
  expect_ours(
      100, [] { return calloc(10, 10); }, [](void* p) { talus::free(p); });
  expect_ours(
      300, [] { return realloc(malloc(10), 300); }, [](void* p) { free(p); });
  expect_ours(
      4, [] { return strdup("text"); }, [](char* p) { free(p); });
  expect_ours(
      4096, [] { return aligned_alloc(4096, 4096); }, [](void* p) { free(p); });
  expect_ours(100, block_of_other_unit, [](void* p) { free(p); });
  void* block = nullptr;
  EXPECT(posix_memalign(&block, 256, 10) == 0 && malloc_usable_size(block) >= 10);
  free(block);
}

int handler_calls;

void no_memory() {
  std::set_new_handler([] {
    if (++handler_calls == 2) throw std::bad_alloc{};
  });
  volatile size_t impossible = SIZE_MAX / 2;
  EXPECT(::operator new(impossible, std::nothrow) == nullptr&& handler_calls == 2);
  handler_calls = 0;
  bool has_thrown = false;
  try {
    ::operator delete(::operator new(impossible));
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  EXPECT(has_thrown && handler_calls == 2);
  std::set_new_handler(nullptr);
}

}  // namespace

int main() {
  forms();
  usual_names();
  no_memory();
  return 0;
}
