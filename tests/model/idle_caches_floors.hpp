// SPDX-License-Identifier: MIT
// model/idle_caches_floors: what lies below src/heap, as small as the model of idle-cache reclaim
// needs it.
//
// Stands in for classes, os, sync, slab and space. There is one class of blocks with lists of four
// places for the fast paths, and one of large blocks for the slow ones. A lock is right by
// construction. Eight and four blocks make up the only slabs; a page map knows them; there is time.
// Owns: the include guards of the files that it replaces; where each block is (home in its slab, in
// the program's hands, or neither), with the checks at each change.
// The shipped files of src/heap lie on top. Invariant: a stand-in has the names and the contract of
// what it replaces and no shared words of its own. Called on: fibers, and alone between runs.
#ifndef TALUS_TESTS_MODEL_IDLE_CACHES_FLOORS_HPP
#define TALUS_TESTS_MODEL_IDLE_CACHES_FLOORS_HPP

#include <new>

#include "memory.hpp"

#include "base/base.hpp"
#include "os/report.hpp"
#include "settings/options.hpp"
#include "slab/remote_free.hpp"

#define TALUS_CLASSES_SIZE_CLASS_HPP
#define TALUS_CLASSES_FITTED_HPP
#define TALUS_OS_OS_HPP
#define TALUS_SYNC_LOCK_HPP
#define TALUS_SLAB_SLAB_HPP
#define TALUS_SPACE_SPACE_HPP

namespace model::idle_caches {

constexpr int small_blocks = 8;  // and from there on large ones
constexpr int blocks_max = 12;
constexpr int class_of_block(int block) { return block < small_blocks ? 0 : 1; }
constexpr int list_places[] = {4, 2};  // by class
constexpr size_t bytes_of_class[] = {talus::core::block_alignment, talus::core::small_bytes_max};
constexpr int helper_thread_min = 1;  // thread 0 is the owner

struct Block {
  alignas(talus::core::block_alignment) char bytes[talus::core::block_alignment] = {};
};

// Where the blocks are. In a list, or between two places, is neither home nor in hand.
struct Blocks {
  Block memory[blocks_max];
  PlainData data[blocks_max];
  bool is_home[blocks_max] = {};
  bool is_in_hand[blocks_max] = {};
  PlainData slab;
  bool has_owner_left = false;
  int taken_back = 0;  // blocks that others than the owner brought home in this run

  bool has(const void* address) const {
    return address >= &memory[0] && address < &memory[blocks_max];
  }
  int index_of(const void* block) const {
    if (!has(block)) explorer.violate("%p is taken for a block", block);
    return static_cast<int>(static_cast<const Block*>(block) - memory);
  }
  void reset() {
    for (int i = 0; i < blocks_max; i++) {
      data[i].reset();
      is_home[i] = true;
      is_in_hand[i] = false;
    }
    slab.reset();
    has_owner_left = false;
    taken_back = 0;
  }
  // Under the lock of the heap.
  void* leave_home(int block_class) {
    slab.write("the slab");
    for (int i = 0; i < blocks_max; i++) {
      if (!is_home[i] || class_of_block(i) != block_class) continue;
      is_home[i] = false;
      return &memory[i];
    }
    return nullptr;
  }
  void come_home(void* block) {
    const int index = index_of(block);
    slab.write("the slab");
    if (is_home[index]) explorer.violate("block %d comes home twice", index);
    if (is_in_hand[index]) explorer.violate("block %d is taken from the program", index);
    is_home[index] = true;
    data[index].write("the reuse of a block");
    if (explorer.current() >= helper_thread_min) {
      if (has_owner_left) explorer.violate("the helper takes from an owner that has left");
      taken_back++;
    }
  }
  void come_to_hand(void* block) {
    const int index = index_of(block);
    if (is_home[index]) explorer.violate("block %d is handed out, but is home", index);
    if (is_in_hand[index]) explorer.violate("block %d is handed out twice", index);
    is_in_hand[index] = true;
    data[index].write("the use of a block");
  }
  void leave_hand(void* block) {
    data[index_of(block)].write("the last use of a block");
    is_in_hand[index_of(block)] = false;
  }
};
inline Blocks blocks;

// Time passes for sleeping fibers alone; the world says what that means to the memory.
struct Clock {
  static constexpr uint64_t step_ns = talus::core::idle_probe_wait_us * 1000;
  uint64_t now_ns = 0;
  void (*sleep)() = nullptr;
  bool (*order)() = nullptr;  // the barrier for all threads; false: there is none
};
inline Clock model_clock;

}  // namespace model::idle_caches

