// SPDX-License-Identifier: MIT
// fuzz/places: the shadow of the heap: every live block, what is known of it and what is in it.
//
// Owns: an array of places, each with one block or none, and its lock. A thread touches a block
// only with the place locked and the gate of the block's heap entered (gate.hpp), so that the
// shadow and the heap agree. The lock of a place that another thread held at a fork is never taken
// in the child: what lies there is unknown.
// Called on: any thread.
#ifndef TALUS_TESTS_FUZZ_PLACES_HPP
#define TALUS_TESTS_FUZZ_PLACES_HPP

#include <sched.h>

#include "contents.hpp"
#include "report.hpp"
#include "thread.hpp"

namespace fuzz {

enum class Owner : int { none, process, instance, bounded };

struct Place {
  // Shared: others look before they lock, and again after it.
  std::atomic<uint32_t> lock{0};  // the id of the thread plus 1
  std::atomic<Owner> owner{Owner::none};
  std::atomic<int> number{-1};  // of the instance or bounded instance

  // For the thread that holds the lock.
  void* block = nullptr;
  const char* call = "";  // that gave it, or resized it last
  size_t bytes = 0;       // as asked for
  size_t usable = 0;
  size_t alignment = 16;
  Contents contents;
  bool is_cleared = false;    // zero behind `bytes`, as talus_rezalloc wants it
  bool was_provided = false;  // its heap had memory of its own, and was deleted

  static constexpr uint32_t lost = ~uint32_t{0};
  bool try_lock() {
    uint32_t unlocked = 0;
    return lock.compare_exchange_strong(unlocked, self().id + 1);
  }
  // False: it is lost.
  bool wait_and_lock() {
    while (!try_lock()) {
      if (lock.load() == lost) return false;
      sched_yield();
    }
    return true;
  }
  void unlock() { lock.store(0, std::memory_order_release); }
  bool is_of(Owner kind, int which) const { return owner.load() == kind && number.load() == which; }
};

extern Place* places;  // settings.places of them
extern std::atomic<size_t> live_bytes;
extern std::atomic<uint64_t> refused_count;

bool make_places();
inline Place& any_place() { return places[draw(settings.places)]; }
// More is live than shall be.
bool is_crowded();

// A block and what the call that gave it was asked for.
struct Given {
  const char* call = "";
  void* block = nullptr;
  size_t bytes = 0;
  size_t alignment = 16;
  size_t zero_bytes = 0;       // that must be zero, from the start
  bool is_zero_whole = false;  // all that is usable must be
  bool is_cleared = false;     // talus_rezalloc may rely on it
};

size_t usable_size_of(Owner owner, int number, const void* block);
// The place has this block from here on: it is what was asked for, and gets contents.
void settle(Place& place, const Given& given, Owner owner, int number);
// There is none: that must be allowed, and errno say why.
void expect_refusal(const Given& given, Owner owner, int number);
// Its contents are there, as far as `bytes_max`, at this address.
void check_at(const Place& place, const void* block, size_t bytes_max, const char* when);
inline void check(const Place& place, const char* when) {
  check_at(place, place.block, nowhere, when);
}
// After a call that failed: contents and size are what they were, or more than is needed.
void expect_block_stays(Place& place, const char* call);
void expect_zero(const void* block, size_t from, size_t to, const char* call);
void account(Place& place, size_t usable);
// The block is gone.
void empty(Place& place);

// May an allocation fail here?
bool may_fail(Owner owner, int number);

// visit(place) for every place of an owner, each locked meanwhile.
template <typename Visit>
inline void each_place_of(Owner owner, int number, Visit visit) {
  for (size_t i = 0; i < settings.places; i++) {
    Place& place = places[i];
    if (!place.is_of(owner, number) || !place.wait_and_lock()) continue;
    if (place.is_of(owner, number)) visit(place);
    place.unlock();
  }
}

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_PLACES_HPP
