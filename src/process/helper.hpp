// SPDX-License-Identifier: MIT
// process/helper: the life of the thread that gives free memory back while the program is idle.
//
// PROTOCOL helper           word: HelperLife::shared_state        lock: Helper::lock
//   state     meaning                            left by                          to
//   absent    there is no thread                 starter, in the lock             starting
//   starting  one is being made                  helper, its first act            running
//                                                starter, if it is refused        absent
//   running   it makes passes and sleeps         helper, nothing was left         ending
//                                                ender, in the lock               stopping
//   ending    it sleeps a last time              helper, nothing was offered      leaving
//                                                helper, or who purge requests work       running
//                                                ender, in the lock               stopping
//   stopping  it was told to end                 helper                           leaving
//   leaving   it does not touch the heap again   starter or ender, in the lock,
//                                                once the kernel cleared its id   absent
// invariants  at most one helper in the process; it holds no lock while it sleeps; who starts,
//             ends or forks holds the lock, and no other; no purge request is lost: one that finds
//             `running` was said before (PurgeRequest::is_much), which is looked at after the last
//             sleep; one that finds `ending` makes it `running`; one that finds less starts a
//             helper.
// edges  E1 begin.release -> offerer.acquire   publishes nothing but the word itself
//        E2 stop.release -> helper.acquire     publishes nothing but the word itself
//        E3 the helper's end -> join.acquire   by way of the kernel: its stack may be used again
// why no ABA: a helper that leaves keeps its id until the kernel has removed it.
// progress: an purge request is a few loads unless a thread must be made; starts are at least
//   helper_linger_ms apart; an end takes as long as the rest of a pass.
// fork: prepare takes the lock; the room of the child reads as zero: absent.
//
// The helper inherits the signal mask and the credentials of who starts it: all signals are blocked
// meanwhile, and a change of credentials ends it before (entry/credentials.cpp). It runs Talus' own
// code and system calls only: nothing of libc but what copies bytes, and no thread-local variable.
#ifndef TALUS_PROCESS_HELPER_HPP
#define TALUS_PROCESS_HELPER_HPP

#include <sys/auxv.h>

#include "reclaim/early_release.hpp"
#include "reclaim/decay.hpp"
#include "process/helper_thread.hpp"
#include "process/library_parts.hpp"
#include "process/pressure.hpp"
#include "process/print_statistics.hpp"
#include "settings/option_origin.hpp"

