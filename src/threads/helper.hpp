// SPDX-License-Identifier: MIT
// threads/helper: the life of the background thread, which purges free memory.
//
// The background thread ("helper") runs decay passes while the program does other work or is idle.
// A freeing thread starts it with a purge request. It ends when no work is left.
//
// PROTOCOL helper           word: HelperLife::shared_state        lock: Helper::lock
//   state     meaning                    left by                               to
//   absent    no thread exists           starter, under the lock               starting
//   starting  a thread is being made     helper, its first act                 running
//                                        starter, if the kernel refuses        absent
//   running   it makes passes, sleeps    helper, no work was left              ending
//                                        ender, under the lock                 stopping
//   ending    it sleeps a last time      helper, no purge request came         leaving
//                                        helper, or a thread that requests     running
//                                        ender, under the lock                 stopping
//   stopping  it was told to end         helper                                leaving
//   leaving   it left the heap for good  starter or ender, under the lock,
//                                        once the kernel cleared its id        absent
// invariants  at most one helper in the process; it holds no lock while it sleeps; a thread that
//             starts or ends the helper, or forks, holds this lock and no other. No purge request
//             is lost. A request that finds `running` has set PurgeRequest::is_much, which the
//             helper reads after its last sleep. One that finds `ending` sets `running`. One that
//             finds `absent` or `leaving` starts a helper. The helper sleeps on shared_alarm,
//             which it reads before it looks at its state and at the mailbox. An ender changes it,
//             and another process with a command (mailbox.hpp), which then interrupts the sleep.
// edges  E1 begin.release -> offerer.acquire   publishes nothing but the word itself
//        E2 stop.release -> helper.acquire     publishes nothing but the word itself
//        E3 the helper's end -> join.acquire   through the kernel: its stack may be used again
// why no ABA: a helper that leaves keeps its id until the kernel has removed it.
// progress: a purge request is a few loads unless a thread must be made. Starts are at least
//   helper_linger_ms apart. An end takes as long as the rest of a pass.
// fork: prepare takes the lock; the room of the child reads as zero: absent.
//
// The helper inherits the signal mask and the credentials of the thread that starts it. That thread
// blocks all signals meanwhile. A change of credentials ends the helper first
// (entry/credentials.cpp). The helper runs only Talus' own code and system calls. It calls nothing
// of libc but functions that copy bytes, and it uses no thread-local variable.
#ifndef TALUS_THREADS_HELPER_HPP
#define TALUS_THREADS_HELPER_HPP

#include <sys/auxv.h>

#include "base/base.hpp"
#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "sync/lock.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "reclaim/early_purge.hpp"
#include "reclaim/decay.hpp"
#include "reclaim/sources.hpp"
#include "machine/pressure.hpp"
#include "statistics/print_statistics.hpp"
#include "threads/commands.hpp"
#include "threads/helper_thread.hpp"
#include "threads/library_parts.hpp"
#include "threads/mailbox.hpp"

