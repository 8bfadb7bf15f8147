// SPDX-License-Identifier: MIT
// tests/unit/busy_threads: threads that do one thing again and again while a test forks.
#ifndef TALUS_TESTS_UNIT_BUSY_THREADS_HPP
#define TALUS_TESTS_UNIT_BUSY_THREADS_HPP

#include <cstddef>
#include <thread>
#include <vector>

#include "base/base.hpp"

namespace talus::core::test {

// On each of `count` threads, calls what make_turn(index) returns until the end. All threads have
// begun when the constructor returns: AddressSanitizer holds a lock of its own while a thread
// starts, and the child of a fork at that moment cannot start threads.
class BusyThreads {
 public:
  template <typename MakeTurn>
  BusyThreads(size_t count, MakeTurn make_turn) {
    for (size_t index = 0; index < count; index++) {
      threads_.emplace_back([this, index, make_turn] {
        auto turn = make_turn(index);
        begun_.claim(1);
        while (!is_over_.load_relaxed()) turn();
      });
    }
    while (begun_.load_relaxed() != count) std::this_thread::yield();
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;
  ~BusyThreads() { end(); }

  void end() {
    is_over_.store_relaxed(true);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  Atomic<size_t> begun_;
  Atomic<bool> is_over_;
  std::vector<std::thread> threads_;
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_BUSY_THREADS_HPP
