// SPDX-License-Identifier: MIT
// modes/profile: a heap profile by samples.
//
// About once in a number of bytes, a block is sampled: its stack, size, time and thread are kept
// while it lives. Each byte is as likely as another to begin a sample. So a block of size s is
// sampled with p = 1 - exp(-s / mean distance). The number of blocks of a class up to the next
// sample is drawn anew each time. What is not sampled can be estimated without a bias.
// A sampled block lies apart from slabs (heap/sample_areas.hpp). Freeing it takes the slow path,
// which tells the mode, and other blocks of its size cost what they cost without a profile.
//
// Owns: the mode, the distance to the next sample of each thread, and the process's profile.
// Invariants: a block of a class is sampled when the blocks up to it are counted, on two-sided
// lists, in calls or in resizes. Where no mode would hear of its end, as within a batch, the next
// block of the class takes its place. Called on: any thread, from slow paths. Must not know:
// readers of the profile.
#ifndef TALUS_MODES_PROFILE_HPP
#define TALUS_MODES_PROFILE_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "arch/probes.hpp"
#include "settings/options.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "unwind/last_walk.hpp"
#include "unwind/modules.hpp"
#include "unwind/stack_reader.hpp"
#include "unwind/unwinder.hpp"
#include "slab/block_states.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/sample_areas.hpp"
#include "heap/sides.hpp"
#include "heap/special.hpp"
#include "cache/large_cache.hpp"
#include "cache/medium_lists.hpp"
#include "cache/refill.hpp"
#include "paths/free_slow.hpp"
#include "modes/chain.hpp"
#include "modes/profile_sites.hpp"
#include "modes/sample_distances.hpp"
#include "modes/sample_weight.hpp"
#include "modes/tags.hpp"

// libc's own; null: it has none, or the program is static and does not need it otherwise.
extern "C" [[gnu::weak]] int talus_list_objects(
    int (*visit)(talus::core::unwind::ListedObject* object, size_t bytes, void* with),
    void* with) __asm__("dl_iterate_phdr") TALUS_EXPORT;

namespace talus::core::profile {

struct ThreadSamples {
  SampleDistances distances;
  uint32_t held_record;  // of the block that is being resized; 0: it was not sampled
  uintptr_t place_made;  // where the block made for a sample would lie without; 0: not known
  uint32_t class_made;   // one more than the class of a block made for a sample; 0: none
  uint32_t thread_id;    // of the thread that uses the cache; 0: not asked for yet
  unwind::StackBounds bounds;
  unwind::LastWalk last_walk;
};
inline ThreadSamples& samples_of(ModeThread thread) noexcept {
  return *static_cast<ThreadSamples*>(thread.state);
}

struct Profile {
  uint64_t mean_bytes = 0;  // between samples
  Sites* sites = nullptr;   // constant from begin() on; null: there was none
  unwind::Unwinder unwinder;
  // Tells areas of samples from other special blocks. Null: there is none.
  const SpecialOperations* area_operations = nullptr;
  Mode mode;  // constant from begin() on, too
  Atomic<bool> shared_is_on;
};
TALUS_CONSTINIT inline Profile profile;

inline void begin_samples(ModeThread thread) noexcept {
  ThreadSamples& own = samples_of(thread);
  begin_distances(own.distances);
}
inline void forget_thread(ModeThread thread) noexcept { samples_of(thread).thread_id = 0; }
inline uint64_t& blocks_left(ThreadSamples& own, size_t index) noexcept {
  return blocks_left(own.distances, profile.mean_bytes, index);
}
inline size_t blocks_until_sample(ModeThread thread, ClassId id) noexcept {
  return static_cast<size_t>(blocks_left(samples_of(thread), index_of(id)) - 1);
}
inline void note_blocks(ModeThread thread, ClassId id, size_t blocks) noexcept {
  uint64_t& left = blocks_left(samples_of(thread), index_of(id));
  TALUS_ASSERT(left > blocks);  // no more than blocks_until_sample() said
  left -= blocks;
}

// Where a block of the class would lie, were it not sampled: the next one that the thread gets.
// 0: not known. Which pages a place in the program pins is told by that.
TALUS_APART uintptr_t place_without_sample(ThreadCache& cache, ClassId id) noexcept {
  SidedContext* const sides = current_sides();
  if (sides == nullptr || is_medium(id)) return 0;
  if (index_of(id) < fast_class_count) {
    const Side side = free_side(*sides, index_of(id));
    if (side.length() != 0) return reinterpret_cast<uintptr_t>(side.top.load_own()[-1]);
  }
  void* const block = allocate_on(&cache, id, Fit::exact).block;
  if (block != nullptr && !push_on_list(cache, block, id)) free_plain(&cache, block);
  return reinterpret_cast<uintptr_t>(block);
}

// A block whose free takes the slow path: among other sampled ones. Where pages without access
// guard blocks, or a trailer their end, it is guarded as a large one.
TALUS_APART BlockMade make_apart(ThreadCache& cache, ClassId id,
                                 const BlockRequest& request) noexcept {
  if (TALUS_LIKELY(!options.guard_pages && !keeps_trailers())) {
    return {sample_areas::allocate(id, request.alignment), Zeroed::no};
  }
  const size_t wanted = request.bytes != 0 ? request.bytes : 1;
  return allocate_large(&cache, wanted, slice_bytes);
}
// A block for a request that is to be sampled.
inline void* make_sampled(ModeThread thread, const BlockRequest& request) noexcept {
  const bool has_sides = thread.cache != nullptr && request.bytes <= medium_bytes_max &&
                         request.offset == 0 && has_class(request.bytes, request.alignment);
  if (!has_sides) return nullptr;
  ThreadSamples& own = samples_of(thread);
  const size_t index = index_of(class_of_aligned(request.bytes, request.alignment));
  if (blocks_left(own, index) != 1) return nullptr;
  own.class_made = static_cast<uint32_t>(index + 1);
  const ClassId id{static_cast<uint8_t>(index)};
  own.place_made = place_without_sample(*thread.cache, id);
  const BlockMade made = make_apart(*thread.cache, id, request);
  if (made.block != nullptr && request.zeroed == Zeroed::yes && made.zeroed == Zeroed::no) {
    clear_bytes(made.block, request.bytes);
  }
  return made.block;
}

// Is a mode told of the end of this block? Slabs of common heaps have two-sided lists.
inline bool is_end_told(const void* block) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  return !word.is_slab() || is_of_instance(word, block);
}

