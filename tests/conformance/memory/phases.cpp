// What is kept beside the live blocks has a cap (N04): 64 MiB and a tenth of what lives, always.
//
// Two threads hold 64 MiB between them and replace it at random, in phases: small blocks, blocks of
// 1 to 8 MiB, small blocks of other sizes. Each tenth of a second both stand still and resident
// memory is compared with what is live: whatever the phase before left may not pile up. Talus'
// cap is its default, TALUS_RETAIN_BYTES=64m. 6 s, in full 60 s.
// SPDX-License-Identifier: MIT
#include "../form.hpp"
#include "../retention.hpp"

#include <pthread.h>

namespace {

constexpr std::size_t worker_count = 2;
constexpr std::size_t live_each = 32 * probe::mib;
constexpr std::size_t cap_bytes = 64 * probe::mib;
constexpr std::size_t slots = 1 << 18;

struct Phase {
  const char* name;
  std::size_t size_min;
  std::size_t size_max;
};

constexpr Phase phases[] = {
    {"16 to 500 bytes", 16, 500},
    {"1 to 8 MiB", probe::mib, 8 * probe::mib},
    {"500 to 6000 bytes", 500, 6000},
};
constexpr std::size_t phase_count = sizeof(phases) / sizeof(phases[0]);

struct Block {
  void* address;
  std::size_t size;
};

struct Worker {
  Block blocks[slots];
  std::size_t count;
  std::size_t live;
};

Worker workers[worker_count];
std::atomic<std::size_t> phase_now{0};
std::atomic<bool> must_stand{false};
std::atomic<std::size_t> standing{0};
std::atomic<bool> is_over{false};

void give_one(Worker& worker, std::size_t at) {
  Block& block = worker.blocks[at];
  PROBE_EXPECT(probe::is_filled(block.address, block.size, block.size),
               "a block of %zu bytes changed", block.size);
  free(block.address);
  worker.live -= block.size;
  block = worker.blocks[--worker.count];
}

void replace(Worker& worker, probe::Random& random) {
  const Phase& phase = phases[phase_now.load(std::memory_order_relaxed)];
  const std::size_t size = random.between(phase.size_min, phase.size_max);
  while (worker.live + size > live_each || worker.count == slots) {
    give_one(worker, random.below(worker.count));
  }
  void* address = probe::opaque(malloc(size));
  if (address == nullptr) {
    probe::fail("malloc(%zu) gives null", size);
    _exit(1);
  }
  probe::fill(address, size, size);
  worker.blocks[worker.count++] = {address, size};
  worker.live += size;
}

void* work(void* argument) {
  Worker& worker = workers[reinterpret_cast<std::size_t>(argument)];
  probe::Random random(reinterpret_cast<std::size_t>(argument) + 5);
  while (!is_over) {
    if (must_stand) {
      ++standing;
      while (must_stand) probe::sleep_ms(1);
      --standing;
    }
    replace(worker, random);
  }
  while (worker.count > 0) give_one(worker, worker.count - 1);
  return nullptr;
}

// Bytes resident beyond the live ones, while both workers stand still.
double sample_share_of_bar(std::size_t base, std::size_t& excess) {
  must_stand = true;
  while (standing != worker_count) probe::sleep_ms(1);
  std::size_t live = 0;
  for (const Worker& worker : workers) live += worker.live;
  excess = probe::saturating_difference(probe::resident_bytes(), base + live);
  must_stand = false;
  while (standing != 0) probe::sleep_ms(1);
  return static_cast<double>(excess) / static_cast<double>(cap_bytes + live / 10);
}

}  // namespace

int main() {
  // The tables' own pages are not the allocator's.
  for (Worker& worker : workers) {
    for (Block& block : worker.blocks) block = {&block, 1};
  }
  const double seconds = probe::seconds_asked(6, 60);
  const double seconds_a_phase = seconds / (2 * phase_count);
  const std::size_t base = probe::resident_bytes();
  pthread_t threads[worker_count];
  for (std::size_t i = 0; i < worker_count; ++i) {
    pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i));
  }
  const double start = probe::now_seconds();
  std::size_t most[phase_count] = {};
  for (double now = 0; now < seconds; now = probe::now_seconds() - start) {
    const std::size_t phase = static_cast<std::size_t>(now / seconds_a_phase) % phase_count;
    phase_now = phase;
    probe::sleep_ms(100);
    std::size_t excess = 0;
    const double share = sample_share_of_bar(base, excess);
    PROBE_EXPECT(share <= probe::tolerance(), "%.1f s, %s: %.1f MiB kept beside the live blocks",
                 now, phases[phase].name, probe::to_mib(excess));
    most[phase] = excess > most[phase] ? excess : most[phase];
  }
  is_over = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  std::size_t worst = 0;
  for (const std::size_t bytes : most) worst = bytes > worst ? bytes : worst;
  probe::figure("kept beside the live", probe::to_mib(worst), "MiB at most");
  for (std::size_t i = 0; i < phase_count; ++i) {
    probe::figure(phases[i].name, probe::to_mib(most[i]), "MiB at most");
  }
  return probe::verdict();
}
