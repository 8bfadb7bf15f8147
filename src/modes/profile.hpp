// SPDX-License-Identifier: MIT
// modes/profile: a heap profile by samples.
//
// About once in a number of bytes, a block is sampled: its stack, size, time and thread are kept
// while it lives. Each byte is as likely as another to begin a sample. So a block of size s is
// sampled with p = 1 - exp(-s / mean distance). The number of blocks of a class up to the next
// sample is drawn anew each time. What is not sampled can be estimated without a bias.
// A sampled block gets pages of its own, as a large block has. Freeing it takes the slow path,
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
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "unwind/stack_reader.hpp"
#include "unwind/unwinder.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/modes.hpp"
#include "cache/large_cache.hpp"
#include "paths/free_slow.hpp"
#include "modes/profile_sites.hpp"

namespace talus::core::profile {

struct ThreadSamples {
  uint64_t blocks_left[class_count];  // up to the next sample, which is the last; 0: not drawn yet
  uint64_t random;
  uint32_t held_record;  // of the block that is being resized; 0: it was not sampled
  uint32_t class_made;   // one more than the class of a block made for a sample; 0: none
  unwind::StackBounds bounds;
};
inline ThreadSamples& samples_of(ModeThread thread) noexcept {
  return *static_cast<ThreadSamples*>(thread.state);
}

inline constexpr uint64_t mean_bytes_max = ~uint32_t{0};

struct Profile {
  uint64_t mean_bytes = 0;  // between samples
  Sites* sites = nullptr;   // constant from begin() on; null: there was none
  unwind::Unwinder unwinder;
};
TALUS_CONSTINIT inline Profile profile;

// -log2(random / 2^64), in units of 2^-24; `random` is not 0.
inline uint64_t negative_log2(uint64_t random) noexcept {
  constexpr unsigned fraction_bits = 24;
  const unsigned high = highest_bit(random);
  uint64_t mantissa = random << (63 - high) >> 32;  // 1 to 2, in units of 2^-31
  uint64_t fraction = 0;
  for (unsigned i = 0; i < fraction_bits; i++) {
    mantissa = mantissa * mantissa >> 31;
    fraction *= 2;
    if (mantissa >> 32 != 0) {
      fraction++;
      mantissa >>= 1;
    }
  }
  return (uint64_t{64 - high} << fraction_bits) - fraction;
}
// The number of bytes up to the next sample: exponentially distributed.
inline uint64_t draw_bytes(uint64_t& state, uint64_t mean_bytes) noexcept {
  state += 0x9e3779b97f4a7c15u;
  const uint64_t random = mix_bits(state);
  constexpr uint64_t log_2 = 11629080;  // ln(2), in units of 2^-24
  const uint64_t logarithm = negative_log2(random != 0 ? random : 1) * log_2 >> 24;
  TALUS_ASSERT(logarithm >> 31 == 0 && mean_bytes <= mean_bytes_max);
  return logarithm * mean_bytes >> 24;
}
// The number of blocks of this size up to the next one that has such a byte: with p = 1 - exp(-size
// / mean), it is geometrically distributed.
inline uint64_t draw_blocks(uint64_t& state, uint64_t mean_bytes, uint64_t block_bytes) noexcept {
  return draw_bytes(state, mean_bytes) / block_bytes + 1;
}

inline void begin_samples(ModeThread thread) noexcept {
  ThreadSamples& own = samples_of(thread);
  own.random = mix_bits(reinterpret_cast<uintptr_t>(&own) ^ os::System::now_ns());
}
inline uint64_t& blocks_left(ThreadSamples& own, size_t index) noexcept {
  uint64_t& left = own.blocks_left[index];
  if (TALUS_UNLIKELY(left == 0)) {
    const size_t block_bytes = size_class_table.rows[index].block_bytes;
    left = draw_blocks(own.random, profile.mean_bytes, block_bytes);
  }
  return left;
}
inline size_t blocks_until_sample(ModeThread thread, ClassId id) noexcept {
  return static_cast<size_t>(blocks_left(samples_of(thread), index_of(id)) - 1);
}
inline void note_blocks(ModeThread thread, ClassId id, size_t blocks) noexcept {
  uint64_t& left = blocks_left(samples_of(thread), index_of(id));
  TALUS_ASSERT(left > blocks);  // no more than blocks_until_sample() said
  left -= blocks;
}

// A block for a request that is to be sampled: on pages of its own, as a large one.
inline void* make_sampled(ModeThread thread, const BlockRequest& request) noexcept {
  const bool has_sides = thread.cache != nullptr && request.bytes <= medium_bytes_max &&
                         request.offset == 0 && has_class(request.bytes, request.alignment);
  if (!has_sides) return nullptr;
  ThreadSamples& own = samples_of(thread);
  const size_t index = index_of(class_of_aligned(request.bytes, request.alignment));
  if (blocks_left(own, index) != 1) return nullptr;
  own.class_made = static_cast<uint32_t>(index + 1);
  const size_t wanted = request.bytes != 0 ? request.bytes : 1;
  const size_t alignment = request.alignment > slice_bytes ? request.alignment : slice_bytes;
  const BlockMade made = allocate_large(thread.cache, wanted, alignment);
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
                             size_t block_bytes) noexcept {
  Sites& sites = *profile.sites;
  Stack stack;
  stack.count = profile.unwinder.walk(own.bounds, stack.frames, Stack::frames_max).frames;
  const uint32_t mark = os::System::thread_mark();
  const uint64_t now = os::System::now_ns();
  Held held{space.lock()};
  sites.begin_block(held, reinterpret_cast<uintptr_t>(block), bytes, block_bytes, stack, mark, now);
}

inline void note_allocate(ModeThread thread, void* block, size_t bytes) noexcept {
  if (thread.cache == nullptr) return;  // threads that lost their cache share a state
  ThreadSamples& own = samples_of(thread);
  if (bytes > medium_bytes_max) {
    if (draw_bytes(own.random, profile.mean_bytes) < bytes) keep_sample(own, block, bytes, bytes);
    return;
  }
  const size_t index = own.class_made != 0 ? own.class_made - 1 : index_of(class_of(bytes));
  own.class_made = 0;
  uint64_t& left = blocks_left(own, index);
  if (left > 1 || !is_end_told(block)) {
    if (left > 1) left--;
    return;
  }
  left = 0;  // drawn anew for the next block
  keep_sample(own, block, bytes, size_class_table.rows[index].block_bytes);
}
inline void note_free(ModeThread, void* block) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(block);
  if (TALUS_LIKELY(!profile.sites->may_have(address))) return;
  Held held{space.lock()};
  profile.sites->end_block(held, address);
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
    Held held{space.lock()};
    has_moved ? profile.sites->end_held(held, record) : profile.sites->put_back(held, record);
    own.held_record = 0;
  }
  if (has_moved) note_allocate(thread, block, bytes);
}

constexpr Mode make_mode() noexcept {
  Mode mode;
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
  return mode;
}
inline constexpr Mode mode = make_mode();

// Prepares a profile with this mean distance of samples, once. It is switched on by begin_mode() or
// switch_on(). Not within a call of Talus. False: there is no memory.
TALUS_APART bool prepare(uint64_t mean_bytes, const unwind::LibcOfModules& libc) noexcept {
  TALUS_ASSERT(mean_bytes != 0 && mean_bytes <= mean_bytes_max);
  profile.mean_bytes = mean_bytes;
  if (profile.sites != nullptr) return true;
  void* memory = os::map_pages(nullptr, round_up(sizeof(Sites), os::page_bytes()));
  if (memory == nullptr || !profile.unwinder.begin(libc)) return false;
  profile.sites = static_cast<Sites*>(memory);  // all zero, which is its first state
  return true;
}

}  // namespace talus::core::profile

#endif  // TALUS_MODES_PROFILE_HPP
