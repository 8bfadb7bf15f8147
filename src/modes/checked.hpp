// SPDX-License-Identifier: MIT
// modes/checked: each free and each resize proves that the program has the block.
//
// The mode keeps one state a block (slab/block_states.hpp). An allocation stores `given`, a free
// looks at the state and stores `freed`. What it finds tells a double free, whichever thread frees
// and whatever happened in between, until the block is allocated again. The address itself is
// proven first: the start of a block of a slab, or of a large block. It is proven again after the
// state changed, because the place may have become another block's in between.
//
// Owns: which calls look at states, and the answer to a wrong one. Invariants: each block that the
// program has is `given`, except blocks from before the mode, whose slabs have no states. The
// state changes before the block goes home, and after it came out. Called on: any thread, from slow
// paths, also under an instance's lock. Must not know: other modes.
#ifndef TALUS_MODES_CHECKED_HPP
#define TALUS_MODES_CHECKED_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "os/report.hpp"
#include "slab/block_states.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/purge_request.hpp"
#include "store/large.hpp"
#include "store/slab_at.hpp"
#include "cache/idle_caches.hpp"
#include "paths/alloc_slow.hpp"
#include "paths/free_slow.hpp"
#include "paths/stays.hpp"
#include "modes/chain.hpp"

namespace talus::core::checked {

// A thread that allocates without the mode, for want of memory, stores no states.
inline bool is_certain() noexcept { return !process_modes.shared_is_partial.load_acquire(); }

inline const char* maker_of(uint8_t state) noexcept {
  if (state == BlockState::given_one) return "operator new";
  return state == BlockState::given_array ? "operator new[]" : "malloc";
}
// A free or a resize found another state than `given`.
TALUS_APART void refuse(uint8_t found, const void* block, size_t bytes, const char* call) noexcept {
  if (found == BlockState::gone) report::foreign_pointer(block, call);
  const uint8_t state = BlockState::without_trailer(found);
  if (state > BlockState::given) report::wrong_call(block, bytes, maker_of(state), call);
  if (!is_certain()) return;
  if (state == BlockState::untold) report::never_given(block, bytes, call);
  if (call[0] == 'f') report::double_free(block, bytes);
  report::freed_block(block, bytes, call);
}
// A block came out of a list or a slab, and the program has it.
TALUS_APART void* refuse_given(void* block, size_t bytes) noexcept {
  if (is_certain()) report::double_free(block, bytes);
  return block;
}

// Without memory for a smaller block, a resize keeps the larger one. Then a right call tells fewer
// bytes than any block of that size would be given for.
TALUS_CONSTINIT inline Atomic<bool> shared_has_larger;

// --- blocks of slabs

TALUS_FAST Slab& slab_at(const void* block) noexcept {
  return *static_cast<Slab*>(page_map.descriptor_of_owned(reinterpret_cast<uintptr_t>(block)));
}
// The program gets this block.
TALUS_FAST void* give(const Slab& slab, void* block) noexcept {
  if (TALUS_UNLIKELY(slab.states == nullptr)) return block;
  if (TALUS_LIKELY(mark_given(slab.states[slab.index_of_block(block)]))) return block;
  return refuse_given(block, slab.block_bytes);
}
// For a claim of the block with this index: is it still there?
TALUS_FAST auto still_at(const Slab& slab, uint32_t index, const void* block) noexcept {
  return [&slab, index, block]() noexcept { return is_still_at(slab, index, block); };
}
// The program loses that block. Returns the state before, or `gone`.
TALUS_FAST uint8_t claim_at(const Slab& slab, uint32_t index, const void* block) noexcept {
  return claim_if(slab.states[index], still_at(slab, index, block));
}
// The program loses this block. Reports a pointer that is no block of it.
TALUS_FAST void claim(const Slab& slab, const void* block, const char* call) noexcept {
  if (TALUS_UNLIKELY(slab.states == nullptr)) return;
  const uint8_t before = claim_at(slab, slab.prove(block), block);
  if (TALUS_UNLIKELY(before != BlockState::given)) refuse(before, block, slab.block_bytes, call);
}

// --- large blocks

// It is `given` since it began; this matters to one that a thread kept, or that a resize left.
TALUS_APART void give_large(const void* block) noexcept {
  void* const large = page_map.descriptor_of(reinterpret_cast<uintptr_t>(block));
  static_cast<LargeBlock*>(large)->block_state.store_release(BlockState::given);
}
TALUS_APART void claim_large(void* block, const char* call) noexcept {
  LargeBlock& large = prove_large(block, call);
  const uint8_t before =
      claim_if(large.block_state, [&large, block]() noexcept { return start_of(large) == block; });
  if (before != BlockState::given) refuse(before, block, large.usable_bytes, call);
}

// --- the operations of the mode

TALUS_APART void give_block(void* block) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  if (word.is_slab()) {
    give(slab_at(block), block);
  } else if (word.is_large()) {
    give_large(block);
  }
}
TALUS_APART void claim_block(void* block, const char* call) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  if (word.is_large()) return claim_large(block, call);
  // Another thread freed it since the caller looked, and its slab has gone.
  if (word.has_no_owner()) report::foreign_pointer(block, call);
  if (word.is_slab()) claim(prove_slab(block, call), block, call);  // special ones prove themselves
}