namespace talus::core {

inline void compiler_fence() noexcept {}

// classes

inline constexpr size_t class_count = 2;
inline constexpr size_t fixed_class_count = class_count;
inline constexpr size_t fitted_small_first = class_count, fitted_medium_first = class_count;
inline constexpr size_t small_class_count = class_count;  // the others have slow lists, too
struct SizeClass {
  size_t block_bytes;
  uint32_t block_count;
  uint16_t slab_slices;
};
struct SizeClassTable {
  SizeClass rows[class_count];
  uint8_t class_of_units[fast_bytes_max / block_alignment + 1];
};
constexpr SizeClassTable make_size_class_table() noexcept {
  SizeClassTable table{};
  for (size_t index = 0; index < class_count; index++) {
    const size_t bytes = model::idle_caches::bytes_of_class[index];
    table.rows[index] = {bytes, static_cast<uint32_t>(slice_bytes / bytes), 1};
  }
  for (uint8_t& index : table.class_of_units) index = 1;
  table.class_of_units[0] = table.class_of_units[1] = 0;
  return table;
}
inline constexpr SizeClassTable size_class_table = make_size_class_table();
inline constexpr size_t self_aligned_bytes_max = slice_bytes / 4;  // both classes
constexpr const SizeClass& size_class_row(ClassId id) noexcept {
  return size_class_table.rows[index_of(id)];
}
constexpr ClassId class_of(size_t bytes) noexcept {
  return ClassId{static_cast<uint8_t>(bytes > model::idle_caches::bytes_of_class[0] ? 1 : 0)};
}
constexpr ClassId small_class_of(size_t bytes) noexcept { return class_of(bytes); }
constexpr ClassId slow_class_of(size_t bytes) noexcept { return class_of(bytes); }
constexpr bool is_medium(ClassId) noexcept { return false; }
constexpr bool is_fitted(ClassId) noexcept { return false; }
constexpr bool is_home_at_once(size_t) noexcept { return false; }
struct FittedClasses {
  static bool find(size_t, ClassId&) noexcept { return false; }
  static ClassId class_near(size_t bytes) noexcept { return slow_class_of(bytes); }
};
inline FittedClasses fitted_classes;
constexpr bool has_class(size_t, size_t) noexcept { return true; }
constexpr size_t bytes_at_alignment(size_t bytes, size_t) noexcept { return bytes; }
constexpr ClassId class_of_aligned(size_t bytes, size_t) noexcept { return class_of(bytes); }
struct ListBounds {
  uint16_t blocks_max[class_count];
  uint16_t first_blocks[class_count];
  uint16_t first_start[class_count];
  uint16_t usual_start[class_count];
};
inline constexpr size_t list_places_most =
    model::idle_caches::list_places[0] + model::idle_caches::list_places[1] + 2 * class_count;
inline constexpr size_t list_nulls = 2;
constexpr ListBounds derive_list_bounds(size_t) noexcept {
  const uint16_t small = model::idle_caches::list_places[0];
  const uint16_t large = model::idle_caches::list_places[1];
  return {{small, large}, {small, large}, {2, static_cast<uint16_t>(small + 4)}, {0, 0}};
}

// os and sync

namespace os {
struct System {
  static uint64_t now_ns() noexcept { return model::idle_caches::model_clock.now_ns; }
  static void sleep_us(long) noexcept { model::idle_caches::model_clock.sleep(); }
  static bool order_threads() noexcept { return model::idle_caches::model_clock.order(); }
};
}  // namespace os

// The world's order() says no where a scenario has no barrier.
struct RareCalls {
  static bool are_allowed() noexcept { return true; }
};
inline RareCalls rare_calls;

class Lock {
 public:
  bool try_lock() noexcept {
    if (model::explorer.current() != model::no_thread && !mutex_.try_lock()) return false;
    is_locked_ = true;
    return true;
  }
  void lock() noexcept {
    if (model::explorer.current() != model::no_thread) mutex_.lock();
    is_locked_ = true;
  }
  void unlock() noexcept {
    if (model::explorer.current() != model::no_thread) mutex_.unlock();
    is_locked_ = false;
  }
  void reset_in_child() noexcept { new (this) Lock(); }
  bool is_locked() const noexcept { return is_locked_; }
  bool is_own() const noexcept { return is_locked_; }  // only assertions ask

