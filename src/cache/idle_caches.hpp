// SPDX-License-Identifier: MIT
// cache/idle_caches: the idle-cache reclaim protocol finds threads that make no calls.
//
// What an idle thread holds can be taken back without its help.
//
// PROTOCOL idle-cache reclaim   words: ThreadContext::shared_state, shared_busy,
//                                      the owner's this_context
//   state    meaning                               left by                to      order
//   active   the owner uses its context            ask of another thread  asked   under the lock
//                                                  lead_owner, likewise   asked   under the lock
//   asked    the probe context lies in its place   owner's come_back      active  under the lock
//            the owner was not seen for a while    take_back of another   idle    under the lock
//   idle     lists were emptied from below         owner's come_back      active  under the lock
//   none     the context is no cache; never another state
// lead_owner (modes/chain.hpp) uses the same way to give a running thread another context: the one
// that the probe names is the one to come back to, in any state.
// The background thread asks: it replaces the thread's context by the probe context. All threads
// share that one. It owns no blocks, has empty lists and never changes; a thread finds its cache by
// this_cache, which no other thread reads. The background thread looks again after
// idle_probe_wait_us. An owner that allocates or frees meanwhile enters a slow path, because the
// probe context leads there, and comes back. Any other owner is idle, or stopped within one call
// that had loaded its context before. A slow path shows in shared_busy; a fast path does not show.
// So take_back allows for what such a call may still do: pop the uppermost block, or push one above
// it. It takes the blocks below, leaves nulls in their places (a list reads a null as its end) and
// does not move `top`.
// invariants  take_back runs only in state asked, under the lock, with shared_busy 0;
//             a thread that has set shared_busy works only in state active;
//             in state idle a list is nulls, then at most one block and one pushed block.
// edges  Both sides store and then load: state and this_context against shared_busy and the list.
//        The owner's side has no fence, so that it pays nothing. Some kernels have a barrier for
//        all threads. If it may be used, the background thread makes one between its asks and its
//        looks (heap/thread_order.hpp), and nothing depends on time. Elsewhere, and for the asks of
//        other threads, the wait orders. In far less than half of it a store leaves the processor
//        and a load is done, or the thread was interrupted, which completes both. The wait counts
//        from the last ask of any thread. ThreadSanitizer sees neither; TALUS_TELL_RELEASE in
//        free_block() and TALUS_TELL_ACQUIRE in take_lists_back() tell it.
// why no ABA: all changes of state are made under the lock.
// progress: an owner waits for the lock only while its own cache is being emptied (tens of
//   microseconds, once); the background thread never waits for an owner.
// fork: state changes to and from idle under the lock of the cache's heap.
// tests: tests/unit/reclaim/decay_test, tests/stress/trim_while_allocating
// model: tests/model/idle_caches_model
#ifndef TALUS_CACHE_IDLE_CACHES_HPP
#define TALUS_CACHE_IDLE_CACHES_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/registry.hpp"
#include "heap/sides.hpp"
#include "heap/thread_order.hpp"
#include "cache/side_home.hpp"

namespace talus::core {

// Moves the blocks of a list down over the places of the blocks taken back.
inline void close_gap(Atomic<void**>& top, void** bottom) noexcept {
  void** const last = top.load_own();
  void** end = bottom;
  for (void** at = bottom; at != last; at++) {
    if (*at != nullptr) *end++ = *at;
  }
  TALUS_ASSERT(end <= last);
  top.store_own(end);
}
// The same for each list and side. For the owner, or the thread that has its cache. The caller
// holds the heap's lock.
inline void close_gaps(Held<HeapLock>&, ThreadCache& cache) noexcept {
  for (size_t index = 0; index < fast_class_count; index++) {
    close_gap(cache.tops[index], list_bottom(cache, ClassId{static_cast<uint8_t>(index)}));
  }
  for_each_side(cache, [](auto side, ClassId) noexcept { close_gap(side.top, side.bottom); });
}

// Makes the lists whole again after blocks were taken from below. Same callers.
TALUS_USUAL void become_whole(ThreadCache& cache) noexcept {
  if (cache.shared_state.load_own() != OwnerState::idle) return;  // or under its lock
  Held held{lock_of(cache)};
  close_gaps(held, cache);
  cache.shared_state.store_own(OwnerState::asked);  // or under its lock
}

// The owner came back: it gets its context again.
inline void take_context_again(ThreadCache& cache) noexcept {
  IdleProbe& idle_probe = cache.idle_probe;
  Held held{idle_probe.lock};
  if (cache.shared_state.load_own() == OwnerState::active) return;  // under the lock
  become_whole(cache);
  set_context(*idle_probe.shared_before.load_own());  // under the lock
  cache.shared_state.store_own(OwnerState::active);   // under the lock
}
// Notes that the owner is in a slow path. False: it must come back before it works.
TALUS_FAST bool say_busy(ThreadCache& cache) noexcept {
  cache.shared_busy.own_add(1);
  compiler_fence();
  // A stale state is harmless: the lock decides.
  return TALUS_LIKELY(cache.shared_state.load_hint() == OwnerState::active);
}

TALUS_FAST void end_work(ThreadCache& cache) noexcept {
  Atomic<uint32_t>& busy = cache.shared_busy;
  TALUS_ASSERT(busy.load_own() != 0);
  busy.store_release(busy.load_own() - 1);
}

// The owner may have left a context with two sides (heap/sides.hpp). The blocks there go home.
TALUS_APART void leave_sides(ThreadCache& cache) noexcept {
  if (TALUS_UNLIKELY(!say_busy(cache))) take_context_again(cache);
  if (!has_sides(current_context())) send_sides_home(cache, remote_backlog_bytes_max);
  end_work(cache);
}
TALUS_SLOW void come_back(ThreadCache& cache) noexcept {
  take_context_again(cache);
  if (TALUS_UNLIKELY(cache.shared_sides.load_acquire() != nullptr)) leave_sides(cache);
}

// The owner is in a slow path: no other thread may touch its cache.
TALUS_FAST void begin_work(ThreadCache& cache) noexcept {
  if (TALUS_UNLIKELY(!say_busy(cache))) come_back(cache);
}

// The same for work that calls nothing, so it knows the depth to restore. It accepts any context: a
// context that is no cache has no owner, and its busy count means nothing.
class BriefWork {
 public:
  TALUS_FAST explicit BriefWork(ThreadContext& context) noexcept
      : busy_{context.shared_busy}, depth_{busy_.load_own()} {
    busy_.store_own(depth_ + 1);
    compiler_fence();
    // A stale state is harmless: the lock decides.
    may_begin = context.shared_state.load_hint() == OwnerState::active;
  }
  TALUS_FAST ~BriefWork() { busy_.store_release(depth_); }  // [own]
  BriefWork(const BriefWork&) = delete;
  BriefWork& operator=(const BriefWork&) = delete;

