// SPDX-License-Identifier: MIT
// fuzz/workers.cpp: the life of a thread, pauses, signals.
#include "workers.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bounded.hpp"
#include "default_heap.hpp"
#include "steps.hpp"
#include "talus/talus.h"

namespace fuzz {

std::atomic<uint64_t> worker_total;

namespace {

constexpr size_t steps_between_pauses = 16;
constexpr size_t small_stack_bytes = 128 * kib;
constexpr size_t signal_stack_bytes = 32 * kib;

std::atomic<bool> must_pause;
std::atomic<bool> must_end;
std::atomic<bool> must_end_signals;
std::atomic<int> paused_count;
pthread_key_t late_key;
pthread_t signaller;
bool calls_are_counted;  // but not the calls of late destructors
uint8_t signal_stacks[thread_count_max][signal_stack_bytes];

void live_late(void* row) {
  Thread& thread = *static_cast<Thread*>(row);
  if (calls_are_counted) return;
  thread.doing = "living on in a destructor";
  for (int i = 0; i < 30; i++) {
    Place& place = any_place();
    if (!place.try_lock()) continue;
    if (place.owner.load() == Owner::none) {
      allocate_any(place);
    } else if (place.owner.load() == Owner::process) {
      free_any(place, Frees::by_any_call);
    }
    place.unlock();
  }
  if (one_in(2) && thread.budget-- > -2) pthread_setspecific(late_key, row);
}

void stand_still() {
  self().doing = "standing still";
  self().life.store(Life::starting);  // which no watchdog looks at
  paused_count++;
  while (must_pause.load()) usleep(200);
  paused_count--;
  self().life.store(Life::running);
}

void* work(void* row) {
  Thread& thread = *static_cast<Thread*>(row);
  this_thread = &thread;
  stack_t stack{};
  stack.ss_sp = signal_stacks[thread.id];
  stack.ss_size = signal_stack_bytes;
  sigaltstack(&stack, nullptr);
  thread.os_id.store(static_cast<int>(syscall(SYS_gettid)));
  pthread_setspecific(late_key, row);
  thread.prefers_small = one_in(3);
  thread.life.store(Life::running);
  for (; thread.budget > 0 && !must_end.load(); thread.budget -= steps_between_pauses) {
    take_steps(steps_between_pauses);
    if (must_pause.load()) stand_still();
  }
  thread.doing = "ending";
  end_caches();
  for (void*& block : thread.signal_blocks) {
    free(block);
    block = nullptr;
  }
  thread.budget = 0;
  thread.os_id.store(0);
  thread.life.store(Life::over);
  return nullptr;
}

bool start(Thread& thread, uint64_t seed, long budget, size_t stack_bytes) {
  thread.random.start(seed);
  thread.budget = budget;
  thread.journal_end = 0;
  thread.handler_depth = 0;
  for (Thread::Cache& cache : thread.caches) cache = {};
  thread.life.store(Life::starting);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  const int error = pthread_create(&thread.handle, &attributes, work, &thread);
  pthread_attr_destroy(&attributes);
  if (error == 0) return true;
  thread.life.store(Life::none);
  if (!settings.may_fail) fail("no thread: error %d", error);
  return false;
}

void start_worker(Thread& thread) {
  const uint64_t seed = settings.seed * 1000003 + thread.id * 7919 + worker_total++ * 104729;
  const long budget = 500 + static_cast<long>(draw(30000));
  start(thread, seed, budget, one_in(3) ? small_stack_bytes : 0);
}

void join(Thread& thread) {
  self().doing = "joining a thread";
  pthread_join(thread.handle, nullptr);
  thread.life.store(Life::none);
}

// A block of the handler's comes, or is checked and goes.
void on_signal(int) {
  if (this_thread == nullptr || !self().is_interruptible) return;
  const int saved_errno = errno;
  Thread& thread = self();
  const auto now = static_cast<uint64_t>(clock());
  const auto which = static_cast<size_t>(thread.progress.load() + now) % signal_block_count;
  auto* block = static_cast<uint8_t*>(thread.signal_blocks[which]);
  const auto byte_at = [which](size_t offset) { return static_cast<uint8_t>(offset ^ which); };
  if (block != nullptr) {
    for (size_t i = 0; i < thread.signal_bytes[which]; i += 7) {
      if (block[i] != byte_at(i)) fail("contents are lost of a handler's block %p", block);
    }
    free(block);
    block = nullptr;
  } else {
    const size_t bytes = 1 + static_cast<size_t>(mix_bits(thread.progress.load()) % 5000);
    block = static_cast<uint8_t*>(malloc(bytes));
    for (size_t i = 0; block != nullptr && i < bytes; i++) block[i] = byte_at(i);
    thread.signal_bytes[which] = bytes;
  }
  thread.signal_blocks[which] = block;
  errno = saved_errno;
}

void* send_signals(void*) {
  while (!must_end_signals.load()) {
    usleep(300);
    for (const Thread& thread : threads) {
      const int id = thread.os_id.load();
      if (thread.id == 0 || id == 0 || thread.life.load() != Life::running) continue;
      syscall(SYS_tgkill, getpid(), id, SIGUSR1);
    }
  }
  return nullptr;
}

}  // namespace

void prepare_workers() {
  for (uint32_t i = 0; i < thread_count_max; i++) threads[i].id = i;
  pthread_key_create(&late_key, live_late);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  uint64_t value = 0;
  calls_are_counted = talus_get("calls.live_bytes", &value) == 0;
}

void start_signals() {
  if (pthread_create(&signaller, nullptr, send_signals, nullptr) != 0) fail("no thread");
}

void stop_signals() {
  must_end_signals.store(true);
  pthread_join(signaller, nullptr);
}

void revive_workers() {
  for (uint64_t i = 1; i <= settings.threads; i++) {
    if (threads[i].life.load() == Life::over) join(threads[i]);
    if (threads[i].life.load() == Life::none) start_worker(threads[i]);
  }
  self().doing = "waiting";
}

void pause_workers() {
  must_pause.store(true);
  for (;;) {
    int alive = 0;
    for (uint64_t i = 1; i <= settings.threads; i++) {
      if (threads[i].life.load() == Life::over) join(threads[i]);
      if (threads[i].life.load() != Life::none) alive++;
    }
    if (paused_count.load() == alive) break;
    self().doing = "waiting for a pause";
    self().progress.fetch_add(1, std::memory_order_relaxed);
    usleep(200);
  }
}

void resume_workers() {
  must_pause.store(false);
  while (paused_count.load() != 0) usleep(100);
}

void end_workers() {
  must_end.store(true);
  for (uint64_t i = 1; i <= settings.threads; i++) {
    if (threads[i].life.load() != Life::none) join(threads[i]);
  }
}

void forget_workers() {
  must_pause.store(false);
  paused_count.store(0);
}

void start_child_threads(int count) {
  for (Thread& thread : threads) {
    if (count == 0) return;
    if (&thread == this_thread || thread.id == 0) continue;
    if (start(thread, self().random.next(), 200 + static_cast<long>(draw(2000)), 0)) count--;
  }
}

void join_child_threads() {
  for (Thread& thread : threads) {
    if (&thread != this_thread && thread.life.load() != Life::none) join(thread);
  }
}

}  // namespace fuzz
