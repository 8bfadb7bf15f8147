// SPDX-License-Identifier: MIT
// tests/unit/late: what threads do when their caches have ended.
//
// Owns: a key whose destructor comes again until the thread has no cache. Called on: a test's main
// thread.
#ifndef TALUS_TESTS_UNIT_LATE_HPP
#define TALUS_TESTS_UNIT_LATE_HPP

#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <utility>

#include "quiet.hpp"

namespace talus::core::test {

// What work() does on a thread that used the heap, and did before(), in a destructor that comes
// after the end of the thread's cache, as libc's own destructors do.
class LateInAThread {
 public:
  explicit LateInAThread(
      std::function<void()> work, const std::function<void()>& before = [] {})
      : work_{std::move(work)} {
    EXPECT_EQ(pthread_key_create(&key_, run), 0);
    on_threads(1, [&, this](size_t) {
      free_block(allocate(1));
      before();
      pthread_setspecific(key_, this);
    });
    pthread_key_delete(key_);
    EXPECT_TRUE(has_run_);
  }

 private:
  static void run(void* value) {
    auto& late = *static_cast<LateInAThread*>(value);
    if (cache_behind(current_context()) != nullptr) {  // the cache's own destructor comes first
      pthread_setspecific(late.key_, value);
      return;
    }
    late.work_();
    late.has_run_ = true;
  }

  std::function<void()> work_;
  pthread_key_t key_ = 0;
  bool has_run_ = false;
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_LATE_HPP