  bool may_begin;  // the context is a cache, and active; if false, the owner may have to come back

 private:
  Atomic<uint32_t>& busy_;
  uint32_t depth_;
};

class Working {
 public:
  TALUS_FAST explicit Working(ThreadCache& cache) noexcept : cache_{cache} { begin_work(cache_); }
  TALUS_FAST ~Working() { end_work(cache_); }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  ThreadCache& cache_;
};

// The same for a thread that may have no cache.
class MaybeWorking {
 public:
  TALUS_FAST explicit MaybeWorking(ThreadCache* cache) noexcept : cache_{cache} {
    if (cache_ != nullptr) begin_work(*cache_);
  }
  TALUS_FAST ~MaybeWorking() {
    if (cache_ != nullptr) end_work(*cache_);
  }
  MaybeWorking(const MaybeWorking&) = delete;
  MaybeWorking& operator=(const MaybeWorking&) = delete;

 private:
  ThreadCache* cache_;
};

// The operations of the probe context lead the owner back.
TALUS_HOOK ThreadCache* cache_of_probe(ThreadContext&) noexcept {
  ThreadCache* cache = this_cache;
  come_back(*cache);
  return cache;
}

// The calling thread begins to use this cache by its current context.
inline void attend(ThreadCache& cache) noexcept {
  this_cache = &cache;
  Held held{cache.idle_probe.lock};
  cache.idle_probe.context_slot.store_own(&this_context);  // under the lock
}

// The owner leaves its cache forever; `last` is its context from now on.
inline void depart(ThreadCache& cache, ThreadContext& last) noexcept {
  IdleProbe& idle_probe = cache.idle_probe;
  Held held{idle_probe.lock};
  become_whole(cache);
  idle_probe.context_slot.store_own(nullptr);        // under the lock
  cache.shared_state.store_own(OwnerState::active);  // under the lock
  set_context(last);
  this_cache = nullptr;
}

// A value that changes when the owner allocates or frees.
inline uint64_t activity_of(ThreadCache& cache) noexcept {
  uint64_t mixed = 0;
  const auto mix = [&mixed](const Atomic<void**>& top) noexcept {
    mixed = mixed * 31 + reinterpret_cast<uintptr_t>(top.load_stat());
  };
  for (size_t index = 0; index < class_count; index++) mix(cache.tops[index]);
  for (const Atomic<void**>& top : cache.slow_tops) mix(top);
  for_each_side(cache, [&](const auto& side, ClassId) noexcept { mix(side.top); });
  return mixed * 31 + cache.kept.bytes.load_stat();
}

// active -> asked, for an owner with a context slot: its next call comes back to `next`. `barrier`
// is as for ask(). The caller holds the idle probe's lock.
inline void put_probe(IdleProbe& idle_probe, ThreadCache& cache, ThreadContext& next,
                      uint64_t barrier) noexcept TALUS_REQUIRES(idle_probe.lock) {
  idle_probe.shared_before.store_release(&next);
  cache.shared_state.store_release(OwnerState::asked);
  idle_probe.context_slot.load_own()->store_release(registry.probe_context);  // under the lock
  idle_probe.asked_ns = os::System::now_ns();
  idle_probe.asked_before = barrier;
}

// active -> asked, if the owner may be idle. `barrier` is the number of the next barrier, which may
// order this ask (heap/thread_order.hpp). The caller holds the registry's lock.
inline void ask(Held<RegistryLock>&, ThreadCache& cache,
                uint64_t barrier = ThreadOrder::never) noexcept TALUS_REQUIRES(registry.lock) {
  IdleProbe& idle_probe = cache.idle_probe;
  if (cache.shared_busy.load_acquire() != 0 || !idle_probe.lock.try_lock()) return;
  const bool is_present = cache.shared_state.load_own() == OwnerState::active;
  Atomic<ThreadContext*>* slot = idle_probe.context_slot.load_own();  // under the lock
  if (slot != nullptr && is_present) put_probe(idle_probe, cache, *slot->load_own(), barrier);
  idle_probe.lock.unlock();
}

}  // namespace talus::core

#endif  // TALUS_CACHE_IDLE_CACHES_HPP
