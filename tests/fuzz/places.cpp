// SPDX-License-Identifier: MIT
// fuzz/places.cpp: what must hold of a block when it comes, while it lives, and when it is refused.
#include "places.hpp"

#include <string.h>
#include <sys/mman.h>

#include <new>

#include "bounded.hpp"
#include "instances.hpp"

namespace fuzz {

Place* places;
std::atomic<size_t> live_bytes;
std::atomic<uint64_t> refused_count;

bool make_places() {
  void* memory = mmap(nullptr, sizeof(Place) * settings.places, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return false;
  places = static_cast<Place*>(memory);
  for (size_t i = 0; i < settings.places; i++) new (&places[i]) Place;
  return true;
}

bool is_crowded() { return live_bytes.load() > settings.live_mib * mib; }

size_t usable_size_of(Owner owner, int number, const void* block) {
  const size_t usable = called([&] {
    return owner == Owner::bounded
               ? talus_bounded_usable_size(bounded_instances[number].handle, block)
               : talus_usable_size(block);
  });
  expect_errno_kept("usable_size");
  return usable;
}

bool may_fail(Owner owner, int number) {
  if (settings.may_fail) return true;
  if (owner == Owner::instance) return instances[number].may_fail;
  if (owner == Owner::bounded) return bounded_instances[number].has_fallback;
  return false;
}

void account(Place& place, size_t usable) {
  live_bytes.fetch_add(usable - place.usable);
  place.usable = usable;
}

void empty(Place& place) {
  account(place, 0);
  place.block = nullptr;
  place.bytes = 0;
  place.contents = {};
  place.is_cleared = place.was_provided = false;
  place.number.store(-1);
  place.owner.store(Owner::none);
}

namespace {

void expect_heap_knows(const Place& place, Owner owner, int number, const char* call) {
  if (owner == Owner::bounded) return;
  talus_heap* wanted = owner == Owner::instance ? instances[number].handle : nullptr;
  if (!place.was_provided && one_in(4)) {
    talus_heap* found = called([&] { return talus_heap_of(place.block); });
    expect_errno_kept("heap_of");
    if (found != wanted) {
      fail("%s: heap_of(%p) is %p, not %p", call, place.block, static_cast<void*>(found),
           static_cast<void*>(wanted));
    }
  }
  if (owner == Owner::instance && one_in(8)) {
    if (!called([&] { return talus_heap_contains(wanted, place.block); })) {
      fail("%s: the heap does not contain %p", call, place.block);
    }
    expect_errno_kept("heap_contains");
  }
}

}  // namespace

void settle(Place& place, const Given& given, Owner owner, int number) {
  const size_t alignment = given.alignment < 16 ? 16 : given.alignment;
  if (reinterpret_cast<uintptr_t>(given.block) % alignment != 0) {
    fail("%s(%zu): %p is at no multiple of %zu", given.call, given.bytes, given.block, alignment);
  }
  const size_t usable = usable_size_of(owner, number, given.block);
  if (usable < given.bytes) {
    fail("%s(%zu): %p has %zu bytes", given.call, given.bytes, given.block, usable);
  }
  expect_zero(given.block, 0, given.is_zero_whole ? usable : given.zero_bytes, given.call);
  place.block = given.block;
  place.call = given.call;
  place.bytes = given.bytes;
  place.alignment = alignment;
  place.is_cleared = given.is_cleared;
  place.number.store(number);
  place.owner.store(owner);
  account(place, usable);
  expect_heap_knows(place, owner, number, given.call);
  place.contents.seed = self().random.next();
  place.contents.bytes = !given.is_cleared && one_in(2) ? usable : given.bytes;
  place.contents.write(given.block);
}

void expect_refusal(const Given& given, Owner owner, int number) {
  constexpr size_t surely_there = 64 * mib;
  refused_count++;
  if (self().error != ENOMEM) {
    fail("%s(%zu) fails and errno is not ENOMEM", given.call, given.bytes);
  }
  const bool is_little = given.bytes < surely_there && given.alignment < surely_there;
  if (is_little && !may_fail(owner, number)) {
    fail("%s(%zu) at %zu fails, and nothing limits it", given.call, given.bytes, given.alignment);
  }
}

void check_at(const Place& place, const void* block, size_t bytes_max, const char* when) {
  const size_t lost = place.contents.first_lost(block, bytes_max);
  if (lost == nowhere) return;
  uint64_t found = 0;
  memcpy(&found, static_cast<const uint8_t*>(block) + lost / 8 * 8, sizeof found);
  fail(
      "contents are lost %s: block %p (was %p) of owner %d.%d, %zu bytes asked, %zu usable, %zu "
      "written: at %zu there is %016llx, not %016llx",
      when, block, place.block, static_cast<int>(place.owner.load()), place.number.load(),
      place.bytes, place.usable, place.contents.bytes, lost, static_cast<unsigned long long>(found),
      static_cast<unsigned long long>(place.contents.word(lost / 8)));
}

void expect_block_stays(Place& place, const char* call) {
  check(place, "after a call that failed");
  const size_t usable = usable_size_of(place.owner.load(), place.number, place.block);
  if (usable < place.bytes || usable < place.contents.bytes) {
    fail("%s fails, usable is %zu, was %zu", call, usable, place.usable);
  }
  account(place, usable);
}

void expect_zero(const void* block, size_t from, size_t to, const char* call) {
  const size_t found = first_nonzero(block, from, to);
  if (found == nowhere) return;
  fail("%s: %p is not zero at %zu of [%zu, %zu): %02x", call, block, found, from, to,
       static_cast<const uint8_t*>(block)[found]);
}

}  // namespace fuzz
