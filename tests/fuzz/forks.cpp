// SPDX-License-Identifier: MIT
// fuzz/forks.cpp: what is held at a fork, the life of a child, and the wait for its end.
#include "forks.hpp"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "at_rest.hpp"
#include "bounded.hpp"
#include "instances.hpp"
#include "process_calls.hpp"
#include "refusals.hpp"
#include "steps.hpp"
#include "talus/talus.h"
#include "workers.hpp"

namespace fuzz {

std::atomic<uint64_t> fork_total;

namespace {

constexpr int generations_max = 3;
constexpr int child_thread_count = 2;

// Of a heap at the fork, or of a place.
enum class Hold : uint8_t { none, shared, alone };
struct Holds {
  Hold places[place_count_max];
  Hold instances[instance_count];
  Hold bounded[bounded_count];
};
Holds holds;  // of the thread that forks
std::atomic<bool> is_forking;

Hold hold(Gate& gate, bool rather_alone) {
  if (rather_alone && gate.try_have_alone()) return Hold::alone;
  return gate.try_use() ? Hold::shared : Hold::none;
}

void let_go(Gate& gate, Hold held) {
  if (held == Hold::alone) gate.open();
  if (held == Hold::shared) gate.end_use();
}

void hold_some(bool is_rest) {
  const size_t one_of = is_rest ? 1 : 1 + draw(3);
  for (size_t i = 0; i < settings.places; i++) {
    const bool is_held = one_in(one_of) || one_of == 1 ? places[i].try_lock() : false;
    holds.places[i] = is_held ? Hold::alone : Hold::none;
  }
  for (int i = 0; i < instance_count; i++) {
    holds.instances[i] = hold(instances[i].gate, is_rest || one_in(2));
  }
  for (int i = 0; i < bounded_count; i++) {
    holds.bounded[i] = hold(bounded_instances[i].gate, is_rest || one_in(2));
  }
}

void let_all_go() {
  for (int i = 0; i < instance_count; i++) let_go(instances[i].gate, holds.instances[i]);
  for (int i = 0; i < bounded_count; i++) let_go(bounded_instances[i].gate, holds.bounded[i]);
  for (size_t i = 0; i < settings.places; i++) {
    if (holds.places[i] == Hold::alone) places[i].unlock();
  }
}

// In the child: false where its users were in the middle of its making or its end.
template <typename Heap>
bool inherit_heap(Heap& heap, Hold held) {
  heap.is_uncertain = heap.is_uncertain || held != Hold::alone;
  if (held == Hold::none) {
    heap.gate.close_for_ever();
  } else {
    heap.gate.open();
  }
  return held == Hold::alone;
}

bool is_known(const Place& place, Hold held) {
  if (place.lock.load() == Place::lost) return false;
  const Owner owner = place.owner.load();
  const int number = place.number.load();
  const bool is_held = held == Hold::alone;
  if (owner != Owner::instance && owner != Owner::bounded) return is_held;
  if (number < 0) return false;
  const Hold heap = owner == Owner::instance ? holds.instances[number] : holds.bounded[number];
  return heap == Hold::alone || (heap == Hold::shared && is_held);
}

// Everything that was used by threads that are not here. True: nothing was.
bool inherit(bool is_rest) {
  for (Thread& thread : threads) {
    if (&thread == this_thread) continue;
    thread.life.store(Life::none);
    thread.os_id.store(0);
    if (is_rest) continue;
    memset(thread.signal_blocks, 0, sizeof thread.signal_blocks);
  }
  bool is_exact = is_rest;
  for (int i = 0; i < instance_count; i++) {
    is_exact = inherit_heap(instances[i], holds.instances[i]) && is_exact;
  }
  for (int i = 0; i < bounded_count; i++) {
    is_exact = inherit_heap(bounded_instances[i], holds.bounded[i]) && is_exact;
  }
  for (size_t i = 0; i < settings.places; i++) {
    const bool is_here = is_known(places[i], holds.places[i]);
    places[i].lock.store(is_here ? 0 : Place::lost);
    is_exact = is_exact && is_here;
  }
  return is_exact;
}

[[noreturn]] void live_as_child(bool is_rest) {
  generation++;
  is_forking.store(false);
  self().life.store(Life::running);
  self().random.start(self().random.next() ^ 0x5555);
  set_refusals(0);
  forget_workers();
  const bool is_exact = inherit(is_rest);
  if (settings.address_limit) lift_address_limit();
  settings.live_mib = live_bytes.load() / mib + 8;
  check_at_rest(is_exact);
  const bool has_threads = settings.child_threads && generation < generations_max;
  if (has_threads) start_child_threads(child_thread_count);
  take_steps(50 + draw(600));
  if (has_threads) join_child_threads();
  set_refusals(0);
  if (settings.address_limit) lift_address_limit();
  if (settings.limits) {
    talus_set_limit_handler(nullptr);
    talus_set_limits(0, 0);
  }
  check_at_rest(is_exact);
  if (one_in(2)) {
    free_all();
    talus_trim(0);
    check_emptied(is_exact);
  }
  self().doing = "exiting in a child";
  if (one_in(6)) exit(0);
  _exit(0);
}

void wait_for(pid_t child) {
  // A grandchild that hangs is told by its own parent.
  const double end = now_seconds() + 60 - 15 * generation;
  for (int tries = 0; now_seconds() < end; tries++) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
      if (WIFEXITED(status) && WEXITSTATUS(status) == failed_status) _exit(failed_status);
      fail("a child ends with status %x", static_cast<unsigned>(status));
    }
    usleep(tries < 100 ? 500 : 10000);  // or less: signals come
    self().progress.fetch_add(1, std::memory_order_relaxed);
  }
  report_hang(child);
}

void fork_once(bool is_rest) {
  if (is_forking.exchange(true)) return;
  self().doing = "forking";
  fork_total++;
  hold_some(is_rest);
  const pid_t child = fork();
  const int error = errno;
  if (child == 0) live_as_child(is_rest);
  let_all_go();
  self().doing = "waiting for a child";
  if (child > 0) {
    wait_for(child);
  } else if (!settings.may_fail && error != ENOMEM && error != EAGAIN) {
    fail("fork: %s", strerror(error));
  }
  is_forking.store(false);
}

}  // namespace

void fork_now_and_then() {
  // After the program closed the descriptor of the heap's file, a child sees what other threads
  // write until it has its copy (docs/providers.md).
  if (settings.descriptors && settings.threads != 0) return;
  if (generation < generations_max && one_in(generation > 0 ? 6 : 3)) fork_once(false);
}

void fork_at_rest() { fork_once(true); }

}  // namespace fuzz
