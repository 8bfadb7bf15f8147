// SPDX-License-Identifier: MIT
// heap/modes: what a process may switch on, and how slow paths ask it.
//
//   observe   is told of each block once, when it begins, ends, or changes its size
//   replace   makes a block itself, as a special block (heap/special.hpp)
//   divert    takes a freed block instead of the lists, and frees it later
//
// A mode is a table of operations. A chain has the modes of a process, in the order in which they
// were switched on. All observers are told. The first mode that makes a block, or takes a freed
// one, ends the search. Threads in a chain have a context of their own before their cache, so the
// fast paths know nothing of modes (docs/decisions/0022).
// Owns: the table, the chain, the contexts, and what a mode has for each context. Invariants: an
// observer is told of a block's end before its address can serve again. A place of a chain has one
// mode for ever; whether it is on is a bit. A state has one writer, the thread of its context, if
// the context has a cache. It outlives the thread, and the next thread with the cache goes on.
// Called on: any thread, from slow paths. Must not know: any mode.
#ifndef TALUS_HEAP_MODES_HPP
#define TALUS_HEAP_MODES_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/block_states.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"

namespace talus::core {

// The calling thread, as a mode sees it.
struct ModeThread {
  ThreadCache* cache = nullptr;  // null: the thread has none; all such threads share one state
  void* state = nullptr;         // the mode's own; null if the mode has no states
};

// Which calls make and free a block.
enum class CallKind : uint8_t { c, one, array };  // malloc, new, new[]

// What a call that frees says of the block.
struct FreeCall {
  static constexpr size_t no_size = ~size_t{0};
  CallKind kind = CallKind::c;
  size_t bytes = no_size;
};

// The operations of a mode. Each may be null. They allocate nothing. Most may be called under the
// lock of an instance, so they take no lock but that of space. The exceptions: end_thread, flush,
// and divert with a block of no instance.
struct Mode {
  const char* name = "";
  // What the mode has for each context: zero at first. A context without memory for it is not in
  // the mode.
  size_t state_bytes = 0;
  void (*state_made)(ModeThread thread) noexcept = nullptr;
  // Observe. `bytes` is what the program asked for. A free comes before the block goes.
  void (*note_allocate)(ModeThread thread, void* block, size_t bytes) noexcept = nullptr;
  // The same for a block that reads as zero up to `bytes`. Null: note_allocate is told.
  void (*note_zeroed)(ModeThread thread, void* block, size_t bytes) noexcept = nullptr;
  void (*note_free)(ModeThread thread, void* block) noexcept = nullptr;
  // The same for a block that ends with its instance, whatever the program did with it. After a
  // fork it may be one that a thread of the parent was just making. Null: note_free is told.
  void (*note_lost)(ModeThread thread, void* block) noexcept = nullptr;
  // C++ made the block; after note_allocate. C++ frees it, or a size is given; before note_free.
  void (*note_kind)(ModeThread thread, void* block, CallKind kind) noexcept = nullptr;
  void (*check_call)(ModeThread thread, void* block, FreeCall call) noexcept = nullptr;
  // The program asks for the size of this block, by this call.
  void (*note_look)(ModeThread thread, void* block, const char* call) noexcept = nullptr;
  // A block is about to be resized. It may end, and its address serve again.
  void (*begin_resize)(ModeThread thread, void* block) noexcept = nullptr;
  // The result of that. The block `before` had `usable` bytes. Null: it lives on as it was.
  void (*end_resize)(ModeThread thread, void* before, size_t usable, void* block,
                     size_t bytes) noexcept = nullptr;
  // Does the mode know of no block in a slab outside instances? Then a resize of such a block need
  // not be told: one that moves is an allocation and a free. Asked of modes that make do with
  // two-sided lists.
  bool is_without_slabs = false;
  // In a resize: these bytes of the old block are read no more, and go. They were copied to the new
  // block, or a smaller size cuts them off.
  void (*note_cut)(ModeThread thread, void* at, size_t bytes) noexcept = nullptr;
  // Batches. A mode with these leaves most blocks to two-sided lists (heap/sides.hpp), and diverts
  // none. While all modes that are on are such, they are told of blocks in slabs only at events.
  // How many blocks of a class may begin before one that the mode wants to be told of. 0: the next.
  // By class, so that it does not matter in which order classes ask.
  size_t (*blocks_until_event)(ModeThread thread, ClassId id) noexcept = nullptr;
  // This number of blocks begins about now, and no mode is told of them one by one. It is at most
  // what the mode said.
  void (*note_blocks)(ModeThread thread, ClassId id, size_t blocks) noexcept = nullptr;
  // Replace. Null: an ordinary block will do. A new block reads as zero if the request says so.
  // Never under an instance's lock.
  void* (*allocate)(ModeThread thread, const BlockRequest& request) noexcept = nullptr;
  // Divert. True: the mode has the block, and frees it later by free_plain(). Blocks of
  // instances are not offered, because an instance may end with all its blocks.
  bool (*divert)(ModeThread thread, void* block) noexcept = nullptr;
  // May blocks of instances be offered as well? Most go home whatever the answer is.
  bool diverts_all = false;
  // Ways of its own through malloc and free, while this mode alone is on. They note what
  // note_allocate and note_free would, or end in the usual ways (allocate_usual, free_usual).
  void* (*allocate_alone)(size_t bytes, ThreadContext& context) noexcept = nullptr;
  void (*free_alone)(void* block, ThreadContext& context) noexcept = nullptr;
  // Is this a block of the program that serves `bytes` as it is? Answers no when in doubt.
  bool (*stays_alone)(void* block, size_t bytes) noexcept = nullptr;
  // What the state has goes home; the thread goes on. Another thread may call it while the owner is
  // idle.
  void (*flush)(ModeThread thread) noexcept = nullptr;
  // The thread ends, or the one that a fork left behind: what the state has goes home.
  void (*end_thread)(ModeThread thread) noexcept = nullptr;
  // In the child of a fork, for the thread that goes on.
  void (*renew_in_child)(ModeThread thread) noexcept = nullptr;
};

inline constexpr size_t modes_max = 8;

struct ModeChain {
  Atomic<const Mode*> shared_modes[modes_max] = {};  // set before its bit, and constant then
  Atomic<uint32_t> shared_on;                        // a bit a place
  // Of these, the ones that make blocks, and the ones that divert them. For a quick no.
  Atomic<uint32_t> shared_making, shared_diverting;
  Atomic<const Mode*> shared_alone;      // the only mode that is on, if it has ways of its own
  Atomic<bool> shared_is_partial;        // a thread had no memory for a context, and is in no mode
  Atomic<bool> shared_is_without_slabs;  // all that are on are (Mode::is_without_slabs)

