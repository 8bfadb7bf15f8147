// SPDX-License-Identifier: MIT
// space/growth_pace: do slabs take untouched addresses so fast that page faults are a large cost?
//
// A page fault of 4 KiB costs 0.5 to 2 microseconds, so a MiB costs 0.125 to 0.5 milliseconds.
// Programs that compute as they grow (interpreters, compilers, databases) take 5 to 20 ms for a
// MiB; programs that fill memory take less than one. The latter gain from huge pages long before
// they are large, and are likely to keep growing.
// Called on: under the space lock. Must not know: what follows from the answer.
#ifndef TALUS_SPACE_GROWTH_PACE_HPP
#define TALUS_SPACE_GROWTH_PACE_HPP

#include "base/base.hpp"

namespace talus::core {

class GrowthPace {
 public:
  // Slabs took `bytes` at this time.
  void note(size_t bytes, uint64_t now_ns) noexcept {
    taken_bytes_ += bytes;
    const bool is_late = now_ns - since_ns_ >= fast_growth_ns;
    if (!is_late && taken_bytes_ < fast_growth_bytes) return;
    is_fast_ = !is_late;
    taken_bytes_ = 0;
    since_ns_ = now_ns;
  }
  bool is_fast() const noexcept { return is_fast_; }

 private:
  size_t taken_bytes_ = 0;  // since since_ns_
  uint64_t since_ns_ = 0;
  bool is_fast_ = false;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_GROWTH_PACE_HPP