namespace talus::core {

// Pressure is high when tasks waited for memory during a tenth of the last ten seconds. The unit is
// a hundredth of a per cent.
inline constexpr uint32_t pressure_high = 1000;
// With nothing to do, the helper waits this long for more work before it ends.
inline constexpr uint32_t helper_linger_ms = 200;
// With a longer decay_ms the program wants to keep what it frees. No call then purges early.
inline constexpr uint64_t early_decay_ms_max = 1000;
// After the kernel refused a thread, no thread tries again for this long.
inline constexpr uint64_t helper_retry_ms = 1000;
// An ender stops waiting after this long. The helper then waits for a lock whose holder, in a
// signal handler, waits for the helper's end.
inline constexpr uint64_t helper_patience_ms = 10000;

struct HelperState {
  enum : uint32_t { absent, starting, running, ending, stopping, leaving };
};

struct Helper {
  HelperLock lock;
  HelperPassLock pass;              // the helper holds it during a pass (interrupted_fork.hpp)
  Atomic<HelperLife*> shared_life;  // null until a helper is needed; written under the lock
  Atomic<bool> shared_is_allowed;   // may be started at all
  // threads that need a process without helper
  uint32_t holds TALUS_GUARDED_BY(lock) = 0;
  Atomic<uint64_t> shared_retry_ms;  // not before this time
  Atomic<uint32_t> process_id;       // process that owns this memory; 0: not known
  Atomic<uint32_t> shared_alarm;     // changes when the helper has to look
  Mailbox mailbox;
};
TALUS_CONSTINIT inline Helper helper;

// No work is left. False: more work came, or the helper was told to end.
inline bool lingers_and_leaves(Atomic<uint32_t>& state, uint32_t alarm) noexcept {
  uint32_t now = HelperState::running;
  state.cas_acq_rel(now, HelperState::ending);
  os::System::futex_wait_ms(helper.shared_alarm.futex_word(), alarm, helper_linger_ms);
  now = HelperState::ending;
  // A purge request that found `running` has set this long ago.
  const bool is_needed = purge_request.is_much.load_hint() || helper.mailbox.has_command();
  const uint32_t next = is_needed ? HelperState::running : HelperState::leaving;
  return state.cas_acq_rel(now, next) && !is_needed;
}

// Only an option asks for this. The file opened for a moment takes a descriptor, and a program of
// one thread may count on the next number.
inline Pressure pressure_now() noexcept {
  const bool is_high = options.pressure && read_memory_pressure() >= pressure_high;
  return is_high ? Pressure::high : Pressure::none;
}

// Samples by the clock keep the helper alive. It looks for work this often.
inline constexpr uint64_t helper_look_ms = 1000;

// One pass. Returns the milliseconds until the next pass is due; 0: no work is left.
inline uint32_t helper_pass() noexcept {
  const bool is_printing = has_clock_samples();
  uint64_t wait_ms = 0;
  if (!is_printing || purge_request.is_served.load_hint() || purge_request.is_much.load_hint()) {
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
    const uint32_t alarm = helper.shared_alarm.load_acquire();
    if (helper.mailbox.has_command()) answer_mailbox<purge_on_command>(helper.mailbox);
    helper.pass.lock();
    const uint32_t wait_ms = helper_pass();
    helper.pass.unlock();
    now = state.load_acquire();  // [E2]
    if (wait_ms != 0) {
      if (now == HelperState::running) {
        os::System::futex_wait_ms(helper.shared_alarm.futex_word(), alarm, wait_ms);
      }
    } else if (lingers_and_leaves(state, alarm)) {
      return;  // [E3]
    }
    is_on = state.load_acquire() != HelperState::stopping;  // [E2]
  }
  purge_request.is_served.store_release(false);
  state.store_release(HelperState::leaving);  // [E3]
}

// The lock is held. False: a helper exists, or one that ended is not gone yet.
inline bool is_place_free(HelperLife& life) noexcept {
  const uint32_t state = life.shared_state.load_acquire();
  if (state == HelperState::absent) return true;
  if (state == HelperState::leaving) return wait_for_end(life, helper_retry_ms);
  // A child of vfork made it, and then executed another program.
  return state == HelperState::running && life.shared_id.load_acquire() == 0;
}

// A program with a low limit of threads counts its threads and those of its children.
inline constexpr size_t few_threads = 32;
inline bool may_have_few_threads() noexcept { return os::System::thread_count_max() < few_threads; }

TALUS_USUAL void start_locked() noexcept TALUS_REQUIRES(helper.lock) {
  if (!helper.shared_is_allowed.load_own() || helper.holds != 0) return;
  if (os::page_watch.is_on()) return;
  HelperLife* life = helper.shared_life.load_own();  // under the lock
  if (life == nullptr) {
    life = make_room();
    if (life != nullptr) helper.shared_life.store_release(life);
  }
  bool is_made = false;
  if (life != nullptr) {
    if (!is_place_free(*life)) return;
    // The helper does not ask this: a program of one thread knows which descriptor comes next.
    life->kernel_is_open = rare_calls.ask();
    life->process_id.store_own(helper.process_id.load_own());  // under the lock
    life->shared_state.store_release(HelperState::starting);
    is_made = !(life->kernel_is_open && may_have_few_threads()) && make_helper(*life);
    if (!is_made) life->shared_state.store_release(HelperState::absent);
  }
  if (!is_made) {
    helper.shared_retry_ms.store_hint(os::System::now_ms() + helper_retry_ms);
    statistics_printer.is_left_to_paths.store_hint(true);
  }
}

// False: this is the child of a vfork, and the memory is its parent's. Where no helper existed yet,
// a copy of the process that was made without the fork handlers also counts as such a child.
inline bool owns_memory() noexcept {
  const uint32_t owner = helper.process_id.load_hint();
  if (owner == 0) return true;
  const auto own = static_cast<uint32_t>(os::System::process_id());
  if (owner == own) return true;
  HelperLife* life = helper.shared_life.load_acquire();
  if (life == nullptr || life->process_id.load_hint() == owner) return false;
  helper.process_id.store_init(own);  // such a copy has one thread
  return true;
}

// Signals are blocked for two reasons. The new thread inherits the mask, and a handler that came
// here would wait for a lock of its own thread. A helper made by the child of a vfork would end
// with the child, and the parent would wait for it for ever.
TALUS_COLD void start_slow() noexcept {
  if (os::System::now_ms() < helper.shared_retry_ms.load_hint()) return print_on_slow_path();
  if (!owns_memory()) return;
  const uint64_t mask = os::System::block_signals();
  helper.lock.lock();
  start_locked();
  helper.lock.unlock();
  os::System::restore_signals(mask);
}

// libc knows of one thread only, and the program keeps the usual pace of purging.
inline bool is_left_to_calls() noexcept {
  const char* const is_single = talus_library_parts.single_threaded;
  return is_single != nullptr && *is_single != 0 && !has_clock_samples() &&
         options.decay_ms <= early_decay_ms_max;
}

// Read again under the lock.
inline bool may_start_helper() noexcept {
  return helper.shared_is_allowed.load_hint() && !os::page_watch.is_on();
}

// A command waits. False: a helper will answer it. Otherwise there may be none, or the process
// stays with one thread, and the thread that came here answers.
TALUS_APART bool answers_here() noexcept {
  const bool is_refused = os::System::now_ms() < helper.shared_retry_ms.load_hint();
  if (may_start_helper() && !is_refused && !is_left_to_calls()) return false;
  if (!has_clock_samples()) purge_request.is_much.store_hint(false);
  answer_mailbox<purge_on_request>(helper.mailbox);
  return true;
}

TALUS_HOOK void start_helper() noexcept {
  if (helper.mailbox.has_command() && answers_here()) return;
  if (!may_start_helper()) return print_on_slow_path();
  if (is_left_to_calls() && purge_ahead()) return;
  HelperLife* life = helper.shared_life.load_acquire();
  if (life != nullptr) {
    uint32_t state = life->shared_state.load_acquire();  // [E1]
    if (state == HelperState::starting || state == HelperState::stopping) return;
    if (state == HelperState::running && life->shared_id.load_hint() != 0) return;
    if (state == HelperState::ending &&
        life->shared_state.cas_acq_rel(state, HelperState::running)) {
      return;
    }
  }
  start_slow();
}

// Ends the helper and waits until it executes nothing. The lock is held.
TALUS_START void end_locked(HelperLife& life, uint64_t patience_ms) noexcept {
  Atomic<uint32_t>& state = life.shared_state;
  uint32_t now = state.load_acquire();
  while (now != HelperState::absent && now != HelperState::leaving &&
         !state.cas_acq_rel(now, HelperState::stopping)) {  // [E2]
  }
  helper.shared_alarm.fetch_add_release(1);
  os::System::futex_wake_one(helper.shared_alarm.futex_word());
  if (wait_for_end(life, patience_ms)) state.store_release(HelperState::absent);
}

// How long the process stays without a helper: until permit_helper(), or for ever.
enum class Ended : uint8_t { held, for_ever };

// No helper exists, and none will.
inline bool is_without_helper() noexcept {
  HelperLife* life = helper.shared_life.load_acquire();
  const bool has_none = life == nullptr || life->shared_state.load_acquire() == HelperState::absent;
  return has_none && !helper.shared_is_allowed.load_hint();
}

// Ends the helper, if one exists. None starts again until permit_helper(), or for ever.
//
// For ever: a filter of system calls may be active, so this asks only for memory and futex, not for
// the signal mask. A handler that comes here meanwhile finds that no helper may start. Otherwise
// signals are blocked, so no handler waits for a lock of its own thread. The analysis does not know
// that this goes on without the lock after a time.
TALUS_START void end_helper(Ended ended, uint64_t patience_ms = helper_patience_ms) noexcept
    TALUS_NO_THREAD_SAFETY_ANALYSIS {
  HelperLife* life = helper.shared_life.load_acquire();
  const bool is_masked = ended == Ended::held && life != nullptr;
  if (ended == Ended::for_ever) helper.shared_is_allowed.store_hint(false);  // see below
  const uint64_t mask = is_masked ? os::System::block_signals() : 0;
  const uint64_t until_ms = os::System::now_ms() + patience_ms;
  bool is_locked = helper.lock.try_lock();
  while (!is_locked && os::System::now_ms() < until_ms) {
    os::System::sleep_us(100);
    is_locked = helper.lock.try_lock();
  }
  // A starting thread reads it under the lock.
  if (ended == Ended::for_ever) helper.shared_is_allowed.store_own(false);  // under the lock
  if (ended == Ended::held) helper.holds++;
  HelperLife* found = helper.shared_life.load_own();  // under the lock
  if (found != nullptr) end_locked(*found, patience_ms);
  if (is_locked) helper.lock.unlock();
  if (is_masked) os::System::restore_signals(mask);
}

// Returns when the process no longer lists the ended thread.
inline void wait_until_helper_is_gone() noexcept {
  HelperLife* life = helper.shared_life.load_acquire();
  const uint32_t id = life == nullptr ? 0 : life->last_id.load_hint();
  if (id == 0) return;
  os::System::wait_until_gone(id);
  life->last_id.store_hint(0);  // one more call does no harm
}

// The lock's holder may be the thread that a signal interrupted to come here. So the wait is no
// longer than any call takes. The analysis does not follow a lock that a variable tells of.
inline void wait_for_holder(Lock& lock) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  bool is_locked = lock.try_lock();
  for (int wait = 0; !is_locked && wait < 100; wait++) {
    os::System::sleep_us(100);
    is_locked = lock.try_lock();
  }
  if (is_locked) lock.unlock();
}