 private:
  model::Mutex mutex_;
  bool is_locked_ = false;
};

}  // namespace talus::core

#include "sync/ranked_lock.hpp"

namespace talus::core {

// slab and space

struct SlabList {};
struct SlabBins {
  // None has any, so that what was delivered is brought home at each refill.
  const void* fullest() const noexcept { return nullptr; }
};

class PageEntry {
 public:
  constexpr PageEntry(HeapId owner, uint16_t tag) noexcept : owner_{owner}, tag_{tag} {}
  constexpr PageEntry() noexcept = default;
  HeapId owner() const noexcept { return owner_; }
  uint16_t tag() const noexcept { return tag_; }
  uint32_t bits() const noexcept { return static_cast<uint32_t>(owner_) | uint32_t{tag_} << 16; }
  bool has_no_owner() const noexcept { return owner_ == HeapId::none; }
  bool is_slab() const noexcept { return owner_ != HeapId::none; }
  bool is_large() const noexcept { return false; }

 private:
  HeapId owner_ = HeapId::none;
  uint16_t tag_ = 0;
};

inline constexpr HeapId only_heap{1};

// All blocks are of one slab, and start where they are.
struct Slab {
  size_t block_bytes = block_alignment;
  uint32_t prove(const void* block) const noexcept {
    return static_cast<uint32_t>(model::idle_caches::blocks.index_of(block));
  }
  static bool is_free(uint32_t index) noexcept { return model::idle_caches::blocks.is_home[index]; }
};
inline Slab only_slab;

struct PageMap {
  static bool covers(uintptr_t) noexcept { return true; }
  PageEntry word_of(uintptr_t address) const noexcept {
    const auto* block = reinterpret_cast<const void*>(address);
    if (!model::idle_caches::blocks.has(block)) return {};
    const int index = model::idle_caches::blocks.index_of(block);
    return {only_heap, tags[model::idle_caches::class_of_block(index)]};
  }
  PageEntry word_anywhere(uintptr_t address) const noexcept { return word_of(address); }
  struct Place {
    PageEntry found;
    PageEntry word() const noexcept { return found; }
    void* descriptor() const noexcept { return &only_slab; }
  };
  Place place_of(uintptr_t address) const noexcept { return {word_of(address)}; }
  bool find_near(uintptr_t address, Place& place) const noexcept {
    place = place_of(address);
    return true;
  }
  void* descriptor_of_owned(uintptr_t) const noexcept { return &only_slab; }
  uint16_t tags[class_count] = {};  // the world sets them
};
inline PageMap page_map;

// A place of a list: a pointer for the shipped code, each of whose reads and writes is a step.
class Place {
 public:
  constexpr Place() noexcept = default;
  Place(const Place&) = delete;
  operator void*() const noexcept { return pointer_.load_relaxed(); }
  Place& operator=(void* pointer) noexcept {
    pointer_.store_relaxed(pointer);
    return *this;
  }
  Place& operator=(const Place& other) noexcept { return *this = other.pointer_.load_relaxed(); }
  const Atomic<void*>& word() const noexcept { return pointer_; }

 private:
  Atomic<void*> pointer_;
};

// Metadata is for a wide place of the class of small blocks, where a scenario has one.
class Space {
 public:
  static constexpr int wide_places = 4 * model::idle_caches::list_places[0];

  SpaceLock& lock() noexcept { return lock_; }
  void* take_metadata(Held<SpaceLock>&, size_t) noexcept { return nullptr; }
  void* take_spare_metadata(Held<SpaceLock>&, size_t bytes) noexcept {
    if (!has_wide_place) return nullptr;
    if (bytes == class_count * sizeof(Place*)) return new (bottoms_) Place* [class_count] {};
    if (bytes != (list_nulls + wide_places) * sizeof(void*)) return nullptr;
    return new (wide_memory_) Place[list_nulls + wide_places];
  }

  bool has_wide_place = false;

 private:
  SpaceLock lock_;
  alignas(Place*) unsigned char bottoms_[class_count * sizeof(Place*)];
  alignas(Place) unsigned char wide_memory_[(list_nulls + wide_places) * sizeof(Place)];
};
inline Space space;

// A move of places is as many steps; a fork or another thread may come in between.
inline void move_bytes(Place* to, const Place* from, size_t bytes) noexcept {
  for (size_t i = 0; i < bytes / sizeof(void*); i++) to[i] = from[i];
}

}  // namespace talus::core

#endif  // TALUS_TESTS_MODEL_IDLE_CACHES_FLOORS_HPP
