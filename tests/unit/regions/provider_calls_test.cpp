// SPDX-License-Identifier: MIT
// tests/unit/regions/provider_calls: a heap of one's own whose memory comes from callbacks.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "heap_with_provider.hpp"

namespace talus::core {
namespace {

// Counts what it is asked for, and gives memory only where it was committed.
struct Caller {
  size_t reserves = 0, commits = 0, purges = 0, releases = 0;
  bool refuses = false;
  char* at = nullptr;
  size_t bytes = 0;

  static Caller& of(void* context) { return *static_cast<Caller*>(context); }
  static void* reserve(void* context, size_t bytes) {
    Caller& self = of(context);
    self.reserves++;
    if (self.refuses) return nullptr;
    void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    self.at = static_cast<char*>(at);
    self.bytes = bytes;
    return at;
  }
  static int commit(void* context, void* at, size_t bytes) {
    Caller& self = of(context);
    if (self.refuses) return ENOMEM;
    self.commits++;
    EXPECT_TRUE(at >= self.at && static_cast<char*>(at) + bytes <= self.at + self.bytes);
    return mprotect(at, bytes, PROT_READ | PROT_WRITE);
  }
  static int purge(void* context, void* at, size_t bytes) {
    of(context).purges++;
    EXPECT_EQ(madvise(at, bytes, MADV_DONTNEED), 0);
    return mprotect(at, bytes, PROT_NONE);
  }
  static void release(void* context, void* at, size_t bytes) {
    Caller& self = of(context);
    self.releases++;
    EXPECT_EQ(at, self.at);
    EXPECT_EQ(bytes, self.bytes);
    munmap(at, bytes);
  }
};
constexpr talus_provider_calls caller_calls = {Caller::reserve, Caller::commit, Caller::purge,
                                               Caller::release};

TEST(Callbacks, AreAskedBeforeMemoryIsUsed) {
  Caller caller;
  talus_provider request = test::request_for(TALUS_PROVIDER_CALLBACKS, 64 * mib);
  request.calls = &caller_calls;
  request.context = &caller;
  talus_heap* heap = test::heap_on(request);
  ASSERT_NE(heap, nullptr);
  EXPECT_EQ(caller.commits, 0u);
  test::use_heap(heap, reinterpret_cast<uintptr_t>(caller.at),
                 reinterpret_cast<uintptr_t>(caller.at) + caller.bytes);
  EXPECT_EQ(api::heap_delete(heap), EINVAL);
  EXPECT_GT(caller.commits, 0u);
  void* large = api::heap_malloc(heap, 20 * mib);
  memset(large, 1, 20 * mib);
  const size_t purges = caller.purges;
  api::free(large);
  EXPECT_GT(caller.purges, purges);
  caller.refuses = true;
  errno = 0;
  EXPECT_EQ(api::heap_malloc(heap, 20 * mib), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  caller.refuses = false;
  EXPECT_NE(api::heap_malloc(heap, 20 * mib), nullptr);
  EXPECT_EQ(caller.releases, 0u);
  api::heap_destroy(heap);
  EXPECT_EQ(caller.reserves, 1u);
  EXPECT_EQ(caller.releases, 1u);
  caller.refuses = true;
  EXPECT_EQ(test::heap_on(request), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(caller.releases, 1u);
}

}  // namespace
}  // namespace talus::core
