// Signals rain on threads that allocate: no torn state, no spoilt errno, no lost wake-up.
//
// Handlers run on an alternate stack and call nothing of the allocator, as POSIX demands; they only
// interrupt it anywhere, including its system calls. Blocks travel between four threads and are
// checked; errno after free must be the caller's.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cerrno>
#include <csignal>
#include <malloc.h>
#include <pthread.h>

namespace {

constexpr int thread_count = 4;
constexpr std::size_t slots = 256;
constexpr double seconds = 2.0;
constexpr int marker = 4242;

struct Block {
  std::size_t size;
};

std::atomic<Block*> shared_slots[slots];
std::atomic<bool> is_over{false};
std::atomic<std::size_t> handled{0};
std::atomic<std::size_t> operations{0};

void on_signal(int) {
  const int kept = errno;
  handled.fetch_add(1, std::memory_order_relaxed);
  volatile char depth[2000];
  depth[0] = 1;
  depth[sizeof(depth) - 1] = depth[0];
  errno = kept;
}

Block* make_block(probe::Random& random) {
  const std::size_t size =
      sizeof(Block) + (random.below(50) == 0 ? random.below(600000) : random.below(2000));
  auto* block = static_cast<Block*>(malloc(size));
  block->size = size;
  probe::fill(block + 1, size - sizeof(Block), size);
  return block;
}

void end_block(Block* block) {
  if (block == nullptr) return;
  PROBE_EXPECT(probe::is_filled(block + 1, block->size - sizeof(Block), block->size),
               "a block of %zu bytes changed", block->size);
  errno = marker;
  free(block);
  PROBE_EXPECT(errno == marker, "free left errno %d", errno);
}

void* exchange_blocks(void* argument) {
  static thread_local char alternate[64 * 1024];
  stack_t stack{};
  stack.ss_sp = alternate;
  stack.ss_size = sizeof(alternate);
  sigaltstack(&stack, nullptr);
  probe::Random random(reinterpret_cast<std::size_t>(argument) + 1);
  while (!is_over.load(std::memory_order_relaxed)) {
    end_block(shared_slots[random.below(slots)].exchange(make_block(random)));
    operations.fetch_add(1, std::memory_order_relaxed);
  }
  return nullptr;
}

}  // namespace

int main() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;  // no SA_RESTART: interrupted system calls return EINTR
  sigaction(SIGUSR1, &action, nullptr);
  pthread_t threads[thread_count];
  for (std::size_t i = 0; i < thread_count; ++i) {
    pthread_create(&threads[i], nullptr, exchange_blocks, reinterpret_cast<void*>(i));
  }
  const double end = probe::now_seconds() + seconds;
  for (std::size_t i = 0; probe::now_seconds() < end; ++i) {
    pthread_kill(threads[i % thread_count], SIGUSR1);
    if (i % 64 == 0) probe::sleep_ms(1);
  }
  is_over = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  for (auto& slot : shared_slots) end_block(slot.load());
  probe::figure("signals handled", static_cast<double>(handled.load()), "");
  PROBE_EXPECT(handled > 1000, "only %zu signals arrived", handled.load());
  PROBE_EXPECT(operations > 10000, "only %zu operations in 2 s", operations.load());
  return probe::verdict();
}
