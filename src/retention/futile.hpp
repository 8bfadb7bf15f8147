// SPDX-License-Identifier: MIT
// retention/futile: the backoff after a reclaim that found little.
//
// Live blocks may lie between the free ones everywhere. Then slabs have nothing to purge, and
// looking for it again at each call would cost more than it gains.
// Owns: when the last futile reclaim was, and the excess then. Any thread writes these two words;
// a mixture of two reclaims makes one try too many, or one too few for a moment.
// Called on: any thread, without locks. Must not know: what is purged.
#ifndef TALUS_RETENTION_FUTILE_HPP
#define TALUS_RETENTION_FUTILE_HPP

#include "base/base.hpp"

namespace talus::core {

class FutileReclaim {
 public:
  // Was the last reclaim futile a moment ago, and is there too little new excess for another try?
  bool is_in_vain(size_t excess, uint64_t now_ms) const noexcept {
    const size_t before = excess_.load_hint();
    const bool is_more = excess > before && excess - before >= reclaim_bytes_max;
    return !is_more && now_ms < ms_.load_hint() + reclaim_pause_ms;
  }
  void note(size_t excess, uint64_t now_ms) noexcept {
    excess_.store_hint(excess);
    ms_.store_hint(now_ms);
  }

 private:
  Atomic<uint64_t> ms_;
  Atomic<size_t> excess_;
};

}  // namespace talus::core

#endif  // TALUS_RETENTION_FUTILE_HPP
