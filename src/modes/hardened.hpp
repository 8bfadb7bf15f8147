// SPDX-License-Identifier: MIT
// modes/hardened: as checked, and what blocks hold is protected.
//
// Owns: the mode, and the short ways of its threads through malloc, free and realloc. Invariants:
// as in modes/hardened_blocks.hpp, which has the longer ways. All that leaves a short way is a
// jump. Called on: any thread, from slow paths. Must not know: other modes.
#ifndef TALUS_MODES_HARDENED_HPP
#define TALUS_MODES_HARDENED_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "slab/block_states.hpp"
#include "slab/contents.hpp"
#include "slab/contents_check.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/purge_request.hpp"
#include "heap/special.hpp"
#include "store/slab_at.hpp"
#include "cache/idle_caches.hpp"
#include "cache/medium_lists.hpp"
#include "paths/alloc_slow.hpp"
#include "paths/free_slow.hpp"
#include "modes/chain.hpp"
#include "modes/checked.hpp"
#include "modes/hardened_blocks.hpp"
#include "modes/hardened_large.hpp"
#include "modes/mapped.hpp"
#include "modes/quarantine.hpp"

namespace talus::core::hardened {

TALUS_CONSTINIT inline Atomic<size_t> shared_place;  // of the mode in the chain; set at its begin

// The rest of an allocation: the block came out of a list. The second does what the first leaves.
TALUS_APART void* finish_oddly(void* block, size_t bytes) noexcept {
  const Slab& slab = slab_at(block);
  if (slab.states == nullptr) return block;
  Atomic<uint8_t>& state = slab.states[slab.index_of_block(block)];
  const uint8_t before = state.load_own();
  if (before == BlockState::freed) {
    prove_zero(block, slab.block_bytes);
  } else if (before != BlockState::untold) {
    return checked::refuse_given(block, slab.block_bytes);
  }
  if (!slab.has_trailers) {
    state.store_release(BlockState::given);
    return block;
  }
  Trailer::write(block, slab.block_bytes, bytes);
  state.store_release(BlockState::given | BlockState::with_trailer);
  return block;
}
TALUS_FAST void* finish(void* block, size_t bytes) noexcept {
  PageMap::Place place;
  if (TALUS_UNLIKELY(!page_map.find_near(reinterpret_cast<uintptr_t>(block), place))) {
    return finish_oddly(block, bytes);
  }
  const Slab& slab = *static_cast<Slab*>(place.descriptor());
  if (TALUS_UNLIKELY(slab.states == nullptr)) return block;
  Atomic<uint8_t>& state = slab.states[slab.index_of_block(block)];
  const uint8_t before = state.load_own();
  const size_t block_bytes = slab.block_bytes;
  bool is_odd = before > BlockState::freed || !slab.has_trailers;
  if (before == BlockState::freed) is_odd |= !is_zero(block, block_bytes);
  if (TALUS_UNLIKELY(is_odd)) return finish_oddly(block, bytes);
  Trailer::write(block, block_bytes, bytes);
  state.store_release(BlockState::given | BlockState::with_trailer);
  return block;
}
// The block that comes next is read and written then. The program does much in between.
TALUS_FAST void* pop_and_fetch_next(ThreadList list) noexcept {
  void* const block = pop_from_list(list);
  __builtin_prefetch(list.top.load_own()[-1], 1);
  return block;
}
TALUS_APART void* allocate_above_fast(size_t bytes, ThreadContext& context) noexcept {
  if (bytes > medium_bytes_max - trailer_bytes) return allocate_usual(bytes, context);
  ThreadCache& cache = *static_cast<ModeContext&>(context).cache;
  void* block = pop_slow(slow_class_of(bytes + trailer_bytes), Fit::near, cache);
  return block != nullptr ? finish(block, bytes) : allocate_usual(bytes, context);
}
TALUS_APART void* allocate_alone(size_t bytes, ThreadContext& context) noexcept {
  ThreadCache* cache = static_cast<ModeContext&>(context).cache;
  if (TALUS_UNLIKELY(cache == nullptr)) return allocate_usual(bytes, context);
  if (TALUS_UNLIKELY(bytes > fast_bytes_max - trailer_bytes)) {
    return allocate_above_fast(bytes, context);
  }
  const size_t index = index_of(small_class_of(bytes + trailer_bytes));
  void* block = nullptr;
  {
    const BriefWork work{*cache};
    if (TALUS_LIKELY(work.may_begin)) block = pop_and_fetch_next(fast_list_of(*cache, index));
  }
  if (TALUS_UNLIKELY(block == nullptr)) return allocate_usual(bytes, context);
  return finish(block, bytes);
}

inline constexpr uint8_t given_with_trailer = BlockState::given | BlockState::with_trailer;
// Most blocks grow by a few bytes and stay where they are. What a block has more is zero. Another
// thread that frees the block meanwhile finds it freed.
TALUS_APART bool stays_alone(void* block, size_t bytes) noexcept {
  const auto [word, descriptor] = page_map.look(reinterpret_cast<uintptr_t>(block));
  if (is_special(word)) return stays_on_page(block, bytes);
  if (!word.is_slab()) return false;
  const Slab& slab = *static_cast<Slab*>(descriptor);
  if (slab.states == nullptr || !slab.has_trailers) return false;
  if (bytes > slab.block_bytes - trailer_bytes || bytes < slab.least_bytes) return false;
  const uint32_t index = slab.prove(block);
  const auto is_there = checked::still_at(slab, index, block);
  if (!claim_only(slab.states[index], given_with_trailer, is_there)) return false;
  const size_t before = prove_contents(block, slab.block_bytes, "realloc");
  if (bytes > before) clear_few(static_cast<char*>(block) + before, bytes - before);
  Trailer::write(block, slab.block_bytes, bytes);
  slab.states[index].store_release(given_with_trailer);
  return true;
}

// The thread's part of the mode; null: the slow way makes it.
TALUS_FAST State* state_at_hand(const ModeContext& context) noexcept {
  return static_cast<State*>(context.states->shared_of[shared_place.load_init()].load_own());
}
// A block that does not wait goes home.
TALUS_APART void free_now(void* block, ThreadCache& cache) noexcept {
  const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
  if (word.owner() != cache.id && take_in_at_hand(cache, block, word)) return;
  {
    const Working working{cache};
    free_plain(&cache, block);
  }
  offer_work();
}
// The blocks that waited longest go on the lists of the thread. False: one has another way to go.
TALUS_FAST bool push_surplus(ThreadCache& cache, Quarantine& quarantine) noexcept {
  size_t count = 0;
  do {
    if (TALUS_UNLIKELY(quarantine.is_empty())) return false;
    const WaitingBlock oldest = quarantine.oldest();
    const size_t tag = oldest.tag();
    if (TALUS_UNLIKELY(tag >= fast_class_count)) return false;
    void* const block = oldest.block();
    const ThreadList list = fast_list_of(cache, tag);
    void** const top = list.top.load_own();
    const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
    const bool has_room = top != list.limit && word.owner() == cache.id;
    if (TALUS_UNLIKELY(!has_room)) return false;
    quarantine.forget_oldest(oldest.block_bytes());
    *top = block;
    list.top.store_own(top + 1);
  } while (quarantine.has_surplus(++count));
  return true;
}
// The quarantine holds too much.
TALUS_APART void free_surplus(ThreadCache& cache, Quarantine& quarantine) noexcept {
  bool is_done = false;
  {
    const BriefWork work{cache};
    if (TALUS_LIKELY(work.may_begin)) is_done = push_surplus(cache, quarantine);
  }
  if (TALUS_LIKELY(is_done)) return;
  {
    const Working working{cache};
    send_surplus(cache, quarantine);
  }
  offer_work();
}
// A wiped block waits.
TALUS_FAST void wait(WaitingBlock block, size_t block_bytes, uint64_t mixed, ThreadCache& cache,
                     Quarantine& quarantine) noexcept {
  bool has_begun = false, is_over = false;
  if (TALUS_LIKELY(Quarantine::may_wait(block_bytes))) {
    const BriefWork work{cache};
    has_begun = work.may_begin;
    if (TALUS_LIKELY(has_begun)) is_over = quarantine.push(block, block_bytes, mixed);
  }
  if (TALUS_UNLIKELY(!has_begun)) return free_now(block.block(), cache);
  if (TALUS_UNLIKELY(is_over)) free_surplus(cache, quarantine);
}
// A block that the short way has no code for: another heap's, a long one, one with long canary
// bytes, one beyond the page map's window. What is not as it should be takes the usual way, which
// proves all of it again.
TALUS_APART void free_oddly(void* block, ThreadContext& found) noexcept {
  auto& context = static_cast<ModeContext&>(found);
  const auto [word, descriptor] = page_map.look(reinterpret_cast<uintptr_t>(block));
  State* const state = state_at_hand(context);
  const bool is_usual = context.cache == nullptr || state == nullptr || !word.is_slab() ||
                        is_instance(word.owner()) ||
                        static_cast<Slab*>(descriptor)->states == nullptr;
  if (is_usual) return free_usual(block, context);
  const Slab& slab = prove_slab(block, "free");
  const uint8_t before = checked::claim_at(slab, slab.prove(block), block);
  prove_claimed(before, block, slab.block_bytes, "free");
  wipe(block, slab.block_bytes);
  wait({block, index_of(slab.class_id)}, slab.block_bytes, Trailer::mix(block), *context.cache,
       state->quarantine);
}
// All that leaves this function is a jump.
template <typename Claim>
TALUS_FAST void free_alone_by(void* block, ThreadContext& found) noexcept {
  auto& context = static_cast<ModeContext&>(found);
  ThreadCache* cache = context.cache;
  PageMap::Place place;
  // leaves: null, beyond the page map's window, no address of ours
  if (TALUS_UNLIKELY(!page_map.find_near(reinterpret_cast<uintptr_t>(block), place))) {
    return free_oddly(block, context);
  }
  const auto [word, descriptor] = place.look();
  State* const state = state_at_hand(context);
  const bool is_ready = cache != nullptr && state != nullptr;
  if (TALUS_UNLIKELY(!is_ready || word.owner() != cache->id)) return free_oddly(block, context);
  const Slab& slab = *static_cast<Slab*>(descriptor);
  const size_t block_bytes = slab.block_bytes;
  const bool is_odd = slab.states == nullptr || block_bytes > clear_here_bytes_max;
  if (TALUS_UNLIKELY(is_odd)) return free_oddly(block, context);
  const uint32_t index = slab.prove(block);
  const uint64_t mixed = Trailer::mix(block);
  if (TALUS_UNLIKELY(!Trailer::is_whole_here(block, block_bytes, mixed))) {
    return free_oddly(block, context);
  }
  const bool is_right = Claim::claim_only(slab.states[index], given_with_trailer,
                                          checked::still_at(slab, index, block));
  if (TALUS_UNLIKELY(!is_right)) return free_oddly(block, context);
  clear_block(block, block_bytes);
  wait({block, word.tag()}, block_bytes, mixed, *cache, state->quarantine);
}
TALUS_APART void free_beside(void* block, ThreadContext& context) noexcept {
  free_alone_by<ClaimBeside>(block, context);
}
TALUS_APART void free_alone(void* block, ThreadContext& context) noexcept {
  if (TALUS_UNLIKELY(!os::System::has_one_thread())) return free_beside(block, context);
  free_alone_by<ClaimAlone>(block, context);
}

// The process ends: what the calling thread's blocks hold is proven, because no call will.
TALUS_APART void prove_waiting() noexcept {
  ModeContext* context = current_modes();
  const State* state = context == nullptr ? nullptr : state_at_hand(*context);
  if (state == nullptr || context->cache == nullptr) return;
  state->quarantine.visit(
      [](const void* block, size_t block_bytes) noexcept { prove_zero(block, block_bytes); });
}

constexpr Mode make_mode() noexcept {
  Mode mode;
  mode.name = "hardened";
  mode.state_bytes = sizeof(State);
  mode.note_allocate = note_allocate;
  mode.note_free = note_free;
  mode.note_lost = note_lost;
  mode.note_kind = checked::keep_kind;
  mode.check_call = check_call;
  mode.note_look = checked::check_look;
  mode.begin_resize = begin_resize;
  mode.end_resize = end_resize;
  mode.allocate = allocate;
  mode.divert = divert;
  mode.diverts_all = true;
  mode.allocate_alone = allocate_alone;
  mode.free_alone = free_alone;
  mode.stays_alone = stays_alone;
  mode.flush = flush;
  mode.end_thread = end_thread;
  mode.renew_in_child = mapped::forget_id;  // the thread has another id there
  return mode;
}
inline constexpr Mode mode = make_mode();

// On, unless the user said otherwise.
inline void turn_on(OptionId id, bool& value) noexcept {
  if (option_origins[id].source == OptionSource::builtin) value = true;
}

// Before the first block of the process. Later calls do nothing.
TALUS_APART void begin() noexcept {
  if (is_on(mode)) return;
  contents_secret.words[0] = os::System::random_bits();
  contents_secret.words[1] = mix_bits(contents_secret.words[0] + 1) | 1;
  shared_keeps_trailers.store_release(true);
  shared_keeps_block_states.store_release(true);
  turn_on(OptionId::guard_pages, options.guard_pages);
  turn_on(OptionId::keep_classes, options.keep_classes);
  shared_exact_sizes.store_init(true);
  shared_inside_fast_bytes.store_init(0);
  begin_mode(mode);
  shared_place.store_release(place_of(&mode));
}

}  // namespace talus::core::hardened

#endif  // TALUS_MODES_HARDENED_HPP
