// What one thread took to the last byte and freed serves another thread (N20).
//
// A thread that existed before is asked for memory after the main thread exhausted a limit of 512
// MiB of addresses and freed everything: 100 MiB in one block, then most of the room in 64 KiB
// blocks. Allocators that keep freed addresses for the first thread's size class or arena fail,
// and some crash, since a thread's first call needs memory itself.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <thread>

namespace {

constexpr std::size_t limit_bytes = 512 * probe::mib;
constexpr std::size_t block_bytes = 64 * probe::kib;

struct Node {
  Node* next;
};

std::size_t take_and_give() {
  Node* list = nullptr;
  std::size_t total = 0;
  while (auto* node = static_cast<Node*>(probe::opaque(malloc(block_bytes)))) {
    node->next = list;
    list = node;
    total += block_bytes;
  }
  while (list != nullptr) {
    Node* next = list->next;
    free(list);
    list = next;
  }
  return total;
}

}  // namespace

int main() {
  // Started before the limit: what is asked is its memory, not room for another stack.
  std::atomic<bool> is_freed{false};
  void* single = nullptr;
  std::size_t total = 0;
  std::thread other([&] {
    while (!is_freed) probe::sleep_ms(5);
    single = probe::opaque(malloc(100 * probe::mib));
    free(single);
    total = take_and_give();
  });
  rlimit limit{limit_bytes, limit_bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) probe::skip("no RLIMIT_AS");
  const std::size_t taken = take_and_give();
  is_freed = true;
  other.join();
  PROBE_EXPECT(single != nullptr, "no 100 MiB for another thread");
  PROBE_EXPECT(total >= taken / 10 * 8, "%zu KiB for another thread after %zu KiB for the first",
               total / 1024, taken / 1024);
  return probe::verdict();
}
