// SPDX-License-Identifier: MIT
// fuzz/allocate.cpp: blocks of the default heap, by every call that gives one.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "default_heap.hpp"
#include "sizes.hpp"
#include "talus/talus.hpp"

namespace fuzz {
namespace {

// What pvalloc asks for.
size_t whole_pages(size_t bytes) {
  return bytes == 0 ? 4 * kib : (bytes + 4 * kib - 1) / (4 * kib) * (4 * kib);
}

Given ordinary_block() {
  Given given;
  const size_t bytes = given.bytes = draw_size();
  switch (draw(10)) {
    case 0:
    case 1:
    case 2:
      given.call = "malloc";
      given.block = called([&] { return malloc(bytes); });
      break;
    case 3:
    case 4:
      given.call = "talus_malloc";
      given.block = called([&] { return talus_malloc(bytes); });
      break;
    case 5:
      given.call = "realloc";
      given.block = called([&] { return realloc(nullptr, bytes); });
      break;
    case 6:
      given.call = "talus_heap_malloc";
      given.block = called([&] { return talus_heap_malloc(nullptr, bytes); });
      break;
    case 7: {
      const size_t each = 1 + draw(8);
      given.call = "talus_reallocarray";
      given.bytes = (bytes / each + 1) * each;
      given.block = called([&] { return talus_reallocarray(nullptr, bytes / each + 1, each); });
      break;
    }
    case 8:
      given.call = "talus_realloc_no_preserve";
      given.block = called([&] { return talus_realloc_no_preserve(nullptr, bytes); });
      break;
    default: {
      given.call = "talus_allocate_at_least";
      const talus_block block = called([&] { return talus_allocate_at_least(bytes); });
      given.block = block.pointer;
      if (given.block == nullptr ? block.bytes != 0 : block.bytes < bytes) {
        fail("%s(%zu) gives %zu bytes", given.call, bytes, block.bytes);
      }
    }
  }
  return given;
}

Given zeroed_block() {
  Given given;
  const size_t bytes = given.bytes = draw_size();
  const size_t which = draw(7);
  given.is_zero_whole = given.is_cleared = which >= 2;
  given.zero_bytes = bytes;
  switch (which) {
    case 0:
      given.call = "calloc";
      given.block = called([&] { return calloc(1, bytes); });
      break;
    case 1: {
      const size_t each = 1 + draw(16);
      given.call = "calloc";
      given.zero_bytes = given.bytes = (bytes / each + 1) * each;
      given.block = called([&] { return calloc(bytes / each + 1, each); });
      break;
    }
    case 2:
      given.call = "talus_calloc";
      given.block = called([&] { return talus_calloc(1, bytes); });
      break;
    case 3:
      given.call = "talus_zalloc";
      given.block = called([&] { return talus_zalloc(bytes); });
      break;
    case 4:
      given.call = "talus_rezalloc";
      given.block = called([&] { return talus_rezalloc(nullptr, bytes); });
      break;
    case 5:
      given.call = "talus_recalloc";
      given.block = called([&] { return talus_recalloc(nullptr, 1, bytes); });
      break;
    default:
      given.alignment = draw_alignment();
      given.call = "talus_calloc_aligned";
      given.block = called([&] { return talus_calloc_aligned(given.alignment, 1, bytes); });
  }
  return given;
}

void* by_posix_memalign(size_t alignment, size_t bytes) {
  void* const before = &refused_count;
  void* block = before;
  const int answer = called([&] { return posix_memalign(&block, alignment, bytes); });
  expect_errno_kept("posix_memalign");
  if (answer == 0) return block;
  if (answer != ENOMEM || block != before) fail("posix_memalign answers %d, %p", answer, block);
  self().error = ENOMEM;
  return nullptr;
}

void* by_memalign_at(size_t bytes) {
  const size_t alignment = size_t{1} << (4 + draw(13));
  const size_t offset = draw(64 * kib / 16) * 16;
  void* block = called([&] { return talus_memalign_at(alignment, offset, bytes); });
  if (block != nullptr && (reinterpret_cast<uintptr_t>(block) + offset) % alignment != 0) {
    fail("talus_memalign_at(%zu, %zu, %zu) gives %p", alignment, offset, bytes, block);
  }
  return block;
}

void* by_at_least(size_t alignment, size_t bytes) {
  const talus_block block =
      called([&] { return talus_aligned_allocate_at_least(alignment, bytes); });
  const size_t usable = block.pointer == nullptr ? 0 : talus_usable_size(block.pointer);
  if (block.bytes != usable) {
    fail("talus_aligned_allocate_at_least(%zu, %zu) says %zu, usable are %zu", alignment, bytes,
         block.bytes, usable);
  }
  return block.pointer;
}

size_t power_of_two_from(size_t bytes) {
  size_t power = 16;
  while (power < bytes) power *= 2;
  return power;
}

Given aligned_block() {
  Given given;
  const size_t bytes = given.bytes = draw_size();
  const size_t alignment = given.alignment = draw_alignment();
  switch (draw(9)) {
    case 0:
      given.call = "aligned_alloc";
      given.block = called([&] { return aligned_alloc(alignment, bytes); });
      break;
    case 1:
      given.call = "talus_aligned_alloc";
      given.block = called([&] { return talus_aligned_alloc(alignment, bytes); });
      break;
    case 2:
      given.call = "posix_memalign";
      given.block = by_posix_memalign(alignment < 8 ? 8 : alignment, bytes);
      break;
    case 3: {
      const size_t wanted = 1 + draw(5000);
      given.call = "memalign";
      given.alignment = power_of_two_from(wanted);
      given.block = called([&] { return memalign(wanted, bytes); });
      break;
    }
    case 4:
      given.call = "valloc";
      given.alignment = 4 * kib;
      given.block = called([&] { return valloc(bytes); });
      break;
    case 5:
      given.call = "pvalloc";
      given.alignment = 4 * kib;
      given.bytes = whole_pages(bytes);
      given.block = called([&] { return pvalloc(bytes); });
      break;
    case 6:
      given.call = "talus_memalign_at";
      given.alignment = 16;
      given.block = by_memalign_at(bytes);
      break;
    case 7:
      given.call = "talus_aligned_allocate_at_least";
      given.block = by_at_least(alignment, bytes);
      break;
    default:
      given.call = "talus_aligned_realloc";
      given.block = called([&] { return talus_aligned_realloc(nullptr, alignment, bytes); });
  }
  return given;
}

// What new and its kin throw is one more way to say ENOMEM.
template <typename Call>
void* null_if_thrown(Call call) {
  void* block = nullptr;
  try {
    block = call();
  } catch (const std::bad_alloc&) {}
  self().error = block != nullptr ? untouched_errno : ENOMEM;
  return block;
}

Given cxx_block() {
  Given given;
  const size_t bytes = given.bytes = draw_size();
  const size_t alignment = draw_alignment();
  switch (draw(6)) {
    case 0:
      given.call = "operator new(nothrow)";
      given.block = null_if_thrown([&] { return operator new(bytes, std::nothrow); });
      break;
    case 1:
      given.call = "operator new";
      given.block = null_if_thrown([&] { return operator new(bytes); });
      break;
    case 2:
      given.alignment = alignment < 16 ? 16 : alignment;
      given.call = "operator new(align_val_t)";
      given.block = null_if_thrown(
          [&] { return operator new (bytes, std::align_val_t{given.alignment}, std::nothrow); });
      break;
    case 3:
      given.call = "talus::allocator";
      given.block = null_if_thrown([&] { return talus::allocator<char>{}.allocate(bytes); });
      break;
    case 4:
      given.call = "talus::allocator::allocate_at_least";
      given.block = null_if_thrown([&] {
        const auto result = talus::allocator<char>{}.allocate_at_least(bytes);
        if (result.count < bytes) fail("%zu of %zu objects", result.count, bytes);
        return result.ptr;
      });
      break;
    default:
      given.alignment = alignment;
      given.call = "talus::memory_resource";
      given.block =
          null_if_thrown([&] { return talus::default_resource()->allocate(bytes, alignment); });
  }
  return given;
}

Given copied_text() {
  char text[300];
  const size_t length = draw(sizeof text - 1);
  memset(text, 'x', length);
  text[length] = 0;
  Given given;
  given.call = "talus_strdup";
  given.bytes = length + 1;
  given.block = one_in(2) ? called([&] { return talus_strdup(text); })
                          : called([&] { return talus_strndup(text, length + draw(5)); });
  if (given.block != nullptr && strcmp(static_cast<char*>(given.block), text) != 0) {
    fail("%s(%zu) is no copy", given.call, given.bytes);
  }
  return given;
}

Given draw_block() {
  const size_t part = draw(30);
  if (part < 10) return ordinary_block();
  if (part < 17) return zeroed_block();
  if (part < 26) return aligned_block();
  if (part < 29) return cxx_block();
  return copied_text();
}

}  // namespace

void allocate_any(Place& place) {
  const Given given = draw_block();
  note(given.call, nullptr, given.bytes, given.alignment, given.block);
  if (given.block == nullptr) return expect_refusal(given, Owner::process, -1);
  expect_errno_kept(given.call);
  settle(place, given, Owner::process, -1);
}

void allocate_senseless() {
  Given given;
  size_t bytes = draw_senseless_size();
  const size_t alignment = draw_alignment();
  const size_t count = 1 + draw(3);
  switch (draw(11)) {
    case 0:
      given.block = called([&] { return malloc(bytes); });
      break;
    case 1:
      given.block = called([&] { return calloc(bytes, count); });
      break;
    case 2:
      given.block = called([&] { return talus_calloc(bytes, 1); });
      break;
    case 3:
      given.block = called([&] { return aligned_alloc(alignment, bytes); });
      break;
    case 4: {
      const size_t far = size_t{1} << (one_in(2) ? 47 + draw(17) : 24 + draw(11));
      if (one_in(2)) bytes = 100;
      given.block = called([&] { return talus_aligned_alloc(far, bytes); });
      break;
    }
    case 5:
      given.block = called([&] { return talus_calloc_aligned(64, bytes, 1); });
      break;
    case 6:
      given.block = called([&] { return talus_memalign_at(4096, 16, bytes); });
      break;
    case 7:
      given.bytes = whole_pages(bytes);
      given.block = called([&] { return pvalloc(bytes); });
      break;
    case 8:
      given.block = called([&] { return valloc(bytes); });
      break;
    case 9:
      given.block = called([&] { return talus_rezalloc(nullptr, bytes); });
      break;
    default:
      given.block = called([&] { return talus_aligned_alloc(one_in(2) ? 24 : 0, 100); });
      if (given.block != nullptr || self().error != EINVAL) fail("no alignment, but a block");
      return;
  }
  note("a senseless size", nullptr, bytes, 0, given.block);
  if (given.block == nullptr) {
    if (self().error != ENOMEM) fail("%zu bytes are refused and errno is not ENOMEM", bytes);
    return;
  }
  expect_errno_kept("a senseless size");
  if (bytes > possible_bytes_max) fail("%zu bytes are given at %p", bytes, given.block);
  free(given.block);
}

}  // namespace fuzz
