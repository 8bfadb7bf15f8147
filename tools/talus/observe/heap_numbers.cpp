// SPDX-License-Identifier: MIT
//
// Owns: the walks over heaps, caches and messages; and the sums of classes.
// Invariant: see heap_numbers.hpp.
// Must not know: pages.

#include "observe/heap_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "observe/chain.hpp"
#include "observe/heap_reader.hpp"

namespace talus::tool {

namespace {

using Id = core::StatisticId;

constexpr size_t caches_max = size_t{1} << 20;
constexpr size_t messages_max = size_t{1} << 22;
constexpr uint64_t list_length_max = 65536;

// What a list of a class holds at most with preset=small (docs/options.md, list_bytes).
uint64_t small_list_bytes(const SizeClasses::Row& row) {
  constexpr uint64_t list_bytes = 4096, blocks_min = 4;
  const uint64_t bytes = row.block_bytes > 4096 ? 4 * list_bytes : list_bytes;
  return std::max(bytes, blocks_min * row.block_bytes);
}

}  // namespace

void HeapReader::read_registry() {
  const uint64_t registry = layout_.root("registry");
  const View head(layout_, "registry", {"lock", "caches", "orphaned", "cache_count", "heap_count"});
  const char* const copy = head.read(look_, registry);
  if (head.get(copy, 0) != 0) note_at_work(totals_, "a thread holds the registry's lock");
  const uint64_t count = head.get(copy, 4);
  const Field& heaps = layout_.field("registry.heaps");
  const Field& locks = layout_.field("registry.heap_locks");
  if (count >= heaps.count) throw Implausible(fmt::format("{} heaps", count));
  for (uint64_t number = 1; number <= count; number++) {
    const auto copies =
        look_.read_all({{registry + heaps.value + number * heaps.stride, heaps.bytes},
                        {registry + locks.value + number * locks.stride, locks.bytes}});
    uint64_t address = 0, lock = 0;
    std::memcpy(&address, copies[0], heaps.bytes);
    std::memcpy(&lock, copies[1], locks.bytes);
    if (lock != 0) note_at_work(totals_, "a thread holds a heap's lock");
    read_heap_at(number, address);
  }
  read_caches(head.get(copy, 1), CacheKind::in_use);
  const uint64_t in_use = totals_.cache_count;
  if (in_use != head.get(copy, 3)) note_at_work(totals_, "a thread began or ended");
  read_caches(head.get(copy, 2), CacheKind::orphaned);
  set(Id::heap_threads, in_use);
  set(Id::heap_orphaned_caches, totals_.cache_count - in_use);
}

void HeapReader::read_heap_at(uint64_t number, uint64_t address) {
  const View heap(layout_, "heap",
                  {"taken_blocks", "class_slabs", "partly_purged_bytes", "remote_queue",
                   "thread_count", "refills"});
  const char* const copy = heap.read(look_, address);
  HeapNumbers& own = numbers_.heaps.emplace_back();
  own.number = number;
  own.threads = heap.get(copy, 4);
  own.refills = heap.get(copy, 5);
  for (size_t index = 0; index < classes_.rows.size(); index++) {
    Blocks& blocks = totals_.classes[index];
    const uint64_t taken = heap.get(copy, 0, index), slabs = heap.get(copy, 1, index);
    const uint64_t all = slabs * classes_.rows[index].block_count;
    if (taken > all) throw Implausible(fmt::format("{} of {} blocks are taken", taken, all));
    blocks.slabs += slabs;
    blocks.live += taken;
    blocks.free += all - taken;
    const SizeClasses::Row& row = classes_.rows[index];
    own.slabs += slabs;
    own.slab_bytes += slabs * row.slab_slices * layout_.constant("slice.bytes");
    own.taken_bytes += taken * row.block_bytes;
    own.free_bytes += (all - taken) * row.block_bytes;
  }
  totals_.purged_in_slabs += heap.get(copy, 2);
  totals_.heap_count++;
  totals_.abandoned_count += heap.get(copy, 4) == 0 ? 1 : 0;
  read_queue(heap.get(copy, 3));
}

// Counts the blocks of a message by their classes. Returns their bytes.
uint64_t HeapReader::read_message(uint64_t address, uint64_t& next) {
  const View message(layout_, "message", {"next", "bytes", "count", "blocks"});
  const char* const copy = message.read(look_, address);
  next = message.get(copy, 0);
  const uint64_t count = message.get(copy, 2), most = layout_.constant("message.blocks_max");
  if (count > most) throw Implausible(fmt::format("{} blocks in a message", count));
  std::vector<uint64_t> addresses;
  for (uint64_t i = 0; i < count; i++) addresses.push_back(message.get(copy, 3, most - 1 - i));
  if (notes_ != nullptr) {
    notes_->waiting.insert(notes_->waiting.end(), addresses.begin(), addresses.end());
  }
  for (const Entry entry : map_.entries_of(addresses)) {
    if (!entry.is_slab()) continue;
    if (entry.tag() >= totals_.classes.size()) {
      throw Implausible(fmt::format("a slab of class {}", entry.tag()));
    }
    totals_.classes[entry.tag()].remote++;
  }
  return message.get(copy, 1);
}

void HeapReader::read_queue(uint64_t first) {
  Chain chain("a queue", messages_max);
  for (uint64_t at = first; at != 0;) {
    chain.pass(at);
    uint64_t next = 0;
    read_message(at, next);
    at = next;
  }
}

void HeapReader::read_caches(uint64_t first, CacheKind kind) {
  const View cache(layout_, "cache",
                   {"tops", "slow_tops", "bottoms", "batches", "kept_bytes", "kept_live_bytes_less",
                    "kept_live_count_less", "sides", "next", "id", "busy", "state"});
  Chain chain("a list of caches", caches_max);
  for (uint64_t at = first; at != 0;) {
    chain.pass(at);
    totals_.cache_count++;
    const char* const copy = cache.read(look_, at);
    ThreadNumbers thread = read_cache_at(cache, copy);
    const uint64_t next = cache.get(copy, 8), sides = cache.get(copy, 7);
    const std::vector<uint64_t> begun = read_begun(sides);
    for (size_t index = 0; index < begun.size(); index++) {
      numbers_.begun_blocks[classes_.rows.at(index).block_bytes] += begun[index];
    }
    thread.values[4] = read_allocated(at, begun);
    if (kind == CacheKind::in_use) numbers_.threads.push_back(thread);
    at = next;
  }
}

// Blocks between two places of a list. The list of an idle owner may have gaps.
uint64_t HeapReader::list_blocks(uint64_t top, uint64_t bottom, bool has_gaps) {
  const uint64_t length = (top - bottom) / sizeof(uint64_t);
  if (top < bottom || length > list_length_max) throw Implausible("a list without an end");
  if (length == 0 || (!has_gaps && notes_ == nullptr)) return length;
  const char* const places = look_.read(bottom, length * sizeof(uint64_t));
  uint64_t blocks = 0;
  for (uint64_t i = 0; i < length; i++) {
    uint64_t block = 0;
    std::memcpy(&block, places + i * sizeof block, sizeof block);
    blocks += block != 0 ? 1 : 0;
    if (notes_ != nullptr && block != 0) notes_->waiting.push_back(block);
  }
  return has_gaps ? blocks : length;
}

ThreadNumbers HeapReader::read_cache_at(const View& cache, const char* copy) {
  ThreadNumbers thread;
  const bool is_idle = cache.get(copy, 11) == layout_.constant("owner.idle");
  const uint64_t fast_count = layout_.constant("cache.fast_classes");
  if (cache.get(copy, 10) != 0) note_at_work(totals_, "a thread is in a slow path");
  for (size_t index = 0; index < classes_.rows.size(); index++) {
    const uint64_t top =
        index < fast_count ? cache.get(copy, 0, index) : cache.get(copy, 1, index - fast_count);
    const uint64_t blocks = list_blocks(top, cache.get(copy, 2, index), is_idle);
    totals_.classes[index].listed += blocks;
    const uint64_t bytes = blocks * classes_.rows[index].block_bytes;
    thread.values[1] += bytes;
    if (notes_ != nullptr) {
      notes_->list_excess_bytes += less_or_none(bytes, small_list_bytes(classes_.rows[index]));
    }
  }
  if (const uint64_t sides = cache.get(copy, 7); sides != 0) read_sides(sides, thread);
  for (size_t i = 0; i < cache[3].count; i++) {
    uint64_t next = 0;
    const uint64_t message = cache.get(copy, 3, i);
    if (message != 0) thread.values[3] += read_message(message, next);
  }
  thread.values[0] = cache.get(copy, 9);
  thread.values[2] = cache.get(copy, 4);
  totals_.kept_large += cache.get(copy, 4);
  totals_.live_large -= cache.get(copy, 5);
  totals_.live_large_count -= cache.get(copy, 6);
  return thread;
}

void HeapReader::read_sides(uint64_t address, ThreadNumbers& thread) {
  const View sides(layout_, "sides", {"tops", "free_bottoms", "allocation_bottoms"});
  const char* const copy = sides.read(look_, address);
  const uint64_t first = layout_.constant("sides.first_allocation_top");
  for (size_t index = 0; index < sides[1].count; index++) {
    const uint64_t blocks =
        list_blocks(sides.get(copy, 0, index), sides.get(copy, 1, index), true) +
        list_blocks(sides.get(copy, 0, first + index), sides.get(copy, 2, index), true);
    totals_.classes.at(index).listed += blocks;
    thread.values[1] += blocks * classes_.rows[index].block_bytes;
  }
}

// Blocks that left two-sided lists for the program, by class. A thread that is just taking blocks
// may seem to have given less than none.
std::vector<uint64_t> HeapReader::read_begun(uint64_t sides) {
  if (sides == 0 || !layout_.has("sides.begun")) return {};
  const View view(layout_, "sides", {"tops", "allocation_bottoms", "moved", "begun"});
  const char* const copy = view.read(look_, sides);
  const uint64_t first = layout_.constant("sides.first_allocation_top");
  std::vector<uint64_t> begun(view[3].count);
  for (size_t index = 0; index < view[3].count; index++) {
    begun[index] = view.get(copy, 3, index);
    if (index >= view[2].count) continue;
    const uint64_t top = view.get(copy, 0, first + index), bottom = view.get(copy, 1, index);
    begun[index] += view.get(copy, 2, index) - list_blocks(top, bottom, true);
  }
  return begun;
}

// What the thread of a cache allocated, as heap/allocated.hpp of the library; statistic_unknown.
uint64_t HeapReader::read_allocated(uint64_t cache, const std::vector<uint64_t>& begun) {
  if (!layout_.has("cache.told_bytes")) return core::statistic_unknown;
  const View askers(layout_, "allocated", {"askers"});
  const View told(layout_, "cache", {"told_bytes"});
  const uint64_t told_bytes = told.get(told.read(look_, cache), 0);
  const char* const flags = askers.read(look_, layout_.root("allocated"));
  if (told_bytes == 0 || askers.get(flags, 0) == 0) return core::statistic_unknown;
  uint64_t bytes = told_bytes - 1;
  for (size_t index = 0; index < begun.size(); index++) {
    bytes += begun[index] * classes_.rows.at(index).block_bytes;
  }
  return bytes >> 63 == 0 ? bytes : 0;  // the thread is just taking blocks
}

// As settle_blocks() of the library.
void HeapReader::settle_blocks() {
  uint64_t live = 0, listed = 0, remote = 0, free = 0, slabs = 0, ends = 0;
  const uint64_t slice_bytes = layout_.constant("slice.bytes");
  for (size_t index = 0; index < classes_.rows.size(); index++) {
    const SizeClasses::Row& row = classes_.rows[index];
    Blocks& blocks = totals_.classes[index];
    if (blocks.listed > blocks.live) {
      note_at_work(totals_, "blocks moved during the look");
      blocks.listed = blocks.live;
    }
    blocks.live -= blocks.listed;
    if (blocks.remote > blocks.live) {
      note_at_work(totals_, "blocks moved during the look");
      blocks.remote = blocks.live;
    }
    blocks.live -= blocks.remote;
    live += blocks.live * row.block_bytes;
    listed += blocks.listed * row.block_bytes;
    remote += blocks.remote * row.block_bytes;
    free += blocks.free * row.block_bytes;
    slabs += blocks.slabs;
    ends += blocks.slabs * (row.slab_slices * slice_bytes - row.block_count * row.block_bytes);
    if (blocks.slabs == 0) continue;
    numbers_.classes.push_back(
        {row.block_bytes, {blocks.live, blocks.listed, blocks.remote, blocks.free, blocks.slabs}});
  }
  set(Id::heap_live_small_bytes, live);
  set(Id::heap_listed_bytes, listed);
  set(Id::heap_remote_bytes, remote);
  set(Id::heap_free_bytes, free);
  set(Id::heap_slab_end_bytes, ends);
  set(Id::heap_slabs, slabs);
  set(Id::heap_partly_purged_bytes, totals_.purged_in_slabs);
  set(Id::heap_kept_bytes, totals_.kept_large);
  set(Id::heap_heaps, totals_.heap_count);
  set(Id::heap_abandoned_heaps, totals_.abandoned_count);
  set(Id::heap_instance_live_bytes, totals_.instance_live);
  set(Id::heap_instance_total_bytes, totals_.instance_total);
  set(Id::heap_provided_live_bytes, totals_.region_live);
  set(Id::heap_provided_total_bytes, totals_.region_total);
  in_slabs_ = live + listed + remote + free + ends;
}

SizeClasses read_classes(Look& look, const Layout& layout) {
  const View view(layout, "classes", {"block_bytes", "block_count", "slab_slices", "bitmap_words"});
  const char* const copy = view.read(look, layout.root("classes"));
  SizeClasses classes;
  for (size_t i = 0; i < view[0].count; i++) {
    classes.rows.push_back(
        {view.get(copy, 0, i), view.get(copy, 1, i), view.get(copy, 2, i), view.get(copy, 3, i)});
    const SizeClasses::Row& row = classes.rows.back();
    const bool is_sound =
        row.block_bytes != 0 && row.block_count <= row.bitmap_words * 64 &&
        row.block_count * row.block_bytes <= row.slab_slices * layout.constant("slice.bytes");
    if (!is_sound) throw Implausible("the table of size classes is wrong");
  }
  return classes;
}

// The second look reads them in the same order. So one of the three words differs, or the lock is
// held, if a range changed hands before the second look began.
void begin_look(Look& look, const Layout& layout) {
  const uint64_t space = layout.root("space");
  const Field& lock = layout.field("space.lock");
  const Field& changes = layout.field("space.change_count");
  look.read_all({{space + changes.value, changes.bytes},
                 {space + lock.value, lock.bytes},
                 {space + changes.value, changes.bytes}});
}

std::string read_heap(Look& look, const Layout& layout, const SizeClasses& classes,
                      PageMapView& page_map, Numbers& numbers, PieceNotes* notes) {
  return HeapReader(look, layout, classes, page_map, numbers, notes).read();
}

uint64_t started_ns(Look& look, const Layout& layout) {
  uint64_t value = 0;
  std::memcpy(&value, look.read(layout.root("started_ns"), sizeof value), sizeof value);
  return value;
}

}  // namespace talus::tool
