// Fibers that change threads between two calls (N44).
//
// 32 contexts made with makecontext are resumed by whichever of two threads is free, each taking,
// checking and freeing blocks between switches. What an allocator remembers about "this thread"
// must not live across a call, or two threads come to use one heap.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <mutex>
#include <thread>
#include <ucontext.h>

namespace {

constexpr std::size_t fiber_count = 32;
constexpr std::size_t fiber_stack_bytes = 128 * probe::kib;
constexpr int turns = 3000;
constexpr std::size_t crowd = 40;

struct Fiber {
  ucontext_t context;
  ucontext_t* resumer;
  std::size_t number;
  bool is_running = false;
  bool is_done = false;
  std::thread::id last_thread;
  std::size_t migrations = 0;
};

Fiber fibers[fiber_count];
std::mutex mutex;
std::size_t done_count;

// A context switch must be a real call: nothing of the thread may be carried over in registers.
__attribute__((noinline)) void leave(Fiber& fiber) { swapcontext(&fiber.context, fiber.resumer); }

void run_fiber(unsigned number) {
  Fiber& fiber = fibers[number];
  probe::Random random(number + 1);
  void* blocks[crowd] = {};
  std::size_t sizes[crowd] = {};
  for (int turn = 0; turn < turns; ++turn) {
    const std::size_t i = random.below(crowd);
    if (blocks[i] != nullptr) {
      PROBE_EXPECT(probe::is_filled(blocks[i], sizes[i], i + number), "a fiber's block changed");
      free(blocks[i]);
    }
    sizes[i] = random.below(30) == 0 ? random.between(1, 100000) : random.between(1, 500);
    blocks[i] = probe::opaque(malloc(sizes[i]));
    probe::fill(blocks[i], sizes[i], i + number);
    leave(fiber);
  }
  for (void* block : blocks) free(block);
  fiber.is_done = true;
  while (true) leave(fiber);
}

Fiber* take_fiber(std::size_t& cursor) {
  std::lock_guard<std::mutex> lock(mutex);
  for (std::size_t i = 0; i < fiber_count; ++i) {
    Fiber& fiber = fibers[++cursor % fiber_count];
    if (fiber.is_running || fiber.is_done) continue;
    fiber.is_running = true;
    return &fiber;
  }
  return nullptr;
}

void resume_fibers() {
  std::size_t cursor = 0;
  while (true) {
    Fiber* fiber = take_fiber(cursor);
    if (fiber == nullptr) {
      std::lock_guard<std::mutex> lock(mutex);
      if (done_count == fiber_count) return;
      continue;
    }
    ucontext_t own;
    fiber->resumer = &own;
    if (fiber->last_thread != std::this_thread::get_id()) ++fiber->migrations;
    fiber->last_thread = std::this_thread::get_id();
    swapcontext(&own, &fiber->context);
    std::lock_guard<std::mutex> lock(mutex);
    fiber->is_running = false;
    if (fiber->is_done) ++done_count;
  }
}

}  // namespace

int main() {
  for (unsigned i = 0; i < fiber_count; ++i) {
    fibers[i].number = i;
    getcontext(&fibers[i].context);
    fibers[i].context.uc_stack.ss_sp = malloc(fiber_stack_bytes);
    fibers[i].context.uc_stack.ss_size = fiber_stack_bytes;
    fibers[i].context.uc_link = nullptr;
    makecontext(&fibers[i].context, reinterpret_cast<void (*)()>(run_fiber), 1, i);
  }
  std::thread other(resume_fibers);
  resume_fibers();
  other.join();
  std::size_t migrations = 0;
  for (const Fiber& fiber : fibers) migrations += fiber.migrations;
  probe::figure("migrations", static_cast<double>(migrations), "");
  PROBE_EXPECT(migrations > fiber_count, "the fibers hardly changed threads");
  return probe::verdict();
}
