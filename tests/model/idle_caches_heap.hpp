// SPDX-License-Identifier: MIT
// model/idle_caches_heap: the shipped files of src/heap that idle-cache reclaim is about, and
// stand-ins for the files that it only calls.
//
// Shipped, in copies whose lists consist of places (idle_caches_places.cmake): context, heap,
// lists, wide_lists, thread_order, idle-cache reclaim, take_back, refill, alloc, alloc_slow, free,
// free_slow, remote. Of list_home and caches the part about lists is shipped.
// Stand-ins: the registry with one heap, slabs, foreign blocks, medium and large blocks (there are
// none) and purge requests (nothing).
// Called on: fibers of the explorer; set_up and check_end alone.
#ifndef TALUS_TESTS_MODEL_IDLE_CACHES_HEAP_HPP
#define TALUS_TESTS_MODEL_IDLE_CACHES_HEAP_HPP

#include <new>

#include "idle_caches_floors.hpp"

#include "heap/lists.hpp"
#include "os/bytes.hpp"

#define TALUS_HEAP_REGISTRY_HPP
#define TALUS_HEAP_SOUND_HPP
#define TALUS_CACHE_MEDIUM_LISTS_HPP
#define TALUS_STORE_LARGE_HPP
#define TALUS_STORE_SLABS_HPP
#define TALUS_STORE_SLAB_AT_HPP
#define TALUS_CACHE_FITTING_HPP
#define TALUS_CACHE_LARGE_CACHE_HPP
#define TALUS_CACHE_MEDIUM_LISTS_HPP
#define TALUS_HEAP_PURGE_REQUEST_HPP
#define TALUS_HEAP_MODES_HPP
#define TALUS_HEAP_SIDES_HPP
#define TALUS_CACHE_SIDE_HOME_HPP
#define TALUS_CACHE_SIDE_REFILL_HPP
#define TALUS_HEAP_SOUND_HPP
#define TALUS_HEAP_SPECIAL_HPP
#define TALUS_PATHS_INSTANCE_BLOCKS_HPP
#define TALUS_STORE_INSTANCE_ROOM_HPP