TALUS_APART void keep_sample(ThreadSamples& own, const void* block, size_t bytes,
                             size_t block_bytes, uintptr_t place) noexcept {
  Sites& sites = *profile.sites;
  Stack stack;
  stack.tag = tags::current();
  stack.count =
      profile.unwinder.walk(own.bounds, stack.frames, Stack::frames_max, &own.last_walk).frames;
  if (own.thread_id == 0) own.thread_id = os::System::thread_id();
  const uint64_t now = os::System::now_ns();
  {
    Held held{space.lock()};
    const NewBlock made{reinterpret_cast<uintptr_t>(block), bytes, block_bytes, place};
    sites.begin_block(held, made, stack, own.thread_id, now);
  }
  if (TALUS_UNLIKELY(arch::is_alloc_probed())) {
    const double weight = weight_of(block_bytes, profile.mean_bytes);
    arch::probe_alloc(block, bytes, static_cast<size_t>(weight * static_cast<double>(bytes)));
  }
}
TALUS_FAST void tell_end(const void* block) noexcept {
  if (TALUS_UNLIKELY(arch::is_free_probed())) arch::probe_free(block);
}

inline void note_allocate(ModeThread thread, void* block, size_t bytes) noexcept {
  if (thread.cache == nullptr) return;  // threads that lost their cache share a state
  ThreadSamples& own = samples_of(thread);
  if (bytes > medium_bytes_max) {
    if (draw_bytes(own.distances.random, profile.mean_bytes) < bytes)
      keep_sample(own, block, bytes, bytes, 0);
    return;
  }
  const bool is_made = own.class_made != 0;
  const size_t index = is_made ? own.class_made - 1 : index_of(class_of(bytes));
  own.class_made = 0;
  uint64_t& left = blocks_left(own, index);
  if (left > 1 || !is_end_told(block)) {
    if (left > 1) left--;
    return;
  }
  left = 0;  // drawn anew for the next block
  const uintptr_t place = is_made ? own.place_made : reinterpret_cast<uintptr_t>(block);
  keep_sample(own, block, bytes, size_class_rows.rows[index].block_bytes, place);
}
inline void note_free(ModeThread, void* block) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(block);
  if (TALUS_LIKELY(!profile.sites->may_have(address))) return;
  const uint64_t now = os::System::now_ns();
  uint32_t record = 0;
  {
    Held held{space.lock()};
    record = profile.sites->hold(held, address);
    if (record != 0) profile.sites->end_held(held, record, now);
  }
  if (record != 0) tell_end(block);
}
// The address may be another thread's before the resize returns, so its record is held meanwhile.
inline void begin_resize(ModeThread thread, void* block) noexcept {
  if (thread.cache == nullptr) return note_free(thread, block);
  ThreadSamples& own = samples_of(thread);
  const auto address = reinterpret_cast<uintptr_t>(block);
  own.held_record = 0;
  if (TALUS_LIKELY(!profile.sites->may_have(address))) return;
  Held held{space.lock()};
  own.held_record = profile.sites->hold(held, address);
}
inline void end_resize(ModeThread thread, void* before, size_t, void* block,
                       size_t bytes) noexcept {
  if (thread.cache == nullptr) return;
  ThreadSamples& own = samples_of(thread);
  const bool has_moved = block != nullptr && block != before;
  if (const uint32_t record = own.held_record) {
    const uint64_t now = has_moved ? os::System::now_ns() : 0;
    {
      Held held{space.lock()};
      has_moved ? profile.sites->end_held(held, record, now)
                : profile.sites->put_back(held, record);
    }
    own.held_record = 0;
    if (has_moved) tell_end(before);
  }
  if (has_moved) note_allocate(thread, block, bytes);
}

