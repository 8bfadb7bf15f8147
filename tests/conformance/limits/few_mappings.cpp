// Where the kernel allows few mappings more, an allocator refuses at worst (N22): 2000 are left.
//
// The process first makes mappings of its own until vm.max_map_count allows 2000 more. Where the
// setting itself is as low (with_settings.sh) it makes none. Then three threads take blocks of 20
// KiB and of 200 KiB to 1 MiB, free every second, trim, and let the others grow. An allocator that
// purges, splits or guards by mappings runs out of them. A block may be refused, with ENOMEM. None
// may be damaged, and nothing may end the process. Once all is free the allocator must serve blocks
// again.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cerrno>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

namespace {

constexpr std::size_t left_count = 2000;
constexpr std::size_t thread_count = 3;
constexpr std::size_t middle_count = 5000;
constexpr std::size_t large_count = 600;
constexpr std::size_t again_count = 500;

std::atomic<std::size_t> shared_refused{0};
pthread_barrier_t all_are_there;

struct Block {
  unsigned* at = nullptr;
  std::size_t bytes = 0;
};
Block middle[thread_count][middle_count];
Block large[thread_count][large_count];
void* again[again_count];

std::size_t allowed_count() {
  std::size_t count = 0;
  probe::for_each_line("/proc/sys/vm/max_map_count",
                       [&](const char* line) { count = std::strtoull(line, nullptr, 10); });
  return count;
}

// Makes mappings until left_count more are allowed. Returns false where the machine has no such
// bound, or one too high.
bool leave_few_mappings() {
  const std::size_t allowed = allowed_count();
  const std::size_t now = probe::map_count();
  if (allowed == 0 || allowed > 2000000) return false;
  if (now + left_count >= allowed) return true;
  const std::size_t pairs = (allowed - now - left_count) / 2;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* base = static_cast<char*>(mmap(nullptr, 2 * pairs * page, PROT_NONE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED) return false;
  for (std::size_t i = 0; i < pairs; ++i) {
    if (mprotect(base + 2 * i * page, page, PROT_READ) != 0) return false;
  }
  return true;
}

// A null is counted, and must have been explained.
bool is_had(const void* block, std::size_t bytes) {
  if (block != nullptr) return true;
  PROBE_EXPECT(errno == ENOMEM, "%zu bytes are refused with errno %d", bytes, errno);
  shared_refused.fetch_add(1);
  return false;
}

void take(Block& block, std::size_t bytes, unsigned mark) {
  errno = 0;
  auto* at = static_cast<unsigned*>(probe::opaque(malloc(bytes)));
  if (!is_had(at, bytes)) return;
  block = Block{at, bytes};
  at[0] = mark;
  at[bytes / sizeof(unsigned) - 1] = mark;
}

void check(const Block& block, unsigned mark) {
  if (block.at == nullptr) return;
  PROBE_EXPECT(block.at[0] == mark, "the start of %zu bytes was lost", block.bytes);
}

void grow(Block& block, unsigned mark) {
  if (block.at == nullptr) return;
  const std::size_t last = block.bytes / sizeof(unsigned) - 1;
  errno = 0;
  auto* at = static_cast<unsigned*>(probe::opaque(realloc(block.at, 2 * block.bytes)));
  if (!is_had(at, 2 * block.bytes)) return;
  block = Block{at, 2 * block.bytes};
  PROBE_EXPECT(at[last] == mark, "the end of %zu bytes was lost", block.bytes);
}

void drop(Block& block) {
  free(block.at);
  block = Block{};
}

void* work(void* argument) {
  const std::size_t self = reinterpret_cast<std::size_t>(argument);
  auto& own_middle = middle[self];
  auto& own_large = large[self];
  const auto mark = [self](std::size_t i) { return static_cast<unsigned>(self << 24 | (i + 1)); };
  probe::Random random(self + 1);
  pthread_barrier_wait(&all_are_there);
  for (std::size_t i = 0; i < middle_count; ++i) take(own_middle[i], 20 * probe::kib, mark(i));
  for (std::size_t i = 0; i < large_count; ++i) {
    take(own_large[i], random.between(200 * probe::kib, probe::mib), mark(i));
  }
  for (std::size_t i = 0; i < middle_count; i += 2) drop(own_middle[i]);
  for (std::size_t i = 0; i < large_count; i += 2) drop(own_large[i]);
  malloc_trim(0);
  for (std::size_t i = 1; i < large_count; i += 2) grow(own_large[i], mark(i));
  for (std::size_t i = 1; i < middle_count; i += 2) {
    check(own_middle[i], mark(i));
    drop(own_middle[i]);
  }
  for (std::size_t i = 1; i < large_count; i += 2) {
    check(own_large[i], mark(i));
    drop(own_large[i]);
  }
  malloc_trim(0);
  return nullptr;
}

}  // namespace

int main() {
  pthread_barrier_init(&all_are_there, nullptr, thread_count);
  pthread_t threads[thread_count];
  for (std::size_t i = 1; i < thread_count; ++i) {
    if (pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i)) != 0) {
      probe::skip("no threads");
    }
  }
  if (!leave_few_mappings()) probe::skip("mappings are not counted here");
  work(nullptr);
  for (std::size_t i = 1; i < thread_count; ++i) pthread_join(threads[i], nullptr);
  const std::size_t refused = shared_refused.load();
  for (void*& block : again) block = probe::opaque(malloc(100 * probe::kib));
  for (void* block : again) {
    PROBE_EXPECT(block != nullptr, "nothing can be had after all was freed");
    free(block);
  }
  const std::size_t asked = thread_count * (middle_count + large_count + large_count / 2);
  probe::figure("refused", 100.0 * static_cast<double>(refused) / static_cast<double>(asked), "%");
  probe::figure("allowed", static_cast<double>(allowed_count()), "maps");
  return probe::verdict();
}
