// Memory freed before a program falls idle leaves the process (N01): 15 % of the peak after 5 s.
//
// Eight threads fill 33 MiB each in mixed sizes, free everything and sleep; no thread calls the
// allocator any more. Lazily freed pages count as resident, since that is what operators and
// out-of-memory killers see.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <pthread.h>

namespace {

constexpr int thread_count = 8;
constexpr std::size_t bytes_each = 33 * probe::mib;

pthread_barrier_t barrier;

struct Node {
  Node* next;
};

void* fill_free_sleep(void* argument) {
  probe::Random random(reinterpret_cast<std::size_t>(argument) + 1);
  Node* list = nullptr;
  for (std::size_t total = 0; total < bytes_each;) {
    const std::size_t size = random.between(sizeof(Node) + 1, total % 9 == 0 ? 40000 : 600);
    auto* node = static_cast<Node*>(probe::opaque(malloc(size)));
    probe::fill(node + 1, size - sizeof(Node), 1);
    node->next = list;
    list = node;
    total += size;
  }
  pthread_barrier_wait(&barrier);  // full
  pthread_barrier_wait(&barrier);  // measured
  while (list != nullptr) {
    Node* next = list->next;
    free(list);
    list = next;
  }
  pthread_barrier_wait(&barrier);  // empty
  pthread_barrier_wait(&barrier);  // over
  return nullptr;
}

}  // namespace

int main() {
  pthread_barrier_init(&barrier, nullptr, thread_count + 1);
  const std::size_t base = probe::resident_bytes();
  pthread_t threads[thread_count];
  for (std::size_t i = 0; i < thread_count; ++i) {
    pthread_create(&threads[i], nullptr, fill_free_sleep, reinterpret_cast<void*>(i));
  }
  pthread_barrier_wait(&barrier);
  const std::size_t peak = probe::resident_bytes() - base;
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  const bool is_released =
      probe::within(5.0, [&] { return probe::resident_bytes() <= base + peak / 100 * 15; });
  // Pages may still leave when the bar is met; the figure is the end.
  const std::size_t left = probe::saturating_difference(probe::settled_resident_bytes(), base);
  const double share = 100.0 * static_cast<double>(left) / static_cast<double>(peak);
  PROBE_EXPECT(is_released, "%.0f %% of %zu KiB stay resident", share, peak / 1024);
  probe::figure("kept when idle", share, "% of peak");
  pthread_barrier_wait(&barrier);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return probe::verdict();
}
