// Counts of times in buckets of equal relative width.
//
// Owns: the buckets, and quantiles of what they counted. Powers of two, each in 2^part_bits parts,
// so a quantile is too large by at most one part in 2^part_bits; small times have a bucket each.
// Invariant: add() is a few instructions and touches one counter. It must not know the unit of a
// time.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

template <unsigned part_bits>
class Histogram {
 public:
  void add(uint64_t value) {
    counts_[bucket_of(value)]++;
    total_++;
    if (value > max_) max_ = value;
  }

  void add_all(const Histogram& other) {
    for (size_t bucket = 0; bucket < buckets; bucket++) counts_[bucket] += other.counts_[bucket];
    total_ += other.total_;
    if (other.max_ > max_) max_ = other.max_;
  }

  // The upper end of the bucket below which this share of all values lies, or the largest value if
  // that is less. `share` lies between 0 and 1. 0 of an empty histogram.
  uint64_t quantile(double share) const {
    const double wanted = share * static_cast<double>(total_);
    uint64_t seen = 0;
    size_t bucket = 0;
    while (bucket + 1 < buckets && static_cast<double>(seen += counts_[bucket]) < wanted) bucket++;
    const uint64_t end = end_of(bucket);
    return end < max_ ? end : max_;
  }

  uint64_t max() const { return max_; }
  uint64_t total() const { return total_; }

 private:
  static constexpr size_t parts = size_t{1} << part_bits;
  static constexpr size_t buckets = 64 * parts;

  static size_t bucket_of(uint64_t value) {
    if (value < parts) return value;
    const unsigned shift = 63 - static_cast<unsigned>(__builtin_clzll(value)) - part_bits;
    return (size_t{shift} << part_bits) + (value >> shift);
  }

  static uint64_t end_of(size_t bucket) {
    if (bucket < 2 * parts) return bucket + 1;
    const unsigned shift = static_cast<unsigned>(bucket >> part_bits) - 1;
    return ((bucket & (parts - 1)) + parts + 1) << shift;
  }

  uint64_t counts_[buckets] = {};
  uint64_t total_ = 0;
  uint64_t max_ = 0;
};

}  // namespace bench