inline void note_allocate(ModeThread, void* block, size_t) noexcept { give_block(block); }
inline void note_free(ModeThread, void* block) noexcept { claim_block(block, "free"); }
inline void note_lost(ModeThread, void* block) noexcept {
  if (!page_map.word_of(reinterpret_cast<uintptr_t>(block)).is_slab()) return;
  const Slab& slab = slab_at(block);
  if (slab.states != nullptr) claim_state(slab.states[slab.index_of_block(block)]);
}
// Another thread that frees the block meanwhile finds it freed.
inline void begin_resize(ModeThread, void* block) noexcept { claim_block(block, "realloc"); }
inline void end_resize(ModeThread, void* before, size_t usable, void* block,
                       size_t bytes) noexcept {
  if (block == nullptr && bytes < usable) shared_has_larger.store_release(true);
  give_block(block != nullptr ? block : before);
}

// --- calls that say more than an address: options check_kinds and check_sizes

constexpr uint8_t state_of(CallKind kind) noexcept {
  if (kind == CallKind::one) return BlockState::given_one;
  return kind == CallKind::array ? BlockState::given_array : BlockState::given;
}
// The same state for another kind of call.
constexpr uint8_t with_kind(uint8_t state, uint8_t kind) noexcept {
  return static_cast<uint8_t>((state & BlockState::with_trailer) | kind);
}
constexpr const char* freer_of(CallKind kind) noexcept {
  if (kind == CallKind::one) return "operator delete";
  return kind == CallKind::array ? "operator delete[]" : "free";
}

// The state of a block that the program has or claims to have. Null: the process keeps none of it.
struct KeptState {
  Atomic<uint8_t>* state = nullptr;
  size_t block_bytes = 0;
  size_t least_bytes = 0;  // of a request that the block serves

  uint8_t load() const noexcept {
    return state != nullptr ? state->load_acquire() : BlockState::given;
  }
  // Does nothing if another thread frees the block meanwhile.
  void replace(uint8_t expected, uint8_t next) const noexcept {
    if (state != nullptr) state->cas_acq_rel(expected, next);
  }
};
// The fewest bytes that a call may ask for and get a block of the slab. A medium block of the next
// class may serve (cache/medium_lists.hpp).
inline size_t least_told_bytes(const Slab& slab) noexcept {
  const size_t index = index_of(slab.class_id);
  if (index < 2 || !is_medium(ClassId{static_cast<uint8_t>(index - 1)})) return slab.least_bytes;
  const size_t least = size_class_table.rows[index - 2].block_bytes + 1;
  return least < slab.least_bytes ? least : slab.least_bytes;
}
inline KeptState state_at(void* block, const char* call) noexcept {
  const PageEntry word = page_map.word_anywhere(reinterpret_cast<uintptr_t>(block));
  if (word.is_slab()) {
    const Slab& slab = prove_slab(block, call);
    if (slab.states == nullptr) return {};
    return {&slab.states[slab.prove(block)], slab.block_bytes, least_told_bytes(slab)};
  }
  if (!word.is_large()) return {};
  LargeBlock& large = prove_large(block, call);
  const size_t usable = large.usable_bytes;
  return {&large.block_state, usable, usable - os::page_bytes() + 1};
}

