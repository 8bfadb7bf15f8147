// SPDX-License-Identifier: MIT
// fuzz/main: random calls of the whole interface of Talus, compared with a shadow of the heap.
//
// Usage: fuzz_calls [name=value...], see settings.hpp. It runs for its seconds with its threads, or
// alone: then the seed decides each call. It checks everything at rest now and then, and frees all
// in the end. Exit status: 0, 99 after a failure, or 77 where it can do nothing.
// run.py draws settings and options of Talus by seeds. README.md says how to repeat a failure.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <unistd.h>

#include "at_rest.hpp"
#include "forks.hpp"
#include "instances.hpp"
#include "process_calls.hpp"
#include "refusals.hpp"
#include "steps.hpp"
#include "talus/talus.h"
#include "workers.hpp"

namespace {

using namespace fuzz;

void rest() {
  if (settings.address_limit) lift_address_limit();
  const int refusals = set_refusals(0);
  check_at_rest(true);
  if (settings.forks && one_in(3)) fork_at_rest();
  if (settings.trims && one_in(6)) talus_trim(0);
  set_refusals(refusals);
}

void run_alone(double end) {
  constexpr size_t steps_between_rests = 500;
  for (uint64_t taken = 0; settings.steps != 0 ? taken < settings.steps : now_seconds() < end;
       taken += steps_between_rests) {
    take_steps(steps_between_rests);
    if (one_in(20)) rest();
  }
}

void run_workers(double end) {
  double next_rest = now_seconds() + 1;
  start_signals();
  while (now_seconds() < end) {
    self().progress.fetch_add(1, std::memory_order_relaxed);
    usleep(3000);
    revive_workers();
    if (now_seconds() < next_rest) continue;
    pause_workers();
    rest();
    resume_workers();
    next_rest = now_seconds() + 0.4 + static_cast<double>(draw(2000)) / 1000;
  }
  end_workers();
  stop_signals();
}

// What libc allocates once, and so is no loss.
void warm_up() {
  pthread_t thread;
  const auto nothing = [](void*) -> void* {
    free(malloc(100));
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, nothing, nullptr) == 0) pthread_join(thread, nullptr);
  if (FILE* file = fopen("/dev/null", "w")) fclose(file);
}

// Without workers a run shall repeat itself, so that addresses are the same in each.
void fix_addresses(char** words) {
  const int now = personality(0xffffffff);
  if (now < 0 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) >= 0) {
    execv("/proc/self/exe", words);
  }
}

void begin() {
  static uint8_t signal_stack[64 * kib];
  stack_t stack{};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  sigaltstack(&stack, nullptr);
  this_thread = &threads[0];
  self().random.start(settings.seed);
  self().os_id.store(getpid());
  self().life.store(Life::running);
  watch_for_crashes();
  prepare_process_calls();
  prepare_workers();
  warm_up();
}

void finish() {
  lift_all_limits();
  set_refusals(0);
  talus_set_limit_handler(nullptr);
  if (settings.limits) talus_set_limits(0, 0);
  check_at_rest(true);
  const size_t resident = read_memory().resident_bytes;
  free_all();
  check_ended(resident);
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  say("ok: seed %llu, %llu steps, %llu allocations refused, %llu system calls refused, %llu "
      "forks, %llu heaps, %llu threads",
      number(settings.seed), number(step_total.load()), number(refused_count.load()),
      number(count_refusals()), number(fork_total.load()), number(instance_total.load()),
      number(worker_total.load()));
}

}  // namespace

int main(int count, char** words) {
  if (!read_settings(count, words)) return 2;
  if (settings.threads == 0) fix_addresses(words);
  begin();
  if (settings.refusals && !start_refusals()) {
    say("skipped: system calls cannot be refused here");
    return skipped_status;
  }
  if (!make_places()) fail("no memory for the places");
  start_watchdog();
  if (!prepare_rest_checks()) fail("no memory for the checks");
  const double end = now_seconds() + static_cast<double>(settings.seconds);
  if (settings.threads == 0) {
    run_alone(end);
  } else {
    run_workers(end);
  }
  finish();
  stop_watchdog();
  return 0;
}
