// Complaint j: a large process that allocates in several threads and forks repeatedly.
//
// Measures: the cost of fork with a grown heap, and how much a child that frees and allocates
// copies (each inherited page it writes). Also whether a child ever hangs on a lock that another
// thread held at the fork.
// Method: the parent fills 64 MB with stamped blocks, and T threads continuously replace blocks of
// their own. Main forks repeatedly. The child checks and frees every 256th inherited block,
// allocates, checks and frees 1000 blocks of its own, and ends. Figure: milliseconds from fork to
// the child's end. fork_ms is the call alone; child_kib_per_kib is the memory made resident by a
// child's page faults over its requested bytes. A child that takes four seconds is a hang: status
// 72.
//
// SPDX-License-Identifier: MIT

#include <sys/resource.h>
#include <sys/wait.h>

#include "workload.hpp"

namespace {

constexpr int exit_child_failed = 72;
constexpr double forks_default = 60;
constexpr size_t parent_blocks = 200000;
constexpr size_t size_min = 16;
constexpr size_t size_max = 640;
constexpr size_t blocks_per_free = 256;
constexpr size_t child_blocks = 1000;
constexpr unsigned hang_s = 4;
constexpr size_t own_slots = 512;

bench::Slot inherited[parent_blocks];

void fill(bench::Slot& slot, bench::Random& random) {
  const uint64_t draw = random.next();
  slot.fill(size_min + (draw >> 40) % (size_max - size_min), bench::tag_of(draw));
}

struct Background {
  std::atomic<bool> shared_is_stopped{false};
  bench::PaddedCounter ops[bench::threads_max];

  void operator()(size_t thread) {
    bench::Random random(thread + 100);
    bench::Slot slots[own_slots] = {};
    int64_t done = 0;
    while (!shared_is_stopped.load(std::memory_order_relaxed)) {
      bench::Slot& slot = slots[random.below(own_slots)];
      slot.empty();
      fill(slot, random);
      done += 2;
    }
    for (bench::Slot& slot : slots) slot.empty();
    ops[thread].set(done);
  }
};

// Each child requests the same sizes: its random numbers start alike.
uint64_t live_as_child() {
  alarm(hang_s);
  for (size_t at = 0; at < parent_blocks; at += blocks_per_free) inherited[at].empty();
  static bench::Slot own[child_blocks];
  bench::Random random(7);
  uint64_t bytes = 0;
  for (bench::Slot& slot : own) {
    fill(slot, random);
    bytes += slot.bytes;
  }
  for (bench::Slot& slot : own) slot.empty();
  return bytes;
}

struct Totals {
  double fork_s = 0;
  double whole_s = 0;
  double slowest_s = 0;
  uint64_t child_faults = 0;
};

void fork_once(Totals& totals) {
  const double start_s = bench::now_s();
  const pid_t child = fork();
  if (child == 0) {
    live_as_child();
    _exit(0);
  }
  if (child < 0) bench::leave(exit_child_failed, "fork failed");
  totals.fork_s += bench::now_s() - start_s;
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) bench::leave(exit_child_failed, "wait4 failed");
  const double seconds = bench::now_s() - start_s;
  if (WIFEXITED(status) && WEXITSTATUS(status) == bench::exit_wrong_data) {
    bench::leave(bench::exit_wrong_data, "a child found wrong data");
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    bench::leave(exit_child_failed, "a child hung");
  }
  if (status != 0) bench::leave(exit_child_failed, "a child ended with an error");
  totals.whole_s += seconds;
  if (seconds > totals.slowest_s) totals.slowest_s = seconds;
  totals.child_faults += static_cast<uint64_t>(usage.ru_minflt);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const size_t threads = arguments.threads(bench::cores());
  const size_t forks = bench::scaled(arguments.real("forks", forks_default), scale);
  arguments.finish();
  bench::Random random(1641);
  uint64_t live = sizeof inherited;
  for (bench::Slot& slot : inherited) {
    fill(slot, random);
    live += slot.bytes;
  }
  // The blocks that a child frees must lie anywhere in the heap.
  bench::shuffle(inherited, parent_blocks, random);
  static Background work;
  bench::Team<Background> team(threads, work);
  Totals totals;
  const double start_s = bench::now_s();
  for (size_t at = 0; at < forks; at++) fork_once(totals);
  const double elapsed_s = bench::now_s() - start_s;
  work.shared_is_stopped.store(true, std::memory_order_relaxed);
  team.join();
  for (bench::Slot& slot : inherited) slot.empty();

  const double count = static_cast<double>(forks);
  const double fault_kib = static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
  uint64_t asked = 0;
  bench::Random child_random(7);
  for (size_t at = 0; at < child_blocks; at++)
    asked += size_min + (child_random.next() >> 40) % (size_max - size_min);
  bench::Result result("Cj fork", threads + 1, totals.whole_s * 1e3 / count, "ms/fork", false,
                       forks * 2 * child_blocks, elapsed_s);
  result.number("fork_ms", totals.fork_s * 1e3 / count);
  result.number("slowest_ms", totals.slowest_s * 1e3);
  result.number("child_kib_per_kib", static_cast<double>(totals.child_faults) / count * fault_kib *
                                         1024 / static_cast<double>(asked));
  result.count("peak_requested_bytes", live);
  result.print();
  return 0;
}
