// SPDX-License-Identifier: MIT
// fuzz/instance_walk.cpp: what a heap of one's own says of itself, beside what the shadow knows.
#include <string.h>

#include "default_heap.hpp"
#include "instances.hpp"

namespace fuzz {
namespace {

// One walk and what it met so far.
struct Walk {
  int number = 0;
  bool is_exact = false;  // no other thread uses the heap
  size_t blocks = 0;
  size_t bytes = 0;
  uint64_t sum = 0;  // over the addresses
  uintptr_t area_start = 0;
  uintptr_t area_end = 0;
  size_t area_live = 0;  // as the area said
  size_t area_seen = 0;
  uintptr_t last_block = 0;
  size_t frees_left = 0;
  size_t blocks_max = ~size_t{0};  // after which the visitor ends the walk
};
constexpr int ended_by_visitor = 7;

uint64_t sum_of(const void* block) { return mix_bits(reinterpret_cast<uintptr_t>(block)); }

void end_area(const Walk& walk) {
  if (!walk.is_exact || walk.area_seen == walk.area_live) return;
  fail("an area said it has %zu blocks, and %zu came", walk.area_live, walk.area_seen);
}

void visit_area(Walk& walk, const talus_heap_area& area) {
  end_area(walk);
  const auto start = reinterpret_cast<uintptr_t>(area.base);
  if (walk.is_exact && start < walk.area_end) {
    fail("areas of memory %d do not come by address: %p",
         static_cast<int>(instances[walk.number].memory), area.base);
  }
  if (walk.is_exact && area.live_blocks == 0) fail("an area without live blocks");
  walk.area_start = start;
  walk.area_end = start + area.bytes;
  walk.area_live = area.live_blocks;
  walk.area_seen = 0;
  walk.last_block = 0;
}

// As a program's visitor may: this block, if the shadow has it and no thread holds its place.
void free_visited(Walk& walk, const void* block) {
  for (size_t i = 0; i < settings.places; i++) {
    Place& place = places[i];
    if (place.block != block || !place.is_of(Owner::instance, walk.number)) continue;
    if (!place.try_lock()) return;
    if (place.block == block && place.is_of(Owner::instance, walk.number)) {
      free_any(place, Frees::by_any_call);
      walk.frees_left--;
    }
    place.unlock();
    return;
  }
}

int visit(const talus_heap_area* area, void* block, void* context) {
  Walk& walk = *static_cast<Walk*>(context);
  if (block == nullptr) {
    visit_area(walk, *area);
    return 0;
  }
  const auto start = reinterpret_cast<uintptr_t>(block);
  walk.blocks++;
  walk.area_seen++;
  walk.bytes += area->block_bytes;
  walk.sum += sum_of(block);
  if (start < walk.area_start || start + area->block_bytes > walk.area_end) {
    fail("a block of %zu at %p outside its area", area->block_bytes, block);
  }
  if (walk.is_exact && start <= walk.last_block) fail("blocks do not come by address: %p", block);
  walk.last_block = start;
  if (walk.blocks > walk.blocks_max) return ended_by_visitor;
  if (walk.is_exact) return 0;
  if (walk.frees_left > 0 && one_in(4)) free_visited(walk, block);
  if (one_in(64)) {
    talus_heap* heap = instances[walk.number].handle;
    void* other = talus_heap_malloc(heap, draw(300));
    if (other != nullptr) talus_heap_free(heap, other);
  }
  return 0;
}

// Returns the bytes that the heap says it has.
size_t check_numbers(const Instance& instance, size_t blocks, size_t bytes) {
  const talus_heap_numbers numbers = called([&] { return talus_heap_stats(instance.handle); });
  expect_errno_kept("talus_heap_stats");
  const int memory = static_cast<int>(instance.memory);
  // A hardened block is smaller than its place, which is what the heap counts.
  const bool is_right =
      settings.hardened ? numbers.live_bytes >= bytes : numbers.live_bytes == bytes;
  if (numbers.live_blocks != blocks || !is_right) {
    fail("a heap of memory %d says it has %zu blocks, %zu bytes; it has %zu, %zu", memory,
         numbers.live_blocks, numbers.live_bytes, blocks, bytes);
  }
  const size_t taken = numbers.slab_bytes + numbers.large_bytes;
  if (!instance.has_provider && numbers.peak_bytes < taken) {
    fail("a heap's peak is %zu, it has %zu", numbers.peak_bytes, taken);
  }
  if (instance.has_provider && !instance.falls_back && numbers.peak_bytes < numbers.slab_bytes) {
    fail("a heap of memory %d: peak %zu, slabs %zu", memory, numbers.peak_bytes,
         numbers.slab_bytes);
  }
  if (instance.limit_bytes == 0) return numbers.live_bytes;
  const size_t counted = instance.has_provider ? numbers.live_bytes : taken;
  if (!instance.falls_back && counted > instance.limit_bytes) {
    fail("a heap of memory %d has %zu, its limit is %zu", memory, counted, instance.limit_bytes);
  }
  return numbers.live_bytes;
}

}  // namespace

void check_instance(int number) {
  const Instance& instance = instances[number];
  if (!instance.is_alive.load() || instance.is_uncertain) return;
  size_t blocks = 0;
  size_t bytes = 0;
  uint64_t sum = 0;
  each_place_of(Owner::instance, number, [&](const Place& place) {
    blocks++;
    bytes += place.usable;
    sum += sum_of(place.block);
  });
  bytes = check_numbers(instance, blocks, bytes);
  Walk walk;
  walk.number = number;
  walk.is_exact = true;
  const int answer = called([&] { return talus_heap_walk(instance.handle, visit, &walk); });
  expect_errno_kept("talus_heap_walk");
  if (answer != 0) fail("talus_heap_walk answers %d", answer);
  if (walk.blocks > 0) end_area(walk);
  if (walk.blocks != blocks || walk.bytes != bytes || walk.sum != sum) {
    fail("a walk of memory %d meets %zu blocks, %zu bytes; there are %zu, %zu",
         static_cast<int>(instance.memory), walk.blocks, walk.bytes, blocks, bytes);
  }
}

void try_check_instance(int number) {
  Instance& instance = instances[number];
  if (!instance.is_alive.load() || !instance.gate.try_have_alone()) return;
  self().doing = "checking a heap";
  check_instance(number);
  instance.gate.open();
}

void walk_instance(int number) {
  use_instance(number, [number](Instance& instance) {
    self().doing = "walking a heap";
    Walk walk;
    walk.number = number;
    walk.frees_left = draw(20);
    if (one_in(3)) walk.blocks_max = draw(100);
    const int answer = talus_heap_walk(instance.handle, visit, &walk);
    const bool was_ended = walk.blocks > walk.blocks_max;
    if (answer != (was_ended ? ended_by_visitor : 0)) fail("talus_heap_walk answers %d", answer);
    const char* name = called([&] { return talus_heap_name(instance.handle); });
    if (name[0] != 0 && strcmp(name, instance.name) != 0) {
      fail("a heap is called %s, not %s", name, instance.name);
    }
  });
}

}  // namespace fuzz
