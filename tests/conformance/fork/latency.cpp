// fork stays quick in a process with 200 threads that have all allocated (N12).
//
// Locking every heap before fork must not make it slow. The floor is the bare clone system call in
// the same process, which runs no handlers; the median of fork may be 3 times that. With
// CONFORMANCE_FORK_FLOOR_US (say the figure of another allocator on this machine) the bar is 1.2
// times that number instead.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <malloc.h>
#include <mutex>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace {

constexpr int thread_count = 200;
constexpr int forks = 100;
constexpr double ratio_max = 3.0;

std::mutex mutex;
std::condition_variable changed;
int ready;
bool is_over;

void allocate_and_sleep() {
  std::vector<void*> blocks;
  probe::Random random(1);
  for (int i = 0; i < 300; ++i) blocks.push_back(malloc(random.between(1, 3000)));
  for (std::size_t i = 0; i < blocks.size(); i += 2) free(blocks[i]);
  std::unique_lock<std::mutex> lock(mutex);
  ++ready;
  changed.notify_all();
  changed.wait(lock, [] { return is_over; });
  for (std::size_t i = 1; i < blocks.size(); i += 2) free(blocks[i]);
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The time until the call returns in the parent, not the child's life.
template <typename Fork>
void sample(std::vector<double>& values, Fork call_fork) {
  const double start = probe::now_seconds();
  const auto child = static_cast<pid_t>(call_fork());
  if (child == 0) syscall(SYS_exit_group, 0);
  values.push_back((probe::now_seconds() - start) * 1e6);
  waitpid(child, nullptr, 0);
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(allocate_and_sleep);
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [] { return ready == thread_count; });
  }
  std::vector<double> bare;
  std::vector<double> full;
  for (int i = 0; i < forks; ++i) {
    sample(bare, [] { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); });
    sample(full, [] { return fork(); });
  }
  const double floor = median(bare);
  const double latency = median(full);
  probe::figure("fork", latency, "us");
  probe::figure("bare clone", floor, "us");
  probe::figure("ratio", latency / floor, "x");
  const char* given = getenv("CONFORMANCE_FORK_FLOOR_US");
  const double bar = given != nullptr ? 1.2 * std::atof(given) : ratio_max * floor;
  PROBE_EXPECT(latency <= bar, "fork takes %.0f us, the bar is %.0f us", latency, bar);
  {
    std::lock_guard<std::mutex> lock(mutex);
    is_over = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  return probe::verdict();
}
