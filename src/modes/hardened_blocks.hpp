// SPDX-License-Identifier: MIT
// modes/hardened_blocks: what blocks of the hardened mode hold, and how they come and go.
//
//   place in a slab | data, as requested | canary bytes | trailer |     freed: all zero
//   above 256 KiB   | no access | data, pattern to the end of the page | no access |
//
// A free proves the bytes behind the data and clears the block. The allocation that uses the block
// next proves that it is still zero. Blocks above 256 KiB have pages of their own (modes/mapped):
// an overrun faults, and so does a use after free, as long as their addresses rest.
//
// Owns: which calls write and prove contents. Invariants: each block of a slab with states that the
// program has is `given`, with a trailer. A block that is `freed` is zero, from the end of the free
// on. One that is `untold` may hold anything. Called on: any thread, from slow paths, also under an
// instance's lock. Must not know: other modes, but the two that it is made of.
#ifndef TALUS_MODES_HARDENED_BLOCKS_HPP
#define TALUS_MODES_HARDENED_BLOCKS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/block_states.hpp"
#include "slab/contents.hpp"
#include "slab/contents_check.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "heap/special.hpp"
#include "store/remote.hpp"
#include "cache/medium_lists.hpp"
#include "cache/refill.hpp"
#include "paths/aligned_at.hpp"
#include "paths/free_slow.hpp"
#include "modes/checked.hpp"
#include "modes/mapped.hpp"
#include "modes/mapped_slots.hpp"
#include "modes/quarantine.hpp"

namespace talus::core::hardened {

using checked::slab_at;

// What a context has. modes/mapped finds its own part first.
struct State {
  mapped::ThreadNumber number = 0;
  Quarantine quarantine;
};
TALUS_FAST State& state_of(ModeThread thread) noexcept {
  return *static_cast<State*>(thread.state);
}

// --- contents of blocks in slabs

// Short blocks are cleared faster without a call.
inline constexpr size_t clear_here_bytes_max = 512;
TALUS_FAST void wipe(void* block, size_t block_bytes) noexcept {
  if (TALUS_LIKELY(block_bytes <= clear_here_bytes_max)) return clear_block(block, block_bytes);
  clear_bytes(block, block_bytes);
}
// A write after free, unless a thread without the mode freed the block.
TALUS_APART void refuse_dirty(const void* block, size_t block_bytes) noexcept {
  if (!keeps_trailers()) return;
  report::write_after_free(block, first_not_zero(block, block_bytes), block_bytes);
}
TALUS_FAST void prove_zero(const void* block, size_t block_bytes) noexcept {
  if (TALUS_UNLIKELY(!is_zero(block, block_bytes))) refuse_dirty(block, block_bytes);
}

// The program gets this block, which another function has proven zero. Nearly each has room for a
// trailer: all calls ask for it.
TALUS_FAST void* give(const Slab& slab, void* block, size_t bytes) noexcept {
  if (TALUS_UNLIKELY(slab.states == nullptr)) return block;
  Atomic<uint8_t>& state = slab.states[slab.index_of_block(block)];
  const uint8_t before = BlockState::without_trailer(state.load_own());  // of a resize: with one
  if (TALUS_UNLIKELY(before >= BlockState::given)) {
    return checked::refuse_given(block, slab.block_bytes);
  }
  const bool has_room = bytes + trailer_bytes <= slab.block_bytes;
  if (TALUS_UNLIKELY(!has_room || !slab.has_trailers)) {
    state.store_release(BlockState::given);
    return block;
  }
  Trailer::write(block, slab.block_bytes, bytes);
  state.store_release(BlockState::given | BlockState::with_trailer);
  return block;
}
// Proves what the state of a block says of it, when the program frees or resizes it.
TALUS_APART void refuse_state(uint8_t before, const void* block, size_t block_bytes,
                              const char* call) noexcept {
  if (BlockState::without_trailer(before) != BlockState::given) {
    checked::refuse(before, block, block_bytes, call);
  }
  if ((before & BlockState::with_trailer) != 0) prove_contents(block, block_bytes, call);
}
TALUS_FAST void prove_claimed(uint8_t before, const void* block, size_t block_bytes,
                              const char* call) noexcept {
  if (TALUS_UNLIKELY(before != (BlockState::given | BlockState::with_trailer))) {
    return refuse_state(before, block, block_bytes, call);
  }
  prove_contents(block, block_bytes, call);
}

// --- the operations of the mode

// The program gives this block up. Until it is wiped, observers may ask for its size.
TALUS_APART void claim(const Slab& slab, const void* block, const char* call) noexcept {
  if (slab.states == nullptr) return;
  const uint32_t index = slab.prove(block);
  const uint8_t before = checked::claim_at(slab, index, block);
  prove_claimed(before, block, slab.block_bytes, call);
  const uint8_t trailer = before & BlockState::with_trailer;
  slab.states[index].store_own(static_cast<uint8_t>(BlockState::freed | trailer));
}
TALUS_APART void claim_block(void* block, const char* call) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  if (word.is_slab()) return claim(slab_at(block), block, call);
  if (word.is_large()) checked::claim_large(block, call);  // special blocks prove themselves
}
// Nothing of its contents stays. It is no other thread's, and no observer asks for it.
TALUS_APART void wipe_block(void* block) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  if (word.is_slab()) {
    const Slab& slab = slab_at(block);
    wipe(block, slab.block_bytes);
    if (slab.states != nullptr) {
      slab.states[slab.index_of_block(block)].store_own(BlockState::freed);
    }
  } else if (word.is_large()) {
    const auto& large =
        *static_cast<LargeBlock*>(page_map.descriptor_of(reinterpret_cast<uintptr_t>(block)));
    if (!purge_pages(block, large.usable_bytes)) clear_bytes(block, large.usable_bytes);
  }
}

