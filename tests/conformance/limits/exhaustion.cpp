// Running out of memory is an answer, and afterwards everything works again (N20, N30).
//
// Under a limit of 512 MiB of addresses blocks are taken until null: errno must be ENOMEM, most of
// the room must have been usable, the live blocks intact. After they are freed the room serves
// again, for the same size, for another, and in one piece. Three rounds show that no round
// leaves less than the one before.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cerrno>
#include <malloc.h>
#include <sys/resource.h>

namespace {

constexpr std::size_t limit_bytes = 512 * probe::mib;

struct Node {
  Node* next;
};

// Takes blocks of one size until null and gives back how many bytes that were.
std::size_t take_all(std::size_t size, Node*& list) {
  std::size_t total = 0;
  while (true) {
    errno = 0;
    auto* node = static_cast<Node*>(probe::opaque(malloc(size)));
    if (node == nullptr) break;
    probe::fill(node + 1, size - sizeof(Node), size);
    node->next = list;
    list = node;
    total += size;
  }
  PROBE_EXPECT(errno == ENOMEM, "exhaustion by %zu bytes sets errno %d", size, errno);
  return total;
}

void give_all(Node*& list, std::size_t size) {
  while (list != nullptr) {
    Node* node = list;
    list = node->next;
    PROBE_EXPECT(probe::is_filled(node + 1, size - sizeof(Node), size), "a block of %zu changed",
                 size);
    free(node);
  }
}

void check_refusals_at_the_brim() {
  void* aligned = nullptr;
  PROBE_EXPECT(posix_memalign(&aligned, 4096, 64 * probe::mib) == ENOMEM, "posix_memalign");
  errno = 0;
  PROBE_EXPECT(probe::opaque(calloc(64, probe::mib)) == nullptr && errno == ENOMEM, "calloc");
  errno = 0;
  PROBE_EXPECT(probe::opaque(aligned_alloc(4096, 64 * probe::mib)) == nullptr && errno == ENOMEM,
               "aligned_alloc");
}

void run_round(std::size_t size, std::size_t room) {
  Node* list = nullptr;
  const std::size_t total = take_all(size, list);
  PROBE_EXPECT(total >= room / 10 * 7, "blocks of %zu: %zu of %zu KiB usable", size, total / 1024,
               room / 1024);
  check_refusals_at_the_brim();
  give_all(list, size);
}

}  // namespace

int main() {
  rlimit limit{limit_bytes, limit_bytes};
  const std::size_t room = limit_bytes - 24 * probe::mib;
  if (setrlimit(RLIMIT_AS, &limit) != 0) probe::skip("no RLIMIT_AS");
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : {std::size_t{400}, 64 * probe::kib, 2 * probe::mib}) {
      run_round(size, room);
    }
  }
  void* block = probe::opaque(malloc(100 * probe::mib));
  PROBE_EXPECT(block != nullptr, "no 100 MiB in one block after the exhaustion");
  free(block);
  return probe::verdict();
}
