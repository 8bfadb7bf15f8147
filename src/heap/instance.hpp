// SPDX-License-Identifier: MIT
// heap/instance: the data of heaps that a program makes, and how to find one by its id or handle.
//
//   InstanceTable -> parts -> InstanceSlot | lock | handle | generation | Instance |
//   Instance      | Heap | blocks ready for each class | large blocks | limit, name |
//   handle        | generation 48 | id 16 |
//
// An instance has slabs of small blocks only, because its limit counts whole slabs. No thread has a
// cache before an instance: malloc and free for it work under its lock. A block outside the slabs
// is either ready or with the program. A checked instance has no ready blocks, so its slabs tell of
// each block whether the program has it. An id and its descriptor stay together forever, and the
// next instance uses them again. The handle tells one life from the next.
// Owns: ids, handles, layout. Invariants: a slot's handle is 0 exactly while no instance lives
// there. Slots and descriptors are never freed, so a dead handle or a late free finds a slot that
// says so. Slots lie together, apart from the heaps, so that a fork touches few pages.
// Called on: any thread. Must not know: how blocks are allocated and freed.
#ifndef TALUS_HEAP_INSTANCE_HPP
#define TALUS_HEAP_INSTANCE_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "heap/heap.hpp"

namespace talus::core {

// Requests up to this many bytes take the short way into an instance. 0: each call adds bytes that
// a mode wants, because blocks have trailers (slab/contents.hpp). Set at start.
TALUS_CONSTINIT inline Atomic<size_t> shared_inside_fast_bytes{small_bytes_max};

struct RegionHeap;

// What an instance does beyond the modes of the process (docs/decisions/0028).
enum class InstanceMode : uint8_t { as_process, checked };

// Free blocks of one class for the next calls; the block with the lowest address is last.
struct ReadyBlocks {
  size_t count = 0;
  void* blocks[ready_blocks_max] = {};
};

// All of it changes under the instance's lock.
struct Instance : Heap {
  static constexpr size_t name_bytes_max = 32;

  ReadyBlocks ready[small_class_count];
  uint64_t used_classes[(small_class_count + 63) / 64] = {};  // classes of which it may have slabs
  LargeBlock* large_blocks = nullptr;
  size_t large_count = 0;
  size_t large_bytes = 0;  // usable bytes of large blocks
  size_t peak_bytes = 0;   // of footprint_bytes()
  size_t limit_bytes = 0;  // of footprint_bytes(); 0: none
  char name[name_bytes_max] = {};
  InstanceMode mode = InstanceMode::as_process;  // constant while the instance lives

  bool is_checked() const noexcept { return mode == InstanceMode::checked; }
  bool is_sound() const noexcept;  // heap/sound.hpp; the lock is held
  size_t footprint_bytes() const noexcept { return slab_bytes + large_bytes; }
  bool has_room(size_t bytes) const noexcept {
    return limit_bytes == 0 ||
           (footprint_bytes() <= limit_bytes && bytes <= limit_bytes - footprint_bytes());
  }
  void note_peak() noexcept {
    if (footprint_bytes() > peak_bytes) peak_bytes = footprint_bytes();
  }
  void note_used(ClassId used) noexcept {
    TALUS_ASSERT(index_of(used) < small_class_count);
    used_classes[index_of(used) / 64] |= uint64_t{1} << (index_of(used) % 64);
  }
};

// A cache line of its own, because other threads use the neighbours.
struct alignas(cache_line_bytes) InstanceSlot {
  HeapLock lock;
  uint32_t next_unused = 0;  // id; under the registry's lock
  // large blocks that exist twice while they move
  uint32_t moving_count TALUS_GUARDED_BY(lock) = 0;
  Atomic<uintptr_t> shared_handle;  // written under the lock
  // of the present life, or of the last one
  uintptr_t generation TALUS_GUARDED_BY(lock) = 0;
  Instance* heap = nullptr;      // constant
  RegionHeap* region = nullptr;  // of the present life, or left by the last one; null: none
};

// Slots and descriptors for a process whose only memory is a buffer. They are zero, as fresh ones
// from address space are.
struct SpareInstances {
  static constexpr size_t count = 4;
  InstanceSlot slots[64];
  alignas(Instance) unsigned char heaps[count][sizeof(Instance)] = {};
  size_t used_heaps = 0;  // under the registry's lock
};

struct InstanceTable {
  static constexpr size_t part_slots = 64;
  Atomic<InstanceSlot*> shared_parts[(instance_id_max + 1) / part_slots + 1];
  Atomic<uint32_t> shared_count;       // slots there are; ids count from heap_count_max
  Atomic<uint32_t> shared_live_count;  // written under the registry's lock
  uint32_t unused = 0;  // id of a slot without an instance, 0: none; under the registry's lock
  SpareInstances spare;