TALUS_APART void give_block(void* block, size_t bytes) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  if (word.is_slab()) {
    give(slab_at(block), block, bytes);
  } else if (word.is_large()) {
    checked::give_large(block);
  }
}
// The mode made the block, and proved it. Only an instance made its own.
TALUS_APART void note_allocate(ModeThread, void* block, size_t bytes) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  if (word.is_slab() && is_instance(word.owner())) {
    const Slab& slab = slab_at(block);
    const uint32_t index = slab.index_of_block(block);
    const bool is_known = slab.states != nullptr;
    if (is_known && slab.states[index].load_own() == BlockState::freed) {
      prove_zero(block, slab.block_bytes);
    }
  }
  give_block(block, bytes);
}
inline void note_free(ModeThread, void* block) noexcept { claim_block(block, "free"); }
// Its slab ends with it, and the trailer stays for observers.
TALUS_APART void note_lost(ModeThread, void* block) noexcept {
  if (!page_map.word_of(reinterpret_cast<uintptr_t>(block)).is_slab()) return;
  const Slab& slab = slab_at(block);
  size_t bytes = slab.block_bytes;
  if (slab.states != nullptr) {
    Atomic<uint8_t>& state = slab.states[slab.index_of_block(block)];
    const uint8_t before = claim_state(state);
    if ((before & BlockState::with_trailer) != 0) bytes = Trailer::read(block, slab.block_bytes);
    if (bytes != slab.block_bytes) state.store_own(BlockState::freed | BlockState::with_trailer);
  }
  clear_bytes(block, bytes);
}
inline void begin_resize(ModeThread, void* block) noexcept { claim_block(block, "realloc"); }
inline void end_resize(ModeThread, void* before, size_t usable, void* block,
                       size_t bytes) noexcept {
  if (block != nullptr) return give_block(block, bytes);
  give_block(before, usable);
}
// Sends home what the quarantine has too much.
TALUS_APART void send_surplus(ThreadCache& cache, Quarantine& quarantine) noexcept {
  while (quarantine.is_over()) {
    void* const block = quarantine.pop();
    if (block == nullptr) return;
    free_plain(&cache, block);
  }
}
// A freed block waits, or goes home, without its contents. All observers know of its end.
TALUS_APART bool divert(ModeThread thread, void* block) noexcept {
  wipe_block(block);
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  if (thread.cache == nullptr || !word.is_slab() || is_instance(word.owner())) return false;
  const Slab& slab = slab_at(block);
  if (slab.states == nullptr) return false;
  if (!Quarantine::may_wait(slab.block_bytes)) return false;
  Quarantine& quarantine = state_of(thread).quarantine;
  quarantine.push({block, word.tag()}, slab.block_bytes, Trailer::mix(block));
  send_surplus(*thread.cache, quarantine);
  return true;
}
// The blocks of a thread that waits or ends go straight to their slabs, because the caller may
// have the thread's lists only in part.
TALUS_APART void flush(ModeThread thread) noexcept {
  state_of(thread).quarantine.flush([](void* block, size_t block_bytes) noexcept {
    prove_zero(block, block_bytes);
    free_to_slab(block);
  });
}
TALUS_APART void end_thread(ModeThread thread) noexcept {
  flush(thread);
  mapped::forget_id(thread);
}

// The size in a free is exactly the one in the call that allocated.
TALUS_APART void check_call(ModeThread thread, void* block, FreeCall call) noexcept {
  checked::check_call(thread, block, call);
  if (call.bytes == FreeCall::no_size) return;
  const PageEntry word = page_map.word_anywhere(reinterpret_cast<uintptr_t>(block));
  size_t bytes = call.bytes;
  if (word.is_slab()) {
    const Slab& slab = slab_at(block);
    if (!slab.has_trailers || slab.states == nullptr) return;
    const uint8_t state = slab.states[slab.prove(block)].load_own();
    const bool has_trailer = state > (BlockState::freed | BlockState::with_trailer);
    if (has_trailer) bytes = prove_contents(block, slab.block_bytes, "free");
  } else if (SpecialBlock* special = is_special(word) ? own_sized(special_of(block)) : nullptr) {
    const SpecialOperations& operations = special->operations();
    if (operations.instance != nullptr) return;
    bytes = operations.usable_bytes(*special, block, "free");
    // A block that another maker made may hold less than it has.
    if (operations.resize_in_place == nullptr && call.bytes < bytes) return;
  }
  if (bytes != call.bytes) report::wrong_size(block, bytes, call.bytes);
}

