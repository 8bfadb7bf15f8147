// SPDX-License-Identifier: MIT
// fuzz/free.cpp: the end of a block of the default heap or of a heap of one's own.
#include <malloc.h>
#include <stdlib.h>

#include <new>

#include "default_heap.hpp"
#include "instances.hpp"
#include "libc_names.hpp"
#include "talus/talus.hpp"

namespace fuzz {
namespace {

void expect_null(const void* block, const char* call) {
  if (block != nullptr) fail("%s to 0 bytes gives %p", call, block);
}

// By the calls that only a block's own heap has; false: by none of them.
const char* free_in_heap(const Place& place, bool by_resizing) {
  talus_heap* heap = instances[place.number.load()].handle;
  if (by_resizing) {
    expect_null(called([&] { return talus_heap_realloc(heap, place.block, 0); }), "heap_realloc");
    return "talus_heap_realloc";
  }
  called([&] { talus_heap_free(heap, place.block); });
  return "talus_heap_free";
}

const char* free_by_resizing(const Place& place) {
  switch (draw(3)) {
    case 0:
      expect_null(called([&] { return talus_realloc(place.block, 0); }), "realloc");
      return "talus_realloc";
    case 1:
      expect_null(called([&] { return talus_realloc_no_preserve(place.block, 0); }), "realloc");
      return "talus_realloc_no_preserve";
    default:
      expect_null(called([&] { return talus_rezalloc(place.block, 0); }), "rezalloc");
      return "talus_rezalloc";
  }
}

const char* free_by_size(const Place& place) {
  note(place.call, place.block, place.bytes, place.alignment, nullptr);  // such a call may stop
  switch (draw(5)) {
    case 0:
      called([&] { free_sized(place.block, place.bytes); });
      return "free_sized";
    case 1:
      called([&] { talus_free_aligned_sized(place.block, place.alignment, place.bytes); });
      return "talus_free_aligned_sized";
    case 2: {
      const size_t cleared = draw(place.bytes + 1);
      called([&] { talus_freezero(place.block, cleared); });
      return "talus_freezero";
    }
    case 3: {
      // The first call of two threads at one time may wait, which leaves its own errno.
      talus::memory_resource* const resource = talus::default_resource();
      called([&] { resource->deallocate(place.block, place.bytes, place.alignment); });
      return "talus::memory_resource";
    }
    default:
      called([&] {
        talus::allocator<char>{}.deallocate(static_cast<char*>(place.block), place.bytes);
      });
      return "talus::allocator";
  }
}

const char* free_block(const Place& place, Frees how) {
  const bool is_in_heap = place.owner.load() == Owner::instance;
  switch (how == Frees::by_free ? draw(2) : draw(16)) {
    case 0:
    case 12:
    case 13:
    case 14:
      called([&] { free(place.block); });
      return "free";
    case 1:
    case 2:
    case 3:
      called([&] { talus_free(place.block); });
      return "talus_free";
    case 4:
    case 5:
    case 6:
      return free_by_size(place);
    case 7:
      return free_by_resizing(place);
    case 8: {
      void* blocks[] = {place.block};
      called([&] { talus_free_batch(blocks, 1); });
      return "talus_free_batch";
    }
    case 9:
    case 10:
      return is_in_heap ? free_in_heap(place, one_in(2)) : free_by_resizing(place);
    case 11:
      called([&] { operator delete(place.block); });
      return "operator delete";
    default:
      called([&] { cfree(place.block); });
      return "cfree";
  }
}

}  // namespace

void free_any(Place& place, Frees how) {
  if (place.contents.bytes < 64 * kib || one_in(3)) check(place, "before it is freed");
  const char* call = free_block(place, how);
  note(call, place.block, place.bytes, 0, nullptr);
  expect_errno_kept(call);
  empty(place);
}

}  // namespace fuzz