  bool is_sound() const noexcept;  // heap/sound.hpp; the registry's lock is held
};
TALUS_CONSTINIT inline InstanceTable instance_table;
static_assert(sizeof instance_table.spare.slots ==
                      InstanceTable::part_slots * sizeof(InstanceSlot) &&
                  heap_count_max % InstanceTable::part_slots == 0,
              "spare slots are the first part");

static_assert(sizeof(InstanceSlot) == cache_line_bytes, "slots share no line");
static_assert(sizeof(uintptr_t) == 8, "a handle holds a generation that never wraps");

// The slot of an id that is, or once was, in use.
TALUS_FAST InstanceSlot& instance_slot(HeapId id) noexcept {
  TALUS_ASSERT(is_instance(id) && index_of(id) <= instance_id_max);
  InstanceSlot* part =
      instance_table.shared_parts[index_of(id) / InstanceTable::part_slots].load_acquire();
  return part[index_of(id) % InstanceTable::part_slots];
}

// Calls visit(slot) for every slot, in the order of ids.
template <typename Visit>
TALUS_USUAL void for_each_instance_slot(Visit visit) noexcept {
  const uint32_t count = instance_table.shared_count.load_acquire();
  for (uint32_t i = 0; i < count; i++) {
    visit(instance_slot(HeapId(static_cast<uint16_t>(heap_count_max + i))));
  }
}

// Calls visit(instance) for every living instance. It may die at any moment, and is empty then.
template <typename Visit>
void for_each_instance(Visit visit) noexcept {
  for_each_instance_slot([&](InstanceSlot& slot) noexcept {
    if (slot.shared_handle.load_acquire() != 0) visit(static_cast<Heap&>(*slot.heap));
  });
}

// The handle of the instance with this id; 0: it is dead.
inline uintptr_t handle_of(HeapId id) noexcept {
  return instance_slot(id).shared_handle.load_hint();  // the call that enters checks it
}
constexpr HeapId id_in_handle(uintptr_t handle) noexcept {
  return HeapId(static_cast<uint16_t>(handle & 0xffff));
}

// The slot that a handle names, alive or dead. Reports a number that is no handle.
TALUS_FAST InstanceSlot& slot_of_handle(uintptr_t handle, const char* call) noexcept {
  const HeapId id = id_in_handle(handle);
  InstanceSlot* part =
      instance_table.shared_parts[index_of(id) / InstanceTable::part_slots].load_acquire();
  if (TALUS_UNLIKELY(part == nullptr)) report::dead_heap(handle, call);
  return part[index_of(id) % InstanceTable::part_slots];
}

// Holds the lock of the living instance behind a handle. Reports a dead handle, with the name of
// the call that received it.
class [[nodiscard]] Inside {
 public:
  TALUS_FAST Inside(uintptr_t handle, const char* call) noexcept
      : slot_{slot_of_handle(handle, call)} {
    slot_.lock.lock();
    if (TALUS_UNLIKELY(handle == 0 || slot_.shared_handle.load_own() != handle)) {
      slot_.lock.unlock();
      report::dead_heap(handle, call);
    }
  }
  TALUS_FAST ~Inside() { slot_.lock.unlock(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  Instance& heap() const noexcept { return *slot_.heap; }
  InstanceSlot& slot() const noexcept { return slot_; }

 private:
  InstanceSlot& slot_;
};

// Calls visit(class) for each class of which the instance may have slabs.
template <typename Visit>
void for_each_used_class(const Instance& heap, Visit visit) noexcept {
  for (size_t word = 0; word < sizeof(heap.used_classes) / sizeof(uint64_t); word++) {
    for (uint64_t bits = heap.used_classes[word]; bits != 0; bits &= bits - 1) {
      visit(ClassId{static_cast<uint8_t>(word * 64 + lowest_bit(bits))});
    }
  }
}

}  // namespace talus::core

#endif  // TALUS_HEAP_INSTANCE_HPP