namespace talus::core {

// The registry, as far as caches in use are met in it.
struct Registry {
  RegistryLock lock;
  HeapLock heap_lock;
  Heap heap;
  ThreadCache* caches = nullptr;
  ThreadContext* probe_context = nullptr;
};
inline Registry registry;
TALUS_HOOK ThreadCache* cache_of_probe(ThreadContext& context) noexcept;
inline constexpr ContextOperations probe_operations = {cache_of_probe, nullptr, true};

inline void audit(const Heap&) noexcept {}  // this heap has no slabs to count
inline void audit(const Registry&) noexcept {}
inline HeapLock& lock_of(HeapId) noexcept { return registry.heap_lock; }
inline HeapLock& lock_of(const Heap&) noexcept { return registry.heap_lock; }
inline HeapLock& lock_of(const ThreadCache&) noexcept { return registry.heap_lock; }
inline Heap& heap_with(HeapId) noexcept { return registry.heap; }
inline Heap* abandoned_heap() noexcept { return &registry.heap; }
inline ThreadCache* take_orphaned_cache() noexcept { return nullptr; }
inline void remove_from_use(Held<RegistryLock>&, ThreadCache& cache) noexcept {
  (cache.previous != nullptr ? cache.previous->next : registry.caches) = cache.next;
  if (cache.next != nullptr) cache.next->previous = cache.previous;
}
inline bool retire_cache(Held<RegistryLock>&, ThreadCache&) noexcept { return false; }
inline void retire_orphaned_cache(Held<RegistryLock>&, ThreadCache&) noexcept {}

TALUS_HOOK ThreadCache* cache_of_new_thread(ThreadContext&) noexcept {
  model::explorer.violate("a thread is born in the middle of a run");
}

TALUS_HOOK bool find_memory(size_t, unsigned) noexcept { return false; }

// The slabs. The heap's lock is held.
template <typename Places>
size_t take_blocks(Heap&, ClassId id, Places* places, size_t wanted) noexcept {
  size_t taken = 0;
  for (; taken < wanted; taken++) {
    void* block = model::idle_caches::blocks.leave_home(static_cast<int>(index_of(id)));
    if (block == nullptr) break;
    places[taken] = block;
  }
  return taken;
}
template <typename Places>
void give_blocks(Heap&, Places* places, size_t count) noexcept {
  for (size_t i = 0; i < count; i++) {
    void* block = places[i];
    if (block == nullptr) model::explorer.violate("a gap of a list is taken for a block");
    model::idle_caches::blocks.come_home(block);
  }
}
template <typename Places>
size_t give_to_slab(Heap& heap, Slab&, Places* places, size_t) noexcept {
  give_blocks(heap, places, 1);
  return 1;
}
inline void return_empty_slabs(Heap&) noexcept {}
inline void give_up_kept_slabs(Heap&) noexcept {}

// No foreign blocks; two batches for a full list.
inline constexpr size_t foreign_at_a_time = 2;
template <typename Places>
HeapId flush_with_foreign(Held<HeapLock>&, Heap& heap, Places* places, size_t count) noexcept {
  give_blocks(heap, places, count);
  return HeapId::none;
}

// No modes.
inline bool is_special(PageEntry) noexcept { return false; }
inline void free_special(void*) noexcept {}
struct SpecialBlock {
  struct Operations {
    void* instance = nullptr;
  };
  static Operations operations() noexcept { return {}; }
};
inline SpecialBlock* special_of(const void*) noexcept { return nullptr; }
constexpr HeapId owner_of_large(PageEntry) noexcept { return HeapId::none; }
inline void* allocate_by_mode(const BlockRequest&) noexcept { return nullptr; }
inline ModeContext* current_modes() noexcept { return nullptr; }
enum class BlockHome : uint8_t { common, instance };
inline bool has_diverters(const ModeContext&) noexcept { return false; }
inline bool is_diverted(ModeContext&, void*, BlockHome) noexcept { return false; }
inline void note_allocate(void*, size_t) noexcept {}
inline void note_free(void*) noexcept {}
inline void end_modes(ThreadCache&) noexcept {}
struct Mode {
  void* (*allocate_alone)(size_t, ThreadContext&) noexcept;
  void (*free_alone)(void*, ThreadContext&) noexcept;
};
inline const Mode* mode_alone(const ThreadContext&) noexcept { return nullptr; }
enum class CallKind : uint8_t { c };
struct FreeCall {
  CallKind kind;
  size_t bytes;
};
inline void check_call(void*, FreeCall) noexcept {}

// No two-sided lists.
struct SidedContext : ThreadContext {
  ThreadCache* cache = nullptr;
  Atomic<uint64_t> begun[class_count], ended[class_count];
  uint32_t prepaid_blocks[class_count] = {};
};
template <typename Visit>
void for_each_side(ThreadCache&, Visit) noexcept {}
inline bool has_sides(const ThreadContext&) noexcept { return false; }
inline void send_sides_home(ThreadCache&, size_t) noexcept {}
inline void* pop_from_side(SidedContext&, ThreadCache&, ClassId) noexcept { return nullptr; }
inline void push_on_side(SidedContext&, ThreadCache&, void*, size_t) noexcept {}
inline SidedContext* current_sides() noexcept { return nullptr; }

// No medium blocks.
enum class Fit : uint8_t { exact, near };
inline void* allocate_by_sides(SidedContext&, size_t, size_t, Fit) noexcept { return nullptr; }
inline void* pop_fitting(ThreadCache& cache, ClassId id, Fit fit) noexcept;
inline BlockMade allocate_medium(ThreadCache*, ClassId, Fit) noexcept { return {}; }
inline void free_medium(ThreadCache&, void*, ClassId) noexcept {}
inline void refuse_free_in_slab(ThreadCache& cache, const void* block) noexcept {
  Held held{lock_of(cache)};
  if (Slab::is_free(only_slab.prove(block))) report::double_free(block, only_slab.block_bytes);
}
inline const Slab& prove_slab(const void*, const char*) noexcept { return only_slab; }
inline bool is_quick_block(const void*) noexcept { return true; }
inline void give_past_lists(ThreadCache& cache, void* pointer) noexcept {
  give_blocks(*cache.heap, &pointer, 1);
}

// No classes made while it runs.
inline bool find_slow_class(ThreadCache&, size_t bytes, ClassId& id) noexcept {
  id = slow_class_of(bytes);
  return true;
}

// No modes that keep blocks.
inline void flush_modes(ThreadCache&) noexcept {}

// No large blocks.
inline void* take_kept_at_hand(ThreadContext&, size_t) noexcept { return nullptr; }
inline bool keep_at_hand(ThreadContext&, void*, PageEntry) noexcept { return false; }
inline BlockMade allocate_large(ThreadCache*, size_t, size_t) noexcept { return {}; }
inline void free_large(ThreadCache*, void*, PageEntry) noexcept {}
inline void flush_kept(ThreadCache&) noexcept {}

// Nothing to purge_request.
inline void note_free_bytes(Heap&) noexcept {}
inline void request_purge_if_much(Heap&) noexcept {}
inline void offer_work() noexcept {}

// No instances.
inline void rest_heap(Heap&) noexcept {}
inline bool free_small_inside(void*, HeapId) noexcept { return false; }

// What the copy of caches.hpp counts in.
struct DecayTally {
  size_t purged = 0;
  size_t left = 0;
};

}  // namespace talus::core

#include "cache/idle_caches.hpp"
#include "store/remote.hpp"
#include "reclaim/take_back.hpp"

inline void* talus::core::pop_fitting(ThreadCache& cache, ClassId id, Fit) noexcept {
  return pop_from_list(slow_list_of(cache, id));
}

#include "paths/alloc.hpp"
#include "paths/free.hpp"
#include "reclaim/caches.hpp"

#endif  // TALUS_TESTS_MODEL_IDLE_CACHES_HEAP_HPP