TALUS_APART void keep_kind(ModeThread, void* block, CallKind kind) noexcept {
  if (!options.check_kinds) return;
  const KeptState state = state_at(block, "free");
  const uint8_t found = state.load();
  if (BlockState::without_trailer(found) != BlockState::given) return;
  state.replace(found, with_kind(found, state_of(kind)));
}
// Then the block counts as one of C's, so that the free that follows finds nothing wrong.
TALUS_APART void check_call(ModeThread, void* block, FreeCall call) noexcept {
  const KeptState state = state_at(block, "free");
  const uint8_t whole = state.load();
  const uint8_t found = BlockState::without_trailer(whole);
  if (found < BlockState::given || state.block_bytes == 0) return;  // the free itself finds it
  if (options.check_kinds) {
    if (found != state_of(call.kind)) {
      report::wrong_call(block, state.block_bytes, maker_of(found), freer_of(call.kind));
    }
    state.replace(whole, with_kind(whole, BlockState::given));
  }
  if (!options.check_sizes || call.bytes == FreeCall::no_size) return;
  const bool is_too_small = call.bytes < state.least_bytes && !shared_has_larger.load_acquire();
  if (call.bytes > state.block_bytes || is_too_small) {
    report::wrong_size(block, state.block_bytes, call.bytes);
  }
}

TALUS_APART void check_look(ModeThread, void* block, const char* call) noexcept {
  const KeptState state = state_at(block, call);
  const uint8_t found = BlockState::without_trailer(state.load());
  if (found < BlockState::given) refuse(found, block, state.block_bytes, call);
}

// --- malloc and free of threads in this mode alone

TALUS_APART void* allocate_above_fast(size_t bytes, ThreadContext& context) noexcept {
  void* block = take_at_hand(bytes, *static_cast<ModeContext&>(context).cache);
  if (block == nullptr) return allocate_usual(bytes, context);
  give_block(block);
  return block;
}
// Pops from the thread's list, as the fast path of a plain thread. All that leaves this function
// and free_alone() is a jump, so they save no registers.
TALUS_APART void* allocate_alone(size_t bytes, ThreadContext& context) noexcept {
  ThreadCache* cache = static_cast<ModeContext&>(context).cache;
  if (TALUS_UNLIKELY(cache == nullptr)) return allocate_usual(bytes, context);
  if (TALUS_UNLIKELY(bytes > fast_bytes_max)) return allocate_above_fast(bytes, context);
  const size_t index = index_of(small_class_of(bytes));
  void* block = nullptr;
  {
    const BriefWork work{*cache};
    if (TALUS_LIKELY(work.may_begin)) block = pop_from_list(fast_list_of(*cache, index));
  }
  if (TALUS_UNLIKELY(block == nullptr)) return allocate_usual(bytes, context);
  return give(slab_at(block), block);
}

// Most blocks grow by a few bytes and stay where they are.
TALUS_APART bool stays_alone(void* block, size_t bytes) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  const auto [word, descriptor] = page_map.look(address);
  if (word.is_slab()) {
    const Slab& slab = *static_cast<Slab*>(descriptor);
    if (bytes > slab.block_bytes || bytes < slab.least_bytes || slab.states == nullptr)
      return false;
    const uint32_t index = slab.prove(block);
    const bool is_given = slab.states[index].load_acquire() == BlockState::given;
    return is_given && is_still_at(slab, index, block);
  }
  if (word.bits() != PageEntry::large().bits()) return false;
  const auto& large = *static_cast<LargeBlock*>(descriptor);
  return large.block_state.load_acquire() == BlockState::given &&
         stays_as_it_is(large, address, bytes);
}

