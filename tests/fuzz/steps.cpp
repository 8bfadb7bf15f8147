// SPDX-License-Identifier: MIT
// fuzz/steps.cpp: the next call, drawn.
#include "steps.hpp"

#include <time.h>

#include "bounded.hpp"
#include "containers.hpp"
#include "default_heap.hpp"
#include "forks.hpp"
#include "instances.hpp"
#include "process_calls.hpp"
#include "refusals.hpp"

namespace fuzz {

std::atomic<uint64_t> step_total;

namespace {

void fill_place(Place& place) {
  const size_t part = draw(100);
  if (part < 30 && settings.heaps) {
    const int number = static_cast<int>(draw(instance_count));
    use_instance(number, [&](Instance&) {
      self().doing = "allocating in a heap";
      allocate_in_instance(place, number);
    });
  } else if (part < 42 && settings.bounded) {
    const int number = static_cast<int>(draw(bounded_count));
    use_bounded(number, [&](const Bounded&) {
      self().doing = "allocating in a bounded instance";
      allocate_in_bounded(place, number);
    });
  } else if (one_in(100)) {
    self().doing = "allocating senseless sizes";
    allocate_senseless();
  } else {
    self().doing = "allocating";
    allocate_any(place);
  }
}

void look_at(const Place& place) {
  self().doing = "looking at a block";
  check(place, "in passing");
  const Owner owner = place.owner.load();
  const int number = place.number.load();
  const size_t usable = usable_size_of(owner, number, place.block);
  if (usable != place.usable) fail("%p has %zu bytes, had %zu", place.block, usable, place.usable);
  if (owner != Owner::instance) return;
  talus_heap* heap = instances[number].handle;
  const auto contains = [&](size_t offset) {
    const void* at = static_cast<char*>(place.block) + offset;
    return called([&] { return talus_heap_contains(heap, at); });
  };
  if (!contains(0)) fail("its heap does not contain %p", place.block);
  if (usable > 48 && contains(16)) fail("a heap contains a block within %p", place.block);
}

void change_place(Place& place, bool shall_free) {
  const bool is_bounded = place.owner.load() == Owner::bounded;
  if (shall_free) {
    self().doing = "freeing";
    if (is_bounded) return free_in_bounded(place);
    return free_any(place, Frees::by_any_call);
  }
  if (draw(100) >= 70) return look_at(place);
  self().doing = "resizing";
  if (is_bounded) return resize_in_bounded(place);
  resize_any(place);
}

// The gate of a block's heap around what is done to it.
void use_place(Place& place) {
  const Owner owner = place.owner.load();
  const int number = place.number.load();
  const bool shall_free = draw(100) < (is_crowded() ? 75 : 45);
  if (owner == Owner::process) return change_place(place, shall_free);
  Gate& gate = owner == Owner::instance ? instances[number].gate : bounded_instances[number].gate;
  if (gate.try_use()) {
    change_place(place, shall_free);
    gate.end_use();
  } else if (shall_free && owner == Owner::instance && gate.try_free()) {
    self().doing = "freeing while the heap is deleted";
    free_any(place, Frees::by_free);
    gate.end_free();
  }
}

void use_any_place() {
  Place& place = any_place();
  if (!place.try_lock()) return;
  const size_t brim = settings.live_mib * mib / 4 * 5;
  if (place.owner.load() != Owner::none) {
    use_place(place);
  } else if (live_bytes.load() <= brim || one_in(4)) {
    fill_place(place);
  }
  place.unlock();
}

void change_instance() {
  const int number = static_cast<int>(draw(instance_count));
  switch (draw(9)) {
    case 0:
    case 1:
    case 2:
    case 3:
      make_instance(number);
      break;
    case 4:
      end_instance(number, End::by_clear);
      break;
    case 5:
      end_instance(number, End::by_destroy);
      break;
    case 6:
      end_instance(number, End::by_delete);
      break;
    case 7:
      try_check_instance(number);
      break;
    default:
      walk_instance(number);
  }
}

void change_bounded() {
  const int number = static_cast<int>(draw(bounded_count));
  switch (draw(8)) {
    case 0:
    case 1:
      make_bounded(number);
      break;
    case 2:
      end_bounded(number);
      break;
    default:
      change_cache(number);
  }
}

void rest_a_little() {
  const timespec time = {0, static_cast<long>(draw(3000000))};
  nanosleep(&time, nullptr);
}

void change_refusals() {
  set_refusals(one_in(3) ? 0 : one_in(4) ? 1024 : 1 + static_cast<int>(draw(settings.refusals)));
}

// What is rare, and how often of 10000 steps.
struct Row {
  size_t parts;
  const uint64_t* is_wanted;  // null: always
  void (*take)();
};
const Row rows[] = {
    {135, &settings.heaps, change_instance},
    {40, &settings.bounded, change_bounded},
    {10, &settings.options, change_options},
    {5, &settings.trims, trim},
    {30, nullptr, use_batch},
    {10, &settings.containers, use_containers},
    {15, nullptr, ask_statistics},
    {10, &settings.limits, change_limits},
    {2, &settings.limits, change_limit_handler},
    {9, &settings.address_limit, change_address_limit},
    {6, &settings.refusals, change_refusals},
    {4, &settings.forks, fork_now_and_then},
    {1, nullptr, rest_a_little},
    {2, &settings.locked_memory, lock_some_memory},
    {1, &settings.spawns, spawn_program},
    {3, &settings.descriptors, change_descriptors},
    {2, &settings.file_size, change_file_limit},
};

void take_step() {
  self().progress.fetch_add(1, std::memory_order_relaxed);
  self().random.start_step(++self().step_number);
  size_t part = draw(10000);
  for (const Row& row : rows) {
    if (part < row.parts) {
      if (row.is_wanted == nullptr || *row.is_wanted != 0) return row.take();
      break;
    }
    part -= row.parts;
  }
  use_any_place();
}

}  // namespace

void take_steps(size_t count) {
  for (size_t i = 0; i < count; i++) take_step();
  step_total += count;
}

}  // namespace fuzz