  bool is_empty() const noexcept { return shared_on.load_acquire() == 0; }
};

// The modes of the process. Threads get a context of it when they begin (modes/chain.hpp).
TALUS_CONSTINIT inline ModeChain process_modes;

// A thread works without the modes, for want of memory. It stores no states and no trailers.
TALUS_APART void note_partial() noexcept {
  process_modes.shared_is_partial.store_release(true);
  shared_keeps_trailers.store_release(false);
}

// What each mode has, by its place; null: nothing yet. Set once, under the space lock.
struct ModeStates {
  Atomic<void*> shared_of[modes_max] = {};
};

// Stands before a cache. Its lists stay empty and its id matches nothing, so every call takes the
// slow path.
struct ModeContext : ThreadContext {
  ThreadCache* cache = nullptr;  // constant; null: any thread that has lost its cache
  ModeStates* states = nullptr;  // constant; both contexts of a cache have the same
  ModeStates own_states;
};

// Makes a closed context of modes.
inline void begin_mode_context(ModeContext& context, ThreadCache* cache, ModeStates& states,
                               const ContextOperations& operations) noexcept {
  context.cache = cache;
  context.states = &states;
  close_context(context, operations);
}
inline ThreadCache* cache_of_mode_context(ThreadContext& context) noexcept {
  return static_cast<ModeContext&>(context).cache;
}

// Makes the state of a mode for a context; null: no memory.
TALUS_APART void* make_state(ModeContext& context, size_t place, const Mode& mode) noexcept {
  Atomic<void*>& state = context.states->shared_of[place];
  {
    Held held{space.lock()};
    if (void* before = state.load_own()) return before;  // under the lock
    void* memory = space.take_metadata(held, mode.state_bytes);
    if (void* before = state.load_own()) return before;  // space let others in meanwhile
    if (memory != nullptr) state.store_release(memory);
  }
  if (state.load_own() == nullptr) {
    note_partial();
    return nullptr;
  }
  if (mode.state_made != nullptr) mode.state_made({context.cache, state.load_own()});
  return state.load_own();
}

// Calls act(mode, thread) for each mode that is on and has this operation, in the chain's order,
// until one answers true. Returns whether one did.
template <auto Operation, typename Act>
TALUS_FAST bool ask_modes(ModeContext& context, Act act) noexcept {
  const ModeChain& chain = *context.operations->modes;
  for (uint32_t left = chain.shared_on.load_acquire(); left != 0; left &= left - 1) {
    const size_t place = lowest_bit(left);
    const Mode& mode = *chain.shared_modes[place].load_init();  // its bit was acquired
    if (mode.*Operation == nullptr) continue;
    void* state = context.states->shared_of[place].load_acquire();
    if (TALUS_UNLIKELY(state == nullptr) && mode.state_bytes != 0) {
      state = make_state(context, place, mode);
      if (state == nullptr) continue;
    }
    if (act(mode, ModeThread{context.cache, state})) return true;
  }
  return false;
}
// Calls the operation of each mode that is on and has it.
template <auto Operation, typename... With>
TALUS_FAST void tell_modes(ModeContext& context, With... with) noexcept {
  ask_modes<Operation>(context, [=](const Mode& mode, ModeThread thread) noexcept {
    (mode.*Operation)(thread, with...);
    return false;
  });
}
// The same for the modes of the process that have a state there, even if they are off by now.
template <auto Operation>
void tell_states(ModeContext& context) noexcept {
  for (size_t place = 0; place < modes_max; place++) {
    void* state = context.states->shared_of[place].load_acquire();
    if (state == nullptr) continue;
    const Mode& mode = *process_modes.shared_modes[place].load_acquire();
    if (mode.*Operation != nullptr) (mode.*Operation)(ModeThread{context.cache, state});
  }
}

// The same as current_modes(), for a context with operations and without modes. The probe context
// may lie there in the middle of a slow path (cache/idle_caches.hpp). No mode must miss a call for
// that.
TALUS_APART ModeContext* modes_behind(ThreadContext& found) noexcept {
  if (!found.operations->is_probe) return nullptr;
  ThreadContext* context = this_cache->idle_probe.shared_before.load_acquire();
  const bool has_modes = context->operations != nullptr && context->operations->modes != nullptr;
  return has_modes ? static_cast<ModeContext*>(context) : nullptr;
}
// The calling thread's context, if it has modes; null: it has none.
TALUS_FAST ModeContext* current_modes() noexcept {
  ThreadContext& context = current_context();
  if (TALUS_LIKELY(context.operations == nullptr)) return nullptr;
  if (context.operations->modes != nullptr) return static_cast<ModeContext*>(&context);
  return modes_behind(context);
}

// Is a mode of the calling thread told of blocks that end?
inline bool is_told_of_frees() noexcept {
  ModeContext* context = current_modes();
  return context != nullptr &&
         ask_modes<&Mode::note_free>(*context, [](const Mode&, ModeThread) { return true; });
}

// --- observe -------------------------------------------------------------------------------------

TALUS_APART void tell_allocate(ModeContext& context, void* block, size_t bytes) noexcept {
  tell_modes<&Mode::note_allocate>(context, block, bytes);
}
TALUS_APART void tell_zeroed(ModeContext& context, void* block, size_t bytes) noexcept {
  ask_modes<&Mode::note_allocate>(context, [=](const Mode& mode, ModeThread thread) noexcept {
    (mode.note_zeroed != nullptr ? mode.note_zeroed : mode.note_allocate)(thread, block, bytes);
    return false;
  });
}
TALUS_APART void tell_lost(ModeContext& context, void* block) noexcept {
  ask_modes<&Mode::note_free>(context, [=](const Mode& mode, ModeThread thread) noexcept {
    (mode.note_lost != nullptr ? mode.note_lost : mode.note_free)(thread, block);
    return false;
  });
}
TALUS_APART void tell_cut(ModeContext& context, void* at, size_t bytes) noexcept {
  tell_modes<&Mode::note_cut>(context, at, bytes);
}
TALUS_APART void tell_free(ModeContext& context, void* block) noexcept {
  tell_modes<&Mode::note_free>(context, block);
}
TALUS_APART void tell_begin_resize(ModeContext& context, void* block) noexcept {
  tell_modes<&Mode::begin_resize>(context, block);
}
TALUS_APART void tell_end_resize(ModeContext& context, void* before, size_t usable, void* block,
                                 size_t bytes) noexcept {
  tell_modes<&Mode::end_resize>(context, before, usable, block, bytes);
}

// Tells the modes of the calling thread of a new block; null: there was no memory.
TALUS_FAST void note_allocate(void* block, size_t bytes) noexcept {
  ModeContext* context = current_modes();
  if (context != nullptr && block != nullptr) tell_allocate(*context, block, bytes);
}
// Of one that reads as zero up to `bytes`.
TALUS_FAST void note_zeroed(void* block, size_t bytes) noexcept {
  ModeContext* context = current_modes();
  if (context != nullptr && block != nullptr) tell_zeroed(*context, block, bytes);
}
// Of bytes that a resize takes from a block.
TALUS_FAST void note_cut(void* at, size_t bytes) noexcept {
  if (ModeContext* context = current_modes()) tell_cut(*context, at, bytes);
}
// Of a block that is about to go.
TALUS_FAST void note_free(void* block) noexcept {
  if (ModeContext* context = current_modes()) tell_free(*context, block);
}
// Of a block that ends with its instance.
TALUS_FAST void note_lost(void* block) noexcept {
  if (ModeContext* context = current_modes()) tell_lost(*context, block);
}
// Of a block that is about to be resized, and then of the result. Null: it lives on as it was.
TALUS_FAST void begin_resize(void* block) noexcept {
  if (ModeContext* context = current_modes()) tell_begin_resize(*context, block);
}
TALUS_FAST void end_resize(void* before, size_t usable, void* block, size_t bytes) noexcept {
  if (ModeContext* context = current_modes()) {
    tell_end_resize(*context, before, usable, block, bytes);
  }
}

// For calls that know more than malloc and free.
TALUS_APART void note_kind(void* block, CallKind kind) noexcept {
  ModeContext* context = current_modes();
  if (context != nullptr && block != nullptr) tell_modes<&Mode::note_kind>(*context, block, kind);
}
// A new thread gets its context of modes here. Its caller frees by the old one, which asks for the
// cache again: by the new one the block may be the thread's own, as its cache was another's.
TALUS_APART void check_call(void* block, FreeCall call) noexcept {
  ThreadContext& found = current_context();
  if (is_of_new_thread(found) && !process_modes.is_empty()) cache_behind(found);  // for its modes
  if (ModeContext* context = current_modes()) tell_modes<&Mode::check_call>(*context, block, call);
}

// For calls that ask for the size of a block of the program.
TALUS_APART void note_look(void* block, const char* call) noexcept {
  if (ModeContext* context = current_modes()) tell_modes<&Mode::note_look>(*context, block, call);
}

// The only mode of a context that is no cache, if that mode has ways of its own; null: the usual.
TALUS_FAST const Mode* mode_alone(const ThreadContext& context) noexcept {
  const ModeChain* chain = context.operations->modes;
  return chain == nullptr ? nullptr : chain->shared_alone.load_acquire();
}

// --- replace -------------------------------------------------------------------------------------

TALUS_APART void* make_by_modes(ModeContext& context, const BlockRequest& request) noexcept {
  void* block = nullptr;
  ask_modes<&Mode::allocate>(context, [&](const Mode& mode, ModeThread thread) noexcept {
    block = mode.allocate(thread, request);
    return block != nullptr;
  });
  return block;
}
// The block that a mode of the calling thread makes for a request. Null: there is no mode, or each
// leaves the request to the heap. No observer is told.
TALUS_FAST void* make_by_mode(const BlockRequest& request) noexcept {
  ModeContext* context = current_modes();
  if (TALUS_LIKELY(context == nullptr)) return nullptr;
  if (context->operations->modes->shared_making.load_hint() == 0) return nullptr;
  return make_by_modes(*context, request);
}
// The same, and the observers are told of it.
TALUS_FAST void* allocate_by_mode(const BlockRequest& request) noexcept {
  void* block = make_by_mode(request);
  if (TALUS_UNLIKELY(block != nullptr)) note_allocate(block, request.bytes);
  return block;
}

// --- divert --------------------------------------------------------------------------------------

// Whether a freed block is an instance's, so that it may end without a free.
enum class BlockHome : uint8_t { common, instance };

TALUS_FAST bool has_diverters(const ModeContext& context) noexcept {
  return context.operations->modes->shared_diverting.load_hint() != 0;
}
// Does a mode of this context take a freed block?
TALUS_APART bool is_diverted(ModeContext& context, void* block, BlockHome home) noexcept {
  return ask_modes<&Mode::divert>(context, [=](const Mode& mode, ModeThread thread) noexcept {
    if (home == BlockHome::instance && !mode.diverts_all) return false;
    return mode.divert(thread, block);
  });
}

// --- threads -------------------------------------------------------------------------------------

// The thread of this cache has ended, or does not exist in the child of a fork. The caller has the
// cache, and no other thread uses it.
inline void end_modes(ThreadCache& cache) noexcept {
  ModeContext* context = cache.shared_mode_context.load_acquire();
  if (context != nullptr) tell_states<&Mode::end_thread>(*context);
}
// The caller has the cache, as for flushing its slow lists.
TALUS_APART void flush_modes(ThreadCache& cache) noexcept {
  ModeContext* context = cache.shared_mode_context.load_acquire();
  if (TALUS_UNLIKELY(context != nullptr)) tell_states<&Mode::flush>(*context);
}
// In the child of a fork, on the thread that goes on.
inline void renew_modes_in_child() noexcept {
  ThreadCache* cache = existing_cache();
  ModeContext* context = cache == nullptr ? nullptr : cache->shared_mode_context.load_acquire();
  if (context != nullptr) tell_states<&Mode::renew_in_child>(*context);
}

}  // namespace talus::core

#endif  // TALUS_HEAP_MODES_HPP