namespace talus {

// Tasks waited for memory in a tenth of the last ten seconds, in hundredths of a per cent.
inline constexpr uint32_t pressure_high = 1000;
// With nothing to do, the helper waits this long for more before it ends.
inline constexpr uint32_t helper_linger_ms = 200;
// With a longer decay_ms the program wants to keep what it frees, and a call does not wait.
inline constexpr uint64_t early_decay_ms_max = 1000;
// After a refusal of the kernel, this long nobody tries again.
inline constexpr uint64_t helper_retry_ms = 1000;
// A helper that is still there after this long is left alone: it waits for a lock whose holder
// waits for its end, in the handler of a signal.
inline constexpr uint64_t helper_patience_ms = 10000;

struct HelperState {
  enum : uint32_t { absent, starting, running, ending, stopping, leaving };
};

struct Helper {
  Lock lock;
  Lock pass;  // the helper holds it while it may hold others (interrupted_fork.hpp)
  Atomic<HelperLife*> shared_life;   // null until a helper is needed; written under the lock
  Atomic<bool> shared_is_allowed;    // may be started at all
  uint32_t holds = 0;                // who needs a process without a helper just now; by the lock
  Atomic<uint64_t> shared_retry_ms;  // not before this time
  Atomic<uint32_t> process_id;       // of whose memory this is; 0: not known
};
inline Helper helper;

// Nothing is left to do. False: there was after all, or the helper was told to end.
inline bool lingers_and_leaves(Atomic<uint32_t>& state) noexcept {
  uint32_t now = HelperState::running;
  state.cas_acq_rel(now, HelperState::ending);
  os::System::futex_wait_ms(state.futex_word(), HelperState::ending, helper_linger_ms);
  now = HelperState::ending;
  // An purge request that found `running` has said so before, and long ago.
  const bool is_needed = purge_request.is_much.load_relaxed();  // [hint]
  const uint32_t next = is_needed ? HelperState::running : HelperState::leaving;
  return state.cas_acq_rel(now, next) && !is_needed;
}

// Asked for by an option only: the file that is opened for a moment takes a descriptor that a
// program of one thread may be counting on.
inline Pressure pressure_now() noexcept {
  const bool is_high = options.pressure && read_memory_pressure() >= pressure_high;
  return is_high ? Pressure::high : Pressure::none;
}

// Samples by the clock keep the helper: it looks whether there is more to do now and then.
inline constexpr uint64_t helper_look_ms = 1000;

// One pass. Returns the milliseconds until the next is due; 0: there is nothing left to do.
inline uint32_t helper_pass() noexcept {
  const bool is_printing = has_clock_samples();
  uint64_t wait_ms = 0;
  // [own] [hint]
  if (!is_printing || purge_request.is_served.load_relaxed() ||
      purge_request.is_much.load_relaxed()) {
    wait_ms = decay_pass(pressure_now());
  }
  if (!is_printing) return static_cast<uint32_t>(wait_ms);
  if (wait_ms == 0) wait_ms = helper_look_ms;
  const uint64_t print_ms = print_when_due();
  return static_cast<uint32_t>(print_ms < wait_ms ? print_ms : wait_ms);
}

TALUS_USUAL void helper_lives() noexcept {
  HelperLife& life = *helper.shared_life.load_acquire();
  Atomic<uint32_t>& state = life.shared_state;
  uint32_t now = HelperState::starting;
  bool is_on = state.cas_acq_rel(now, HelperState::running);  // [E1]
  if (is_on && life.kernel_is_open) os::System::become_ordinary_thread("talus");
  while (is_on) {
    helper.pass.take();
    const uint32_t wait_ms = helper_pass();
    helper.pass.give();
    now = state.load_acquire();  // [E2]
    if (wait_ms != 0) {
      if (now == HelperState::running) {
        os::System::futex_wait_ms(state.futex_word(), HelperState::running, wait_ms);
      }
    } else if (lingers_and_leaves(state)) {
      return;  // [E3]
    }
    is_on = state.load_acquire() != HelperState::stopping;  // [E2]
  }
  purge_request.is_served.store_release(false);
  state.store_release(HelperState::leaving);  // [E3]
}

// The lock is held. False: there is one, or one that ended is still not gone.
inline bool is_place_free(HelperLife& life) noexcept {
  const uint32_t state = life.shared_state.load_acquire();
  if (state == HelperState::absent) return true;
  if (state == HelperState::leaving) return wait_for_end(life, helper_retry_ms);
  // A child of vfork made it, and became another program.
  return state == HelperState::running && life.shared_id.load_acquire() == 0;
}

// A program that may have few threads counts them, and its children.
inline constexpr size_t few_threads = 32;
inline bool may_have_few_threads() noexcept { return os::System::thread_count_max() < few_threads; }

// The lock is held.
TALUS_USUAL void start_locked() noexcept {
  // [own] the lock
  if (!helper.shared_is_allowed.load_relaxed() || helper.holds != 0) return;
  if (os::page_watch.is_on()) return;
  HelperLife* life = helper.shared_life.load_relaxed();  // [own] the lock
  if (life == nullptr) {
    life = make_room();
    if (life != nullptr) helper.shared_life.store_release(life);
  }
  bool is_made = false;
  if (life != nullptr) {
    if (!is_place_free(*life)) return;
    // Not asked by the helper: a program of one thread knows which descriptor it will get next.
    life->kernel_is_open = rare_calls.ask();
    life->process_id.store_relaxed(helper.process_id.load_relaxed());  // [own] the lock
    life->shared_state.store_release(HelperState::starting);
    is_made = !(life->kernel_is_open && may_have_few_threads()) && make_helper(*life);
    if (!is_made) life->shared_state.store_release(HelperState::absent);
  }
  if (!is_made) {
    helper.shared_retry_ms.store_relaxed(os::System::now_ms() + helper_retry_ms);  // [hint]
    statistics_printer.is_left_to_paths.store_relaxed(true);                       // [hint]
  }
}

// False: this is the child of a vfork, and the memory is its parent's. Where there was no helper
// yet, a copy of the process that was made without the handlers of fork is taken for one.
inline bool owns_memory() noexcept {
  const uint32_t owner = helper.process_id.load_relaxed();  // [hint]
  if (owner == 0) return true;
  const auto own = static_cast<uint32_t>(os::System::process_id());
  if (owner == own) return true;
  HelperLife* life = helper.shared_life.load_acquire();
  if (life == nullptr || life->process_id.load_relaxed() == owner) return false;  // [hint]
  helper.process_id.store_relaxed(own);  // [init] such a copy has one thread
  return true;
}

// Signals are blocked, because the new thread inherits that, and because a handler that comes here
// would wait for a lock that its own thread holds. A helper that the child of a vfork made would
// end with it, and its parent would wait for it for ever.
TALUS_COLD void start_slow() noexcept {
  // [hint]
  if (os::System::now_ms() < helper.shared_retry_ms.load_relaxed()) return print_on_slow_path();
  if (!owns_memory()) return;
  const uint64_t mask = os::System::block_signals();
  helper.lock.take();
  start_locked();
  helper.lock.give();
  os::System::restore_signals(mask);
}

// The program has one thread, as far as libc knows, and asks for no other pace than the usual one.
inline bool is_left_to_calls() noexcept {
  const char* const is_single = talus_library_parts.single_threaded;
  return is_single != nullptr && *is_single != 0 && !has_clock_samples() &&
         options.decay_ms <= early_decay_ms_max;
}

TALUS_HOOK void start_helper() noexcept {
  // [hint] asked again in the lock
  if (!helper.shared_is_allowed.load_relaxed() || os::page_watch.is_on()) {
    return print_on_slow_path();
  }
  if (is_left_to_calls() && release_early()) return;
  HelperLife* life = helper.shared_life.load_acquire();
  if (life != nullptr) {
    uint32_t state = life->shared_state.load_acquire();  // [E1]
    if (state == HelperState::starting || state == HelperState::stopping) return;
    if (state == HelperState::running && life->shared_id.load_relaxed() != 0) return;  // [hint]
    if (state == HelperState::ending &&
        life->shared_state.cas_acq_rel(state, HelperState::running)) {
      return;
    }
  }
  start_slow();
}

// Ends the helper and waits until it executes nothing. The lock is held.
inline void end_locked(HelperLife& life, uint64_t patience_ms) noexcept {
  Atomic<uint32_t>& state = life.shared_state;
  uint32_t now = state.load_acquire();
  while (now != HelperState::absent && now != HelperState::leaving &&
         !state.cas_acq_rel(now, HelperState::stopping)) {  // [E2]
  }
  os::System::futex_wake_one(state.futex_word());
  if (wait_for_end(life, patience_ms)) state.store_release(HelperState::absent);
}

// What becomes of the helper that was ended.
enum class Ended : uint8_t { held, for_ever };

// No helper, and none will be.
inline bool is_without_helper() noexcept {
  HelperLife* life = helper.shared_life.load_acquire();
  const bool has_none = life == nullptr || life->shared_state.load_acquire() == HelperState::absent;
  return has_none && !helper.shared_is_allowed.load_relaxed();  // [hint]
}

// Ends the helper, if there is one, and lets no other begin until release_helper(), or ever. For
// ever: a filter of system calls may stand before the kernel, so that memory and futex are all that
// is asked for, the signal mask is not; a handler that comes here meanwhile finds that none may
// start. Until then signals are blocked, and a handler waits for no lock of its own thread.
TALUS_START void end_helper(Ended ended, uint64_t patience_ms = helper_patience_ms) noexcept {
  HelperLife* life = helper.shared_life.load_acquire();
  const bool is_masked = ended == Ended::held && life != nullptr;
  if (ended == Ended::for_ever) helper.shared_is_allowed.store_relaxed(false);  // [hint] see below
  const uint64_t mask = is_masked ? os::System::block_signals() : 0;
  const uint64_t until_ms = os::System::now_ms() + patience_ms;
  bool is_taken = helper.lock.try_take();
  while (!is_taken && os::System::now_ms() < until_ms) {
    os::System::sleep_us(100);
    is_taken = helper.lock.try_take();
  }
  // Who starts one looks at it in the lock.
  if (ended == Ended::for_ever) helper.shared_is_allowed.store_relaxed(false);  // [own] the lock
  if (ended == Ended::held) helper.holds++;
  HelperLife* found = helper.shared_life.load_relaxed();  // [own] the lock
  if (found != nullptr) end_locked(*found, patience_ms);
  if (is_taken) helper.lock.give();
  if (is_masked) os::System::restore_signals(mask);
}

// The thread that was ended is no more listed among those of the process either.
inline void wait_until_helper_is_gone() noexcept {
  HelperLife* life = helper.shared_life.load_acquire();
  const uint32_t id = life == nullptr ? 0 : life->last_id.load_relaxed();  // [hint]
  if (id == 0) return;
  os::System::wait_until_gone(id);
  life->last_id.store_relaxed(0);  // [hint] being asked once more does no harm
}

// The lock's holder may be a thread that a signal interrupted to come here, so it is not waited for
// longer than any call takes.
inline void wait_for_holder(Lock& lock) noexcept {
  bool is_taken = lock.try_take();
  for (int wait = 0; !is_taken && wait < 100; wait++) {
    os::System::sleep_us(100);
    is_taken = lock.try_take();
  }
  if (is_taken) lock.give();
}

// From here on nobody makes a call that few filters allow.
inline void forbid_rare_calls() noexcept {
  rare_calls.forbid();
  wait_for_holder(space.lock());
  wait_for_holder(registry.decaying);
}

inline void release_helper() noexcept {
  Locked held{helper.lock};
  helper.holds--;
}

// Is there a helper, or was there one whose end nobody has seen yet?
inline bool may_have_helper() noexcept {
  HelperLife* life = helper.shared_life.load_acquire();
  return life != nullptr && life->shared_state.load_acquire() != HelperState::absent;
}

// This is the child of a vfork: the memory, and the helper, are its parent's.
inline bool is_memory_borrowed() noexcept { return !owns_memory() && may_have_helper(); }

// At start. Entry points that do not learn of a change of credentials have no helper where root may
// be about to give up its rights, unless it is asked for.
TALUS_START void allow_helper() noexcept {
  if (talus_library_parts.guards_credentials) rare_calls.ask_when_needed(is_kernel_open);
  const bool is_root = getauxval(AT_UID) == 0 || getauxval(AT_EUID) == 0;
  const bool is_asked_for = option_origins[OptionId::helper].source != OptionSource::builtin;
  const bool is_unwatched = !talus_library_parts.guards_credentials && is_root && !is_asked_for;
  const bool is_off = !options.helper || os::page_watch.is_by_libc();
  if (is_off || os::System::is_secure() || is_unwatched) {
    return statistics_printer.is_left_to_paths.store_relaxed(true);  // [init]
  }
  if (talus_library_parts.guards_credentials) {
    helper.process_id.store_relaxed(static_cast<uint32_t>(os::System::process_id()));  // [init]
  }
  helper.shared_is_allowed.store_relaxed(true);  // [init]
}

// Before the code of the helper is unloaded, or the process ends.
inline void end_helper_for_ever(uint64_t patience_ms) noexcept {
  if (is_without_helper()) return;
  end_helper(Ended::for_ever, patience_ms);
  HelperLife* life = helper.shared_life.load_acquire();
  if (life != nullptr && life->shared_state.load_acquire() == HelperState::absent) {
    empty_room(*life);
  }
}

// In the child of a fork. At once: later it might be a child of vfork that asks. Not asked where a
// filter was announced, which may forbid it: there is no helper from then on.
inline void learn_process_id() noexcept {
  if (helper.process_id.load_relaxed() == 0) return;             // [init]
  const bool may_ask = helper.shared_is_allowed.load_relaxed();  // [init]
  const long id = may_ask ? os::System::process_id() : 0;
  helper.process_id.store_relaxed(static_cast<uint32_t>(id));  // [init]
}

// The child of a fork has no helper.
inline void forget_helper_thread() noexcept {
  purge_request.is_served.store_relaxed(false);  // [init]
  // ThreadSanitizer cannot make threads in the child of a process that has threads.
  if constexpr (TALUS_UNDER_TSAN != 0) helper.shared_is_allowed.store_relaxed(false);  // [init]
  learn_process_id();
  // Already so, but on kernels that cannot clear memory for children.
  HelperLife* life = helper.shared_life.load_acquire();
  if (life == nullptr) return;
  life->process_id.store_relaxed(helper.process_id.load_relaxed());  // [init]
  if (life->shared_state.load_acquire() == HelperState::absent) return;
  life->shared_id.store_relaxed(0);                       // [init]
  life->last_id.store_relaxed(0);                         // [init]
  life->is_joinable.store_relaxed(false);                 // [init]
  life->shared_state.store_relaxed(HelperState::absent);  // [init]
}
// All of whose locks were held.
inline void forget_helper() noexcept {
  helper.lock.reset_in_child();
  helper.pass.reset_in_child();
  helper.holds = 0;
  forget_helper_thread();
}

}  // namespace talus

#endif  // TALUS_PROCESS_HELPER_HPP
