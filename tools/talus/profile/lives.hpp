// SPDX-License-Identifier: MIT
//
// Owns: how long blocks lived, in steps of ten.
// Invariant: numbers are estimates of all blocks, or samples of them; they add.
// Must not know: where they come from.

#ifndef TALUS_TOOLS_TALUS_PROFILE_LIVES_HPP
#define TALUS_TOOLS_TALUS_PROFILE_LIVES_HPP

#include <array>
#include <cstddef>
#include <string>

namespace talus::tool {

struct LifeBin {
  double blocks = 0, bytes = 0;
  double seconds = 0;  // of all of them
};

// Below 10 us, 100 us, ..., 1000 s, and longer.
struct Lives {
  static constexpr size_t count = 10;
  std::array<LifeBin, count> bins{};

  static size_t bin_of(double seconds) {
    size_t bin = 0;
    for (double end = 1e-5; bin < count - 1 && seconds >= end; end *= 10) bin++;
    return bin;
  }
  void add(double seconds, double bytes, double weight) {
    LifeBin& bin = bins[bin_of(seconds)];
    bin.blocks += weight;
    bin.bytes += weight * bytes;
    bin.seconds += weight * seconds;
  }
  void add(const Lives& other, double weight) {
    for (size_t i = 0; i < count; i++) {
      bins[i].blocks += weight * other.bins[i].blocks;
      bins[i].bytes += weight * other.bins[i].bytes;
      bins[i].seconds += weight * other.bins[i].seconds;
    }
  }
  LifeBin sum() const {
    LifeBin all;
    for (const LifeBin& bin : bins) {
      all.blocks += bin.blocks;
      all.bytes += bin.bytes;
      all.seconds += bin.seconds;
    }
    return all;
  }
};

// Of blocks that were freed, and the ages of those that live.
struct LivesAndAges {
  Lives freed, live;

  void add(const LivesAndAges& other, double weight) {
    freed.add(other.freed, weight);
    live.add(other.live, weight);
  }
};

// "1.5 ms".
std::string duration_text(double seconds);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_LIVES_HPP