// From here on no thread makes a system call that few filters allow.
inline void forbid_rare_calls() noexcept {
  rare_calls.forbid();
  wait_for_holder(space.lock());
  wait_for_holder(registry.decaying);
}

inline void permit_helper() noexcept {
  Held held{helper.lock};
  helper.holds--;
}

// True while a helper exists, or while no thread has seen its end.
inline bool may_have_helper() noexcept {
  HelperLife* life = helper.shared_life.load_acquire();
  return life != nullptr && life->shared_state.load_acquire() != HelperState::absent;
}

// This is the child of a vfork: the memory and the helper are its parent's.
inline bool is_memory_borrowed() noexcept { return !owns_memory() && may_have_helper(); }

// Called at start. Some entry points do not learn of a change of credentials. With those, root may
// be about to give up its rights, so root has no helper unless the user asks for it.
TALUS_START void allow_helper() noexcept {
  if (talus_library_parts.guards_credentials) rare_calls.ask_when_needed(is_kernel_open);
  const bool is_root = getauxval(AT_UID) == 0 || getauxval(AT_EUID) == 0;
  const bool is_asked_for = option_origins[OptionId::helper].source != OptionSource::builtin;
  const bool is_unwatched = !talus_library_parts.guards_credentials && is_root && !is_asked_for;
  const bool is_off = !os::System::has_threads || !options.helper || os::page_watch.is_by_libc();
  if (is_off || os::System::is_secure() || is_unwatched) {
    return statistics_printer.is_left_to_paths.store_init(true);
  }
  if (talus_library_parts.guards_credentials) {
    helper.process_id.store_init(static_cast<uint32_t>(os::System::process_id()));
  }
  helper.shared_is_allowed.store_init(true);
}

// Called before the helper's code is unloaded, or before the process ends.
inline void end_helper_for_ever(uint64_t patience_ms) noexcept {
  if (is_without_helper()) return;
  end_helper(Ended::for_ever, patience_ms);
  HelperLife* life = helper.shared_life.load_acquire();
  if (life != nullptr && life->shared_state.load_acquire() == HelperState::absent) {
    empty_room(*life);
  }
}

}  // namespace talus::core

#endif  // TALUS_THREADS_HELPER_HPP
