// SPDX-License-Identifier: MIT
// stress/helper_life: a helper that is offered work, ended, kept away and forked from, all at once.
//
// Threads free more than is kept, so that a helper is called for all the time. Others end it and
// keep it away for a moment, as a change of credentials does; the first thread forks. There may
// never be two helpers, one while it is kept away, or one in a child that did not call for it. In
// the end the last helper ends by itself. Under a sanitizer it is a thread of libc with the same
// life.
#include <dirent.h>

#include "child.hpp"

namespace stress::helper_life {

using namespace stress;
using talus::core::Ended;
using talus::core::HelperState;

constexpr int free_threads = 2, end_threads = 2;
talus::core::Atomic<bool> shared_is_over;
talus::core::Atomic<uint32_t> shared_ends;

uint32_t state_of_helper() {
  talus::core::HelperLife* life = talus::core::helper.shared_life.load_acquire();
  return life == nullptr ? uint32_t{HelperState::absent} : life->shared_state.load_acquire();
}

int thread_count() {
  int count = 0;
  DIR* folder = opendir("/proc/self/task");
  STRESS_CHECK(folder != nullptr, "/proc");
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

void free_much(Random& random) {
  void* blocks[16];
  for (void*& block : blocks) block = make_filled(random, mib);
  for (void* block : blocks) check_and_release(block);
}

void keep_freeing(int index) {
  Random random{static_cast<uint64_t>(index)};
  while (!shared_is_over.load_relaxed()) {
    free_much(random);
    talus::core::start_helper();
  }
}

void keep_ending(int index) {
  Random random{static_cast<uint64_t>(100 + index)};
  while (!shared_is_over.load_relaxed()) {
    talus::core::end_helper(Ended::held);
    STRESS_CHECK(state_of_helper() == HelperState::absent, "state %u", state_of_helper());
    talus::core::start_helper();  // must not act
    sleep_us(static_cast<long>(random.below(300)));
    STRESS_CHECK(state_of_helper() == HelperState::absent, "state %u", state_of_helper());
    talus::core::permit_helper();
    shared_ends.fetch_add_relaxed(1);
    sleep_us(static_cast<long>(random.below(3000)));
  }
}

template <typename Condition>
bool comes_true(Condition condition) {
  const double end = now_seconds() + 20;
  while (!condition()) {
    if (now_seconds() > end) return false;
    sleep_us(1000);
  }
  return true;
}

void use_own_helper() {
  STRESS_CHECK(state_of_helper() == HelperState::absent, "state %u", state_of_helper());
  Random random{7};
  free_much(random);
  talus::core::start_helper();
  STRESS_CHECK(
      is_under_tsan || comes_true([] { return state_of_helper() >= HelperState::running; }),
      "no helper in a child");
  talus::core::end_helper(Ended::held);
  STRESS_CHECK(state_of_helper() == HelperState::absent, "state %u", state_of_helper());
}

struct Work {
  void operator()(int index) const {
    if (index < free_threads) return keep_freeing(index);
    if (index < free_threads + end_threads) return keep_ending(index);
    Deadline deadline;
    for (int forks = 0; !deadline.is_over(); forks++) {
      if (!is_sanitized || forks % 20 == 0) in_child("helper_life", use_own_helper);
    }
    shared_is_over.store_relaxed(true);
  }
};

int run() {
  setenv("TALUS_HELPER", "1", 1);
  setenv("TALUS_DECAY_MS", "40", 1);
  talus::core::process_starts();
  const int alone = thread_count();  // an emulator may have threads of its own
  run_threads(free_threads + end_threads + 1, Work{});
  STRESS_CHECK(shared_ends.load_relaxed() > 10, "%u ends", shared_ends.load_relaxed());
  Random random{9};
  free_much(random);
  talus::core::start_helper();
  STRESS_CHECK(comes_true([] { return state_of_helper() == HelperState::leaving; }),
               "the last helper does not end: state %u", state_of_helper());
  STRESS_CHECK(is_sanitized || comes_true([&] { return thread_count() == alone; }), "%d threads",
               thread_count());
  talus::core::process_ends();
  return 0;
}

const Program program{"helper_life", run};

}  // namespace stress::helper_life