// Filled here, so that the loader writes no addresses where there is no profile.
TALUS_APART void fill_mode(Mode& mode) noexcept {
  mode.name = "profile";
  mode.state_bytes = sizeof(ThreadSamples);
  mode.state_made = begin_samples;
  mode.note_allocate = note_allocate;
  mode.note_free = note_free;
  mode.begin_resize = begin_resize;
  mode.end_resize = end_resize;
  mode.blocks_until_event = blocks_until_sample;
  mode.note_blocks = note_blocks;
  mode.allocate = make_sampled;
  mode.is_without_slabs = true;
  mode.end_thread = forget_thread;
  mode.renew_in_child = forget_thread;
}

// What libc offers for walks. Finding it needs no lock, so any thread may ask.
TALUS_APART unwind::LibcOfModules libc_of_modules() noexcept {
  unwind::LibcOfModules libc;
  const uintptr_t found = os::System::libc_function("_dl_find_object");
  libc.find_object = reinterpret_cast<unwind::FindObject*>(found);
  return libc;
}
// At the start, where the loader's lock may be taken, libc may list modules instead.
TALUS_APART unwind::LibcOfModules libc_at_start() noexcept {
  unwind::LibcOfModules libc = libc_of_modules();
  if (libc.find_object == nullptr) libc.list_objects = &talus_list_objects;
  return libc;
}

// Prepares a profile, once. The first mean distance of samples stays, because weights depend on it.
// It is switched on by begin_mode() or switch_on(). Not within a call of Talus. False: there is no
// memory.
TALUS_APART bool prepare(uint64_t mean_bytes, const unwind::LibcOfModules& libc) noexcept {
  TALUS_ASSERT(mean_bytes != 0 && mean_bytes <= mean_bytes_max);
  if (profile.sites != nullptr) return true;
  profile.mean_bytes = mean_bytes;
  void* memory = os::map_pages(nullptr, round_up(sizeof(Sites), os::page_bytes()));
  if (memory == nullptr || !profile.unwinder.begin(libc)) return false;
  fill_mode(profile.mode);
  sample_areas::prepare();
  profile.area_operations = &sample_areas::areas.operations;
  auto* const sites = static_cast<Sites*>(memory);  // all zero, which is its first state
  sites->mean_bytes = mean_bytes;
  profile.sites = sites;
  return true;
}

// The calling thread is sampled from here on; others from their first call. For the start of a
// process.
TALUS_APART void begin(uint64_t mean_bytes) noexcept {
  if (!prepare(mean_bytes, libc_at_start()) || !begin_mode(profile.mode)) return;
  profile.shared_is_on.store_release(true);
}
// Samples all threads of a running process from here on, or no longer. A profile that was off
// missed the end of blocks, so it forgets those that live. False: there is no memory or no place.
TALUS_APART bool start(uint64_t mean_bytes) noexcept {
  if (profile.shared_is_on.load_acquire()) return true;
  if (!prepare(mean_bytes, libc_of_modules())) return false;
  {
    Held held{space.lock()};
    profile.sites->forget_live(held);
  }
  if (!switch_on(profile.mode)) return false;
  profile.shared_is_on.store_release(true);
  return true;
}
TALUS_APART void stop() noexcept {
  if (!profile.shared_is_on.load_acquire()) return;
  switch_off(profile.mode);
  profile.shared_is_on.store_release(false);
}

}  // namespace talus::core::profile

#endif  // TALUS_MODES_PROFILE_HPP
