// SPDX-License-Identifier: MIT
//
// Owns: the walk over the heaps that the program made.
// Invariant: see heap_numbers.hpp.
// Must not know: pages.

#include <fmt/format.h>

#include <cstring>

#include "observe/heap_reader.hpp"

namespace talus::tool {

namespace {

using Id = core::StatisticId;

}  // namespace

void HeapReader::read_instances() {
  const uint64_t table = layout_.root("instance_table");
  const View head(layout_, "instance_table", {"count"});
  const uint64_t count = head.get(head.read(look_, table), 0);
  const uint64_t first = layout_.constant("heap.count_max");
  const uint64_t part_slots = layout_.constant("instance_table.part_slots");
  const uint64_t slot_bytes = layout_.constant("slot.bytes");
  const Field& parts = layout_.field("instance_table.parts");
  const View slot(layout_, "slot", {"lock", "handle", "heap", "region"});
  for (uint64_t number = 0; number < count; number++) {
    const uint64_t part = (first + number) / part_slots;
    if (part >= parts.count) throw Implausible(fmt::format("{} instances", count));
    uint64_t base = 0;
    std::memcpy(&base, look_.read(table + parts.value + part * parts.stride, sizeof base),
                sizeof base);
    const char* const copy = slot.read(look_, base + (first + number) % part_slots * slot_bytes);
    if (slot.get(copy, 0) != 0) note_at_work(totals_, "a thread holds an instance's lock");
    if (slot.get(copy, 1) != 0) read_instance_at(number, slot.get(copy, 2), slot.get(copy, 3));
  }
  set(Id::heap_instances, totals_.instance_count);
}

void HeapReader::read_instance_at(uint64_t number, uint64_t address, uint64_t region) {
  const View heap(
      layout_, "heap",
      {"taken_blocks", "class_slabs", "partly_purged_bytes", "slab_bytes", "slab_count"});
  const View own(
      layout_, "instance",
      {"ready", "used_classes", "large_count", "large_bytes", "peak_bytes", "limit_bytes", "name"});
  const char* const copy = heap.read(look_, address);
  const char* const more = own.read(look_, address);
  InstanceNumbers found;
  found.number = number;
  uint64_t live_bytes = 0, free_bytes = 0, live_blocks = 0;
  for (size_t index = 0; index < own[0].count; index++) {
    if ((own.get(more, 1, index / 64) >> (index % 64) & 1) == 0) continue;
    const SizeClasses::Row& row = classes_.rows.at(index);
    const uint64_t taken = heap.get(copy, 0, index), ready = own.get(more, 0, index);
    const uint64_t all = heap.get(copy, 1, index) * row.block_count;
    if (taken > all || ready > taken) throw Implausible("an instance has more blocks than slabs");
    Blocks& blocks = totals_.classes[index];
    blocks.slabs += heap.get(copy, 1, index);
    blocks.live += taken;
    blocks.listed += ready;
    blocks.free += all - taken;
    live_blocks += taken - ready;
    live_bytes += (taken - ready) * row.block_bytes;
    free_bytes += (all - taken + ready) * row.block_bytes;
  }
  const uint64_t slab_bytes = heap.get(copy, 3), large_bytes = own.get(more, 3);
  if (slab_bytes < live_bytes + free_bytes) throw Implausible("an instance has too few slabs");
  const uint64_t slab_ends = slab_bytes - live_bytes - free_bytes;
  uint64_t region_live = 0, region_bytes = 0, region_blocks = 0, region_peak = 0;
  if (region != 0) {
    const View words(layout_, "region",
                     {"live_units", "committed_bytes", "live_count", "peak_bytes"});
    const char* const region_copy = words.read(look_, region);
    region_live = words.get(region_copy, 0) * layout_.constant("unit.bytes");
    region_bytes = words.get(region_copy, 1);
    region_blocks = words.get(region_copy, 2);
    region_peak = words.get(region_copy, 3);
    if (region_live > region_bytes) throw Implausible("a region has more blocks than memory");
  }
  found.values = {live_bytes + large_bytes + region_live,
                  free_bytes + region_bytes - region_live,
                  slab_ends,
                  slab_bytes + large_bytes + region_bytes,
                  own.get(more, 4) + region_peak,
                  own.get(more, 5),
                  live_blocks + own.get(more, 2) + region_blocks,
                  own.get(more, 2),
                  heap.get(copy, 4)};
  const char* const name = more + (own[6].value - own.first_byte());
  found.name = std::string(name, strnlen(name, own[6].count));
  totals_.purged_in_slabs += heap.get(copy, 2);
  totals_.instance_count++;
  totals_.instance_live += live_bytes + large_bytes;
  totals_.instance_total += slab_bytes + large_bytes;
  totals_.region_live += region_live;
  totals_.region_total += region_bytes;
  numbers_.instances.push_back(found);
}

}  // namespace talus::tool
