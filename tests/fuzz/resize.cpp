// SPDX-License-Identifier: MIT
// fuzz/resize.cpp: a block becomes larger or smaller, by every call that does it.
//
// What both sizes have must survive, also where the call fails; a block that gets smaller is never
// refused by realloc; talus_expand moves nothing.
#include <stdlib.h>

#include "default_heap.hpp"
#include "instances.hpp"
#include "libc_names.hpp"
#include "sizes.hpp"
#include "talus/talus.h"

namespace fuzz {
namespace {

struct Resize {
  Given given;
  size_t kept_bytes = 0;      // of the contents, at most
  bool is_senseless = false;  // more than can be had
  bool is_gone_if_refused = false;
  bool shrinks_always = false;  // it may not fail to fewer bytes
};

void as_array(Resize& resize, const Place& place) {
  const size_t bytes = resize.given.bytes;
  const size_t each = resize.is_senseless ? 1 : 1 + draw(8);
  const size_t count = resize.is_senseless ? bytes : bytes / each + 1;
  resize.given.call = "reallocarray";
  resize.given.bytes = resize.kept_bytes = count * each;
  resize.given.block = called([&] { return reallocarray(place.block, count, each); });
}

void as_cleared_array(Resize& resize, const Place& place) {
  const size_t bytes = resize.given.bytes;
  const size_t each = resize.is_senseless || place.is_cleared ? 1 : 1 + draw(4);
  const size_t count = resize.is_senseless ? bytes : bytes / each + 1;
  const size_t old_count = place.bytes / each;
  const bool by_own_name = one_in(2);
  resize.given.call = "recallocarray";
  resize.given.bytes = count * each;
  resize.given.block = called([&] {
    return by_own_name ? talus_recallocarray(place.block, old_count, count, each)
                       : recallocarray(place.block, old_count, count, each);
  });
  const size_t old_bytes = old_count * each;
  resize.kept_bytes = old_bytes < resize.given.bytes ? old_bytes : resize.given.bytes;
  if (resize.given.block != nullptr) {
    expect_zero(resize.given.block, old_bytes, resize.given.bytes, resize.given.call);
  }
}

void with_zeroes(Resize& resize, const Place& place) {
  const size_t bytes = resize.given.bytes;
  const bool as_objects = one_in(2);
  resize.given.call = as_objects ? "talus_recalloc" : "talus_rezalloc";
  resize.given.block = called([&] {
    return as_objects ? talus_recalloc(place.block, 1, bytes) : talus_rezalloc(place.block, bytes);
  });
  resize.shrinks_always = true;
  resize.given.is_cleared = place.is_cleared;
  if (resize.given.block == nullptr) return;
  // Of a block that is no cleared one, what it has more than before is zero.
  const size_t from = place.is_cleared ? place.bytes : place.usable;
  const size_t zero_from = place.is_cleared && bytes < from ? bytes : from;
  expect_zero(resize.given.block, zero_from, talus_usable_size(resize.given.block),
              resize.given.call);
}

void in_heap(Resize& resize, const Place& place) {
  const size_t bytes = resize.given.bytes;
  resize.shrinks_always = true;
  if (place.was_provided) {  // whose heap is gone, and whose block is not quite the default heap's
    resize.given.call = "realloc";
    resize.given.block = called([&] { return realloc(place.block, bytes); });
    return;
  }
  const bool is_instance = place.owner.load() == Owner::instance;
  talus_heap* heap = is_instance ? instances[place.number.load()].handle : nullptr;
  resize.given.call = "talus_heap_realloc";
  resize.given.block = called([&] { return talus_heap_realloc(heap, place.block, bytes); });
}

void by_any_call(Resize& resize, const Place& place) {
  const size_t bytes = resize.given.bytes;
  switch (draw(14)) {
    case 0:
    case 1:
    case 2:
    case 3:
      resize.given.call = "realloc";
      resize.given.block = called([&] { return realloc(place.block, bytes); });
      resize.shrinks_always = true;
      break;
    case 4:
      as_array(resize, place);
      break;
    case 5:
      resize.given.call = "reallocf";
      resize.given.block = called([&] { return reallocf(place.block, bytes); });
      resize.is_gone_if_refused = true;
      break;
    case 6:
      as_cleared_array(resize, place);
      break;
    case 7:
    case 8:
    case 9:
      with_zeroes(resize, place);
      break;
    case 10:
    case 11:
      resize.given.call = "talus_realloc_no_preserve";
      resize.given.block = called([&] { return talus_realloc_no_preserve(place.block, bytes); });
      resize.is_gone_if_refused = true;
      resize.kept_bytes = 0;
      break;
    case 12:
      resize.given.call = "talus_aligned_realloc";
      resize.given.alignment = draw_alignment();
      resize.given.block =
          called([&] { return talus_aligned_realloc(place.block, resize.given.alignment, bytes); });
      break;
    default:
      in_heap(resize, place);
  }
}

void expand(Place& place, size_t bytes) {
  Given given;
  given.call = "talus_expand";
  given.bytes = bytes;
  given.block = called([&] { return talus_expand(place.block, bytes); });
  note(given.call, place.block, bytes, 0, given.block);
  expect_errno_kept(given.call);
  if (given.block == place.block) {
    check_at(place, place.block, bytes, "after talus_expand");
    return settle(place, given, place.owner.load(), place.number);
  }
  if (given.block != nullptr) fail("talus_expand moves %p to %p", place.block, given.block);
  check(place, "after talus_expand refused");
  const size_t usable = usable_size_of(place.owner.load(), place.number, place.block);
  if (usable != place.usable) {
    fail("talus_expand refuses, usable is %zu, not %zu", usable, place.usable);
  }
  const bool must_do = bytes <= usable && usable <= 32 * kib && !place.was_provided;
  if (must_do && !settings.mapped && !may_fail(place.owner.load(), place.number)) {
    fail("talus_expand(%zu) refuses a block of %zu", bytes, usable);
  }
}

void resize_was_refused(Place& place, const Resize& resize) {
  if (!resize.is_senseless) {
    expect_refusal(resize.given, place.owner.load(), place.number);
    if (resize.shrinks_always && resize.given.bytes <= place.usable && !settings.mapped) {
      fail("%s(%zu) fails for a block of %zu (%zu)", resize.given.call, resize.given.bytes,
           place.usable, place.bytes);
    }
  } else if (self().error != ENOMEM) {
    fail("%s(%zu) fails and errno is not ENOMEM", resize.given.call, resize.given.bytes);
  }
  if (resize.is_gone_if_refused) return empty(place);
  expect_block_stays(place, resize.given.call);
}

}  // namespace

void resize_any(Place& place) {
  if (place.contents.bytes < 64 * kib || one_in(3)) check(place, "before it is resized");
  Resize resize;
  resize.is_senseless = one_in(60);
  const size_t bytes =
      resize.is_senseless ? draw_senseless_size() : draw_new_size(place.bytes, place.usable);
  if (one_in(8)) return expand(place, bytes);
  resize.given.bytes = resize.kept_bytes = bytes;
  by_any_call(resize, place);
  note(resize.given.call, place.block, resize.given.bytes, resize.given.alignment,
       resize.given.block);
  if (resize.given.block == nullptr) return resize_was_refused(place, resize);
  expect_errno_kept(resize.given.call);
  check_at(place, resize.given.block, resize.kept_bytes, resize.given.call);
  if (resize.is_senseless) {
    if (bytes > possible_bytes_max) fail("%s(%zu) succeeds", resize.given.call, bytes);
    free(resize.given.block);
    return empty(place);
  }
  if (resize.given.block != place.block) place.was_provided = false;
  settle(place, resize.given, place.owner.load(), place.number);
}

}  // namespace fuzz
