// SPDX-License-Identifier: MIT
// tests/death/foreign_pointers: addresses that the heap never gave out.
//
// Owns: nothing. Each is refused at once; on_foreign_free=ignore makes free() pass over them.
#include <stdlib.h>

#include <vector>

#include "faults.hpp"

namespace talus::core {
namespace {

using namespace test;

char static_data[64];

struct Named {
  const char* name;
  void* pointer;
};

// What a process has besides blocks. Each lives until the test ends.
class ForeignPointer : public testing::Test {
 protected:
  char on_the_stack[64] = {};
  void* of_libc = ::malloc(100);
  void* of_libc_large = ::malloc(8 * mib);
  std::vector<Named> all() {
    return {{"stack", hide(&on_the_stack[0])},
            {"static data", hide(&static_data[16])},
            {"code", reinterpret_cast<void*>(&api::malloc)},
            {"libc's malloc", hide(of_libc)},
            {"libc's malloc, mapped", hide(of_libc_large)},
            {"first page", reinterpret_cast<void*>(0x10)},
            {"odd garbage", reinterpret_cast<void*>(0xdeadbeef)},
            {"last covered", reinterpret_cast<void*>((uintptr_t{1} << 48) - 16)},
            {"above 2^48", reinterpret_cast<void*>(uintptr_t{1} << 48)},
            {"the top", reinterpret_cast<void*>(~uintptr_t{0} - 15)}};
  }
  ~ForeignPointer() override {
    ::free(of_libc);
    ::free(of_libc_large);
  }
};

TEST_F(ForeignPointer, Freed) {
  for (const Named& each : all()) {
    SCOPED_TRACE(each.name);
    EXPECT_FAULT(foreign_text(each.pointer, "free"), api::free(each.pointer));
  }
}

TEST_F(ForeignPointer, FreedByAThreadWithoutAHeap) {
  void* pointer = all()[0].pointer;
  EXPECT_FAULT(foreign_text(pointer, "free"), on_another_thread([&] { api::free(pointer); }));
}

TEST_F(ForeignPointer, Resized) {
  for (const Named& each : all()) {
    SCOPED_TRACE(each.name);
    EXPECT_FAULT(foreign_text(each.pointer, "realloc"), api::realloc(each.pointer, 100));
  }
}

TEST_F(ForeignPointer, AskedForItsSize) {
  for (const Named& each : all()) {
    SCOPED_TRACE(each.name);
    EXPECT_FAULT(foreign_text(each.pointer, "malloc_usable_size"),
                 api::malloc_usable_size(each.pointer));
  }
}

TEST_F(ForeignPointer, FreedAndIgnored) {
  const ForeignFree before = options.on_foreign_free;
  options.on_foreign_free = ForeignFree::ignore;
  for (const Named& each : all()) api::free(each.pointer);
  options.on_foreign_free = before;
  void* block = api::malloc(100);
  ASSERT_NE(block, nullptr);
  EXPECT_GE(api::malloc_usable_size(block), 100u);
  api::free(block);
}

// What is ignored are pointers from elsewhere; faults with our own blocks are still told.
TEST_F(ForeignPointer, IgnoredButADoubleFreeIsNot) {
  ThreadCache& cache = own_cache();
  void* other = api::malloc(64);
  void* block = api::malloc(64);
  EXPECT_FAULT(double_free_text(block, 64), {
    options.on_foreign_free = ForeignFree::ignore;
    api::free(block);
    api::free(block);
    flush_all(cache);
  });
  api::free(block);
  api::free(other);
}

}  // namespace
}  // namespace talus::core
