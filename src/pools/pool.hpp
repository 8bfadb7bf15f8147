// SPDX-License-Identifier: MIT
// pools/pool: all blocks of one size class that a bounded instance may ever hand out.
//
//   | handed out before, some of them came back | never handed out | beyond the budget |
//   0                                    fresh_count          block_count
//
// A block is "out" while a program or a thread cache has it. A returned block that is not out is
// reported. Blocks move in batches of at most bounded_batch_max, which bounds the time that the
// lock is held.
//
// Owns: which blocks are free: those whose bit is set, and all from fresh_count on. Invariants: at
// most block_count blocks are out. The lowest free ones go out first, so a pool has pages only up
// to its peak need. A free block is never written to. Called on: any thread, under the lock. Must
// not know: caches, other pools, where its pages come from.
#ifndef TALUS_POOLS_POOL_HPP
#define TALUS_POOLS_POOL_HPP

#include "base/base.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "pools/free_bits.hpp"

namespace talus::core {

// The largest budget of a pool, in bytes. A multiplication divides the offsets in it.
inline constexpr size_t bounded_budget_max = size_t{1} << 40;
// The most blocks that move while a pool's lock is held: a microsecond or two.
inline constexpr size_t bounded_batch_max = 256;

// ceil(2^64 / size). The upper word of offset * reciprocal is exactly offset / size while offset *
// size is below 2^64.
constexpr uint64_t wide_reciprocal_of(size_t divisor) noexcept {
  return ~uint64_t{0} / divisor + 1;
}
TALUS_FAST constexpr size_t divide_by_wide(size_t offset, uint64_t reciprocal) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<size_t>((Wide{offset} * reciprocal) >> 64);
}
static_assert(bounded_budget_max <= (uint64_t{1} << 63) / small_bytes_max,
              "division is exact for every offset in every pool");

struct Pool {
  // constant while the instance lives
  uintptr_t base = 0;
  size_t block_bytes = 0;
  size_t block_count = 0;
  uint64_t reciprocal = 0;

  // on lines that fast paths do not read
  alignas(cache_line_bytes) PoolLock lock;
  size_t fresh_count TALUS_GUARDED_BY(lock) = 0;     // blocks that were ever out
  size_t returned_count TALUS_GUARDED_BY(lock) = 0;  // those of them that are free
  size_t peak_count TALUS_GUARDED_BY(lock) = 0;      // the most that were out at a time
  FreeBits returned TALUS_GUARDED_BY(lock);

  size_t out_count() const noexcept TALUS_REQUIRES(lock) { return fresh_count - returned_count; }
  size_t free_count() const noexcept TALUS_REQUIRES(lock) { return block_count - out_count(); }
  // Blocks that were ever out are out or have a bit. All bits are read now and then.
  bool is_sound() const noexcept TALUS_REQUIRES(lock) {
    if (returned_count > fresh_count || fresh_count > block_count) return false;
    if (out_count() > peak_count || returned.is_empty() != (returned_count == 0)) return false;
    if (!is_audit_due(block_count / 64)) return true;
    return returned.count() == returned_count && returned.is_sound();
  }

  // Takes at most `wanted` free blocks; into[n - 1] is the lowest. Returns how many.
  size_t take(Held<PoolLock>&, void** into, size_t wanted) noexcept TALUS_REQUIRES(lock) {
    TALUS_ASSERT(lock.is_own() && into != nullptr && wanted <= bounded_batch_max);
    if (wanted > free_count()) wanted = free_count();
    void** next = into + wanted;
    const auto hand_out = [this, &next](size_t index) noexcept {
      *--next = reinterpret_cast<void*>(base + index * block_bytes);
    };
    size_t taken = returned.take_lowest(wanted, hand_out);
    returned_count -= taken;
    for (; taken < wanted; taken++) hand_out(fresh_count++);
    if (out_count() > peak_count) peak_count = out_count();
    TALUS_AUDIT_SOUND(*this);
    return wanted;
  }

  // Takes a block back. Reports a pointer that is not the start of a block that is out.
  void give(Held<PoolLock>&, const void* block) noexcept TALUS_REQUIRES(lock) {
    TALUS_ASSERT(lock.is_own());
    const size_t offset = reinterpret_cast<uintptr_t>(block) - base;
    const size_t index = divide_by_wide(offset, reciprocal);
    if (TALUS_UNLIKELY(index >= fresh_count)) report::foreign_pointer(block, "talus_bounded_free");
    const uintptr_t start = base + index * block_bytes;
    if (TALUS_UNLIKELY(start != reinterpret_cast<uintptr_t>(block))) {
      report::interior_pointer(block, reinterpret_cast<void*>(start), block_bytes);
    }
    if (TALUS_UNLIKELY(returned.has(index))) report::double_free(block, block_bytes);
    returned.add(index);
    returned_count++;
    TALUS_AUDIT_SOUND(*this);
  }
};

}  // namespace talus::core

#endif  // TALUS_POOLS_POOL_HPP