// --- blocks with room for a trailer

// How far a fresh block may be drawn forward. What a program allocates together should lie
// together: one that visits its blocks in order takes twice the time where all of a refill is
// shuffled.
inline constexpr unsigned window_bits = 2;
// Numbers below the window, many of one random number.
class RandomPlaces {
 public:
  TALUS_FAST explicit RandomPlaces(RandomNumbers& numbers) noexcept : numbers_{numbers} {}
  TALUS_FAST size_t below(size_t bound) noexcept {
    constexpr size_t window = size_t{1} << window_bits;
    if (TALUS_UNLIKELY(bound < window)) return numbers_.below(bound);
    if (TALUS_UNLIKELY(left_ == 0)) begin();
    left_--;
    bits_ >>= window_bits;
    return bits_ & (window - 1);
  }

 private:
  // The lowest bits of a number are its least random ones.
  TALUS_FAST void begin() noexcept {
    bits_ = numbers_.next();
    left_ = 64 / window_bits - 1;
  }
  RandomNumbers& numbers_;
  uint64_t bits_ = 0;
  unsigned left_ = 0;
};
// The blocks that a refill brought come out in random order: each is drawn from the next few. Under
// the heap's lock, so that a fork finds each of them once. `block` came out first.
TALUS_APART void* shuffle(ThreadCache& cache, ClassId id, RandomNumbers& numbers,
                          void* block) noexcept {
  const size_t length = list_length(cache, id);
  if (block == nullptr || length == 0) return block;
  Held held{lock_of(cache)};
  void** const list = list_bottom(cache, id);
  RandomPlaces places{numbers};
  // One of the uppermost blocks of a list that is as long as this.
  const auto draw = [&places, list](size_t count) noexcept -> void*& {
    return list[count - 1 - places.below(count)];
  };
  void*& chosen = draw(length);
  void* const first = chosen;
  chosen = block;
  for (size_t i = length; i > 1; i--) {
    void*& other = draw(i);
    void* const last = list[i - 1];
    list[i - 1] = other;
    other = last;
  }
  return first;
}
inline void* take_small(ModeThread thread, ClassId id) noexcept {
  ThreadCache* cache = thread.cache;
  const bool is_refill = cache != nullptr && list_length(*cache, id) == 0;
  void* block = allocate_on(cache, id, Fit::exact).block;
  return is_refill ? shuffle(*cache, id, state_of(thread).quarantine.numbers, block) : block;
}
// A block in a slab; null: no memory.
inline BlockMade take_block(ModeThread thread, const BlockRequest& request) noexcept {
  ThreadCache* cache = thread.cache;
  const size_t bytes = request.bytes + trailer_bytes;
  if (request.offset != 0) {
    const AlignedPlace place{request.alignment, request.offset};
    return {allocate_small_at(cache, place, bytes), Zeroed::no};
  }
  const ClassId id = class_of_aligned(bytes, request.alignment);
  if (!is_medium(id)) return {take_small(thread, id), Zeroed::no};
  const Fit fit = request.alignment > block_alignment ? Fit::exact : Fit::near;
  return allocate_medium(cache, id, fit);
}
// Proves that a block is as its last free left it, and makes it read as zero if it must.
TALUS_APART void prepare(const BlockMade& made, const BlockRequest& request) noexcept {
  const Slab& slab = slab_at(made.block);
  const bool is_freed =
      slab.states != nullptr &&
      slab.states[slab.index_of_block(made.block)].load_own() == BlockState::freed;
  if (is_freed) {
    prove_zero(made.block, slab.block_bytes);
    if (keeps_trailers()) return;
  }
  const bool is_clean = made.zeroed == Zeroed::yes || request.zeroed == Zeroed::no;
  if (!is_clean) clear_bytes(made.block, request.bytes);
}
TALUS_APART void* allocate(ModeThread thread, const BlockRequest& request) noexcept {
  const bool is_small = request.bytes <= medium_bytes_max - trailer_bytes;
  const bool has_slab =
      is_small &&
      (request.offset != 0 ? request.bytes <= small_bytes_max - trailer_bytes
                           : has_class(request.bytes + trailer_bytes, request.alignment));
  if (has_slab) {
    const BlockMade made = take_block(thread, request);
    if (made.block != nullptr) prepare(made, request);
    if (made.block != nullptr || request.offset == 0) return made.block;
  }
  // Before the start has prepared these, such a block is an ordinary one.
  return mapped::pool.maker != nullptr ? mapped::allocate_mapped(thread, request) : nullptr;
}

}  // namespace talus::core::hardened

#endif  // TALUS_MODES_HARDENED_BLOCKS_HPP
