// SPDX-License-Identifier: MIT
// tests/unit/fake_os/instances: heaps of one's own on a kernel that refuses. Answers may be null;
// nothing is lost, and nothing is wrong when the kernel is well again.
#include <gtest/gtest.h>

#include "api/heaps.hpp"
#include "effort.hpp"
#include "fake_os/sequence.hpp"

namespace talus::core {
namespace {

// From the beginning of a heap to each of its ends. Returns how many calls were refused.
size_t run_instances() {
  size_t refused = 0;
  for (int end = 0; end < 3; end++) {
    talus_heap* heap = api::heap_new(nullptr);
    refused += heap == nullptr;
    if (heap == nullptr) continue;
    void* blocks[200];
    for (size_t i = 0; i < 200; i++) {
      const size_t bytes = i % 20 == 0 ? 300 * kib : 50 * (i + 1);
      blocks[i] = api::heap_malloc(heap, bytes);
      refused += blocks[i] == nullptr;
      if (blocks[i] == nullptr) continue;
      test::fill_pattern(blocks[i], bytes, i);
      if (i % 40 != 0) continue;
      void* resized = api::realloc(blocks[i], bytes + mib);
      refused += resized == nullptr;
      if (resized != nullptr) blocks[i] = resized;
      test::require(test::has_pattern(blocks[i], bytes, i), "contents", i);
    }
    for (size_t i = 0; i < 200; i += 3) api::free(blocks[i]);
    if (end == 0) api::heap_clear(heap);
    if (end < 2) {
      api::heap_destroy(heap);
      continue;
    }
    const bool is_left = api::heap_delete(heap) == 0;
    refused += !is_left;
    for (size_t i = 1; i < 200; i++) {
      if (i % 3 != 0) api::free(blocks[i]);
    }
    if (!is_left) api::heap_destroy(heap);
  }
  return refused;
}

TEST(InstancesOnABadKernel, EveryCallIsRefusedOnce) { test::refuse_each_call_once(run_instances); }

}  // namespace
}  // namespace talus::core
