// Starts and works under `ulimit -v` of 64 MiB, of 256 MiB and of 2 GiB (N20).
//
// The limit holds before the first instruction. The program's own files, stack and libraries leave
// a room. 70 % of it must be usable as small blocks. Freed again, the same room must serve as one
// big block (20 MiB, 100 MiB) and as 1 MiB blocks. Allocators that reserve gigabytes fail. The 2
// GiB are requested where the machine has three times as much free.
// SPDX-License-Identifier: MIT
#include "../form.hpp"
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <thread>

namespace {

struct Node {
  Node* next;
};

// Mapped files and the stack: what the limit counts although no allocator asked for it.
std::size_t foreign_bytes() {
  std::size_t bytes = 0;
  probe::for_each_line("/proc/self/maps", [&](const char* line) {
    char* end = nullptr;
    const std::size_t from = std::strtoull(line, &end, 16);
    const std::size_t to = std::strtoull(end + 1, nullptr, 16);
    const bool is_file = std::strchr(line, '/') != nullptr;
    if (is_file || std::strstr(line, "[stack]") != nullptr) bytes += to - from;
  });
  return bytes;
}

std::size_t take_and_give(std::size_t size) {
  Node* list = nullptr;
  std::size_t total = 0;
  while (auto* node = static_cast<Node*>(probe::opaque(malloc(size)))) {
    probe::fill(node + 1, size - sizeof(Node), size);
    node->next = list;
    list = node;
    total += size;
  }
  while (list != nullptr) {
    Node* next = list->next;
    free(list);
    list = next;
  }
  return total;
}

void expect_usable(std::size_t size, std::size_t limit, std::size_t percent_min) {
  const std::size_t room = limit - foreign_bytes();
  const std::size_t total = take_and_give(size);
  PROBE_EXPECT(total >= room / 100 * percent_min, "blocks of %zu bytes: %zu of %zu KiB usable",
               size, total / 1024, room / 1024);
  char name[60];
  std::snprintf(name, sizeof(name), "blocks of %zu in %zu MiB", size, limit / probe::mib);
  probe::figure(name, 100.0 * static_cast<double>(total) / static_cast<double>(room), "% usable");
}

int limited(std::size_t limit, std::size_t single) {
  expect_usable(3000, limit, 70);
  char* block = static_cast<char*>(probe::opaque(malloc(single)));
  PROBE_EXPECT(block != nullptr, "%zu MiB in one block after all was freed", single / probe::mib);
  if (block != nullptr) block[0] = block[single - 1] = 1;
  free(block);
  expect_usable(probe::mib, limit, 70);
  // Headers and rounding weigh on small blocks; the room of the large ones must serve again.
  expect_usable(100, limit, 60);
  return probe::verdict();
}

// glibc gives a thread's stack 8 MiB of addresses: in 64 MiB that is a lot, but it must go.
int limited_with_thread() {
  int result = 0;
  std::thread([&] {
    void* block = probe::opaque(malloc(5000));
    result = block != nullptr;
    free(block);
  }).join();
  return result == 1 ? 0 : 1;
}

bool limit_addresses(std::size_t bytes) {
  rlimit limit{bytes, bytes};
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t small = 64 * probe::mib;
  constexpr std::size_t medium = 256 * probe::mib;
  if (probe::is_role(argc, argv, "small")) return limited(small, 20 * probe::mib);
  constexpr std::size_t large = 2 * probe::gib;
  if (probe::is_role(argc, argv, "medium")) return limited(medium, 100 * probe::mib);
  if (probe::is_role(argc, argv, "large")) return limited(large, 100 * probe::mib);
  if (probe::is_role(argc, argv, "thread")) return limited_with_thread();
  probe::expect_ok(probe::relaunch("small", 20, [] { return limit_addresses(small); }),
                   "ulimit -v 65536");
  probe::expect_ok(probe::relaunch("thread", 20, [] { return limit_addresses(small); }),
                   "a thread under ulimit -v 65536");
  probe::expect_ok(probe::relaunch("medium", 20, [] { return limit_addresses(medium); }),
                   "ulimit -v 262144");
  if (probe::fitting_bytes(large) == large) {
    probe::expect_ok(probe::relaunch("large", 40, [] { return limit_addresses(large); }),
                     "ulimit -v 2097152");
  }
  return probe::verdict();
}
