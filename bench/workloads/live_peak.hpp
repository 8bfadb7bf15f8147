// The peak of the live bytes over all threads of a workload.
//
// Owns: a padded counter of live bytes for each thread and the largest sum that each has seen. A
// shared counter would measure itself. Each call of sample takes one sum.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "workload.hpp"

namespace bench {

class LivePeak {
 public:
  // Sets this thread's live bytes and sums those of all `threads` threads.
  void sample(size_t thread, size_t threads, int64_t live) {
    live_bytes_[thread].set(live);
    int64_t sum = 0;
    for (size_t other = 0; other < threads; other++) sum += live_bytes_[other].get();
    if (sum > peak_bytes_[thread].get()) peak_bytes_[thread].set(sum);
  }
  // Call after the threads have ended.
  uint64_t bytes(size_t threads) const {
    int64_t peak = 0;
    for (size_t thread = 0; thread < threads; thread++)
      if (peak_bytes_[thread].get() > peak) peak = peak_bytes_[thread].get();
    return static_cast<uint64_t>(peak);
  }

 private:
  PaddedCounter live_bytes_[threads_max];
  PaddedCounter peak_bytes_[threads_max];
};

}  // namespace bench
