// SPDX-License-Identifier: MIT
// fuzz/batch.cpp: many blocks taken, or freed, by one call.
#include "default_heap.hpp"
#include "instances.hpp"
#include "sizes.hpp"

namespace fuzz {
namespace {

constexpr size_t batch_max = 400;

// Locked places beside each other, as far as no other thread holds them.
struct Batch {
  Place* places[batch_max];
  size_t count = 0;

  // is_wanted(place) is asked before and after the place is locked.
  template <typename IsWanted>
  void gather(IsWanted is_wanted) {
    const size_t start = draw(settings.places);
    const size_t wanted = 1 + draw(one_in(3) ? batch_max : batch_max / 10);
    for (size_t i = 0; i < settings.places && count < wanted && i < 3 * batch_max; i++) {
      Place& place = fuzz::places[(start + i) % settings.places];
      if (!is_wanted(place) || !place.try_lock()) continue;
      if (is_wanted(place) && enter(place)) {
        places[count++] = &place;
      } else {
        place.unlock();
      }
    }
  }
  static bool enter(const Place& place) {
    if (place.owner.load() != Owner::instance) return true;
    return instances[place.number.load()].gate.try_free();
  }
};

void take_batch() {
  Batch batch;
  batch.gather([](const Place& place) { return place.owner.load() == Owner::none; });
  if (batch.count == 0) return;
  Given given;
  given.call = "talus_malloc_batch";
  given.bytes = one_in(4) ? draw_size() % 100000 : draw(3000);
  if (given.bytes * batch.count > 16 * mib) given.bytes %= 4 * kib;
  void* blocks[batch_max];
  const size_t count = called([&] { return talus_malloc_batch(given.bytes, batch.count, blocks); });
  note(given.call, nullptr, given.bytes, batch.count, reinterpret_cast<void*>(count));
  if (count > batch.count) fail("%s gives %zu of %zu", given.call, count, batch.count);
  if (count == batch.count) {
    expect_errno_kept(given.call);
  } else {
    expect_refusal(given, Owner::process, -1);
  }
  for (size_t i = 0; i < batch.count; i++) {
    given.block = blocks[i];
    if (i < count) settle(*batch.places[i], given, Owner::process, -1);
    batch.places[i]->unlock();
  }
}

void shuffle(void** blocks, size_t count) {
  for (size_t i = count; i > 1; i--) {
    void*& other = blocks[draw(i)];
    void* const block = blocks[i - 1];
    blocks[i - 1] = other;
    other = block;
  }
}

void free_batch() {
  Batch batch;
  batch.gather([](const Place& place) {
    return place.owner.load() == Owner::process || place.owner.load() == Owner::instance;
  });
  void* blocks[batch_max + 1];
  size_t count = 0;
  for (; count < batch.count; count++) {
    if (batch.places[count]->contents.bytes < 64 * kib) {
      check(*batch.places[count], "before it is freed");
    }
    blocks[count] = batch.places[count]->block;
  }
  if (one_in(2)) blocks[count++] = nullptr;
  if (one_in(2)) shuffle(blocks, count);
  called([&] { talus_free_batch(blocks, count); });
  expect_errno_kept("talus_free_batch");
  note("talus_free_batch", nullptr, count, 0, nullptr);
  for (size_t i = 0; i < batch.count; i++) {
    Place& place = *batch.places[i];
    Gate* gate = nullptr;
    if (place.owner.load() == Owner::instance) gate = &instances[place.number.load()].gate;
    empty(place);
    // A thread that forks and has the heap alone takes what its places say to be true.
    if (gate != nullptr) gate->end_free();
    place.unlock();
  }
}

}  // namespace

void use_batch() {
  self().doing = "using a batch";
  if (!is_crowded() && one_in(2)) {
    take_batch();
  } else {
    free_batch();
  }
}

}  // namespace fuzz
