// SPDX-License-Identifier: MIT
// tests/unit/neighbour: a second thread that does one thing after the other, and sleeps in between.
#ifndef TALUS_TESTS_UNIT_NEIGHBOUR_HPP
#define TALUS_TESTS_UNIT_NEIGHBOUR_HPP

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "paths/resize.hpp"

namespace talus::core::test {

// A thread that was there before, with a cache and a heap of its own, and does what it is told.
class Neighbour {
 public:
  Neighbour() : thread_{[this] { serve(); }} {
    run([] { free_block(allocate(1)); });
  }
  ~Neighbour() {
    run(nullptr);
    thread_.join();
  }
  void run(std::function<void()> work) {
    std::unique_lock<std::mutex> lock{mutex_};
    work_ = std::move(work);
    has_work_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !has_work_; });
  }

 private:
  void serve() {
    for (bool is_over = false; !is_over;) {
      std::unique_lock<std::mutex> lock{mutex_};
      changed_.wait(lock, [this] { return has_work_; });
      is_over = work_ == nullptr;
      if (!is_over) work_();
      has_work_ = false;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool has_work_ = false;
  std::thread thread_;
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_NEIGHBOUR_HPP