// A block whose state says that it is freed goes home.
TALUS_APART void free_claimed(void* block, ThreadCache& cache, PageEntry word) noexcept {
  if (word.owner() != cache.id && take_in_at_hand(cache, block, word)) return;
  {
    const Working working{cache};
    free_plain(&cache, block);
  }
  offer_work();
}
TALUS_APART void free_refused(void* block, ThreadCache& cache, PageEntry word,
                              uint8_t state) noexcept {
  refuse(state, block, slab_at(block).block_bytes, "free");
  free_claimed(block, cache, word);
}
TALUS_APART void free_of_other(void* block, ThreadCache& cache, PageEntry word) noexcept {
  claim(prove_slab(block, "free"), block, "free");
  free_claimed(block, cache, word);
}
TALUS_APART void free_above_fast(void* block, ThreadCache& cache, PageEntry word) noexcept {
  if (push_slow(cache, block, word.tag() - fast_class_count)) return;
  free_claimed(block, cache, word);
}
template <typename Claim>
TALUS_FAST void free_alone_by(void* block, ThreadContext& context) noexcept {
  ThreadCache* cache = static_cast<ModeContext&>(context).cache;
  PageMap::Place place;
  // leaves: null, beyond the page map's window, no address of ours
  if (TALUS_UNLIKELY(!page_map.find_near(reinterpret_cast<uintptr_t>(block), place))) {
    return free_usual(block, context);
  }
  const auto [word, descriptor] = place.look();
  if (TALUS_UNLIKELY(!word.is_slab() || cache == nullptr)) return free_usual(block, context);
  const Slab& slab = *static_cast<Slab*>(descriptor);
  if (TALUS_UNLIKELY(slab.states == nullptr)) return free_usual(block, context);
  if (TALUS_UNLIKELY(word.owner() != cache->id)) return free_of_other(block, *cache, word);
  const uint32_t at = slab.prove(block);
  const uint8_t before = Claim::claim_if(slab.states[at], still_at(slab, at, block));
  if (TALUS_UNLIKELY(before != BlockState::given)) {
    return free_refused(block, *cache, word, before);
  }
  const size_t index = word.tag();
  if (TALUS_UNLIKELY(index >= fast_class_count)) return free_above_fast(block, *cache, word);
  bool is_pushed = false;
  {
    const BriefWork work{*cache};
    is_pushed = work.may_begin && push_within(fast_list_of(*cache, index), block);
  }
  if (TALUS_UNLIKELY(!is_pushed)) free_claimed(block, *cache, word);
}
TALUS_APART void free_beside(void* block, ThreadContext& context) noexcept {
  free_alone_by<ClaimBeside>(block, context);
}
TALUS_APART void free_alone(void* block, ThreadContext& context) noexcept {
  if (TALUS_UNLIKELY(!os::System::has_one_thread())) return free_beside(block, context);
  free_alone_by<ClaimAlone>(block, context);
}

constexpr Mode make_mode() noexcept {
  Mode mode;
  mode.name = "checked";
  mode.note_allocate = note_allocate;
  mode.note_free = note_free;
  mode.note_lost = note_lost;
  mode.note_kind = keep_kind;
  mode.check_call = check_call;
  mode.note_look = check_look;
  mode.begin_resize = begin_resize;
  mode.end_resize = end_resize;
  mode.allocate_alone = allocate_alone;
  mode.free_alone = free_alone;
  mode.stays_alone = stays_alone;
  return mode;
}
inline constexpr Mode mode = make_mode();

// Before the first block of the process. Later calls do nothing.
TALUS_APART void begin() noexcept {
  if (is_on(mode)) return;
  shared_keeps_block_states.store_release(true);
  begin_mode(mode);
}

}  // namespace talus::core::checked

#endif  // TALUS_MODES_CHECKED_HPP
