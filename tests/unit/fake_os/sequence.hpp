// SPDX-License-Identifier: MIT
// tests/unit/fake_os/sequence: one of everything that makes the heap enter the kernel.
//
// Owns: the blocks that are held meanwhile. The sequence is the same each time it runs, so that
// "the k-th call is refused" names a place in it; only two threads at once may exchange
// neighbouring calls. Every allocation may give null, and then nothing may have changed; what it
// gives is filled, and checked when it goes. Called on: the main thread of a child.
#ifndef TALUS_TESTS_UNIT_FAKE_OS_SEQUENCE_HPP
#define TALUS_TESTS_UNIT_FAKE_OS_SEQUENCE_HPP

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "effort.hpp"
#include "fake_os/child.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core::test {

// Blocks with contents, and how many could not be had. One thread's.
class HeldBlocks {
 public:
  size_t refused_count() const { return refused_count_; }
  size_t count() const { return blocks_.size(); }

  // Null counts as refused. True: there is a block, now filled.
  bool hold(void* block, size_t bytes, size_t alignment = block_alignment) {
    if (block == nullptr) return note_refusal();
    require(reinterpret_cast<uintptr_t>(block) % alignment == 0, "alignment", alignment);
    require(usable_size(block) >= bytes, "usable size of a new block", bytes);
    const uint64_t seed = ++seed_;
    fill_pattern(block, bytes, seed);
    blocks_.push_back({block, bytes, seed});
    return true;
  }
  bool hold_zeroed(size_t bytes) {
    void* block = allocate_zeroed(bytes);
    require(block == nullptr || is_zero(block, bytes), "a zeroed block is zero", bytes);
    return hold(block, bytes);
  }
  // Resizes the block held at this place; a refusal leaves it as it was.
  bool resize(size_t place, size_t bytes) {
    Block& block = blocks_[place];
    void* moved = reallocate(block.at, bytes);
    if (moved == nullptr) {
      require(has_pattern(block.at, block.bytes, block.seed), "a refused realloc", bytes);
      return note_refusal();
    }
    const size_t kept = bytes < block.bytes ? bytes : block.bytes;
    require(has_kept_pattern(moved, block.bytes, kept, block.seed), "contents after realloc",
            bytes);
    require(usable_size(moved) >= bytes, "usable size after realloc", bytes);
    fill_pattern(moved, bytes, block.seed);
    block = {moved, bytes, block.seed};
    return true;
  }
  void free_last() {
    const Block block = blocks_.back();
    blocks_.pop_back();
    require(has_pattern(block.at, block.bytes, block.seed), "contents at free", block.bytes);
    free_block(block.at);
  }
  // Those at places 0, step, 2 * step...
  void free_every(size_t step) {
    std::vector<Block> rest;
    for (size_t place = 0; place < blocks_.size(); place++) {
      const Block& block = blocks_[place];
      require(has_pattern(block.at, block.bytes, block.seed), "contents at free", block.bytes);
      if (place % step == 0) {
        free_block(block.at);
      } else {
        rest.push_back(block);
      }
    }
    blocks_.swap(rest);
  }

 private:
  struct Block {
    void* at;
    size_t bytes;
    uint64_t seed;
  };
  bool note_refusal() {
    refused_count_++;
    return false;
  }

  std::vector<Block> blocks_;
  size_t refused_count_ = 0;
  uint64_t seed_ = 0;
};

inline void hold_small_and_large(HeldBlocks& held) {
  for (size_t bytes = 0; bytes <= small_bytes_max; bytes += 1 + bytes / 3) {
    held.hold(allocate(bytes), bytes);
    held.hold(allocate(bytes), bytes);
  }
  for (size_t bytes : {small_bytes_max + 1, 100 * kib, 300 * kib, mib, 5 * mib}) {
    held.hold(allocate(bytes), bytes);
  }
}

// Two blocks in each other's way, so that growing means moving.
inline void grow_and_shrink(HeldBlocks& held) {
  const size_t first = held.count();
  if (!held.hold(allocate(1000), 1000) || !held.hold(allocate(1000), 1000)) return;
  for (size_t bytes = 2000; bytes <= 24 * mib; bytes = bytes * 5 / 2) {
    held.resize(first, bytes);
    held.resize(first + 1, bytes + bytes / 2);
  }
  held.resize(first, 300 * kib);
  held.resize(first + 1, 3 * mib);
  held.resize(first, 700);
}

// Zeroed blocks where written ones have been, one of them above the size that is purged.
inline void hold_zeroed_blocks(HeldBlocks& held) {
  for (size_t bytes : {size_t{100}, 50 * kib, 3 * mib, calloc_purge_bytes_min + 777}) {
    if (held.hold(allocate(bytes), bytes)) held.free_last();
    held.hold_zeroed(bytes);
  }
}

// Zeroed blocks from ranges that a trim has given to the kernel, or wanted to.
inline void hold_zeroed_after_trim(HeldBlocks& held) {
  constexpr size_t block_count = 12;
  const size_t bytes = 130 * kib;
  size_t released = 0;
  for (size_t i = 0; i < block_count; i++) released += held.hold(allocate(bytes), bytes);
  while (released-- > 0) held.free_last();
  purge_beyond(0);
  for (size_t i = 0; i < block_count; i++) {
    auto* zeroed = static_cast<unsigned char*>(allocate_zeroed(bytes));
    size_t sum = 0;
    for (size_t at = 0; zeroed != nullptr && at < bytes; at++) sum += zeroed[at];
    require(sum == 0, "a zeroed block is zero in every byte", i);
    held.hold(zeroed, bytes);
  }
}

inline void hold_aligned_blocks(HeldBlocks& held) {
  for (size_t alignment : {size_t{64}, 4 * kib, 64 * kib, 2 * mib, 8 * mib}) {
    for (size_t bytes : {size_t{1}, 5 * kib, 70 * kib}) {
      held.hold(allocate_aligned(alignment, bytes), bytes, alignment);
    }
  }
}

// Two threads, each with a heap of its own, that free what the other one got.
inline size_t exchange_between_threads() {
  HeldBlocks blocks[2];
  on_threads(2, [&](size_t self) {
    for (size_t i = 0; i < 150; i++) {
      const size_t bytes = i * i * (self + 1);
      blocks[self].hold(allocate(bytes), bytes);
    }
    const size_t large = (self + 1) * 400 * kib;
    blocks[self].hold(allocate(large), large);
    blocks[self].free_every(3);
  });
  on_threads(2, [&](size_t self) { blocks[1 - self].free_every(1); });
  return blocks[0].refused_count() + blocks[1].refused_count();
}

// All of it; at the end nothing is held. Returns how many allocations gave null.
inline size_t run_sequence() {
  HeldBlocks held;
  hold_small_and_large(held);
  grow_and_shrink(held);
  hold_zeroed_blocks(held);
  hold_aligned_blocks(held);
  held.free_every(2);
  purge_beyond(mib);
  size_t refused = exchange_between_threads();
  hold_small_and_large(held);
  hold_zeroed_after_trim(held);
  held.free_every(3);
  hold_aligned_blocks(held);
  grow_and_shrink(held);
  held.free_every(1);
  return refused + held.refused_count();
}

// Nothing is held: the heap must say so, and its parts must add up.
inline void require_quiet_heap() {
  const HeapTotals totals = quiet_totals();
  require(totals.live() == 0, "bytes that count as live", totals.live());
  require(totals.live_large_count == 0, "large blocks that count as live", totals.live_large_count);
  require(totals.on_their_way == 0, "bytes on their way", totals.on_their_way);
  require(space_is_sound(), "address space is sound");
}

// Runs run() in children, in each of which one call of one kind, or all from that one on, are
// refused. run() ends with nothing held and returns how many of its calls gave null.
template <typename Run>
void refuse_each_call_once(Run run) {
  using os::FakeCall;
  for (const FakeCall kind :
       {FakeCall::map, FakeCall::purge, FakeCall::move_pages, FakeCall::map_anew}) {
    const size_t row = row_of(kind);
    ASSERT_EQ(run_in_child([run] { require(run() == 0, "no fault"); }), "");
    const uint64_t calls = child_report().calls[row] + 1;
    const uint64_t step = divide_up(calls, uint64_t{rounds_of(60)});
    for (uint64_t call = 1; call <= calls; call += step) {
      for (const bool is_lasting : {false, true}) {
        const std::string wrong = run_in_child([=] {
          os::FakePlan& plan = os::fake_plan;
          (is_lasting ? plan.refuse_from : plan.refuse_at)[row].store_relaxed(call);
          const size_t refused = run();
          require(kind == FakeCall::map || refused == 0, "refused without need", refused);
          require_quiet_heap();
          end_faults();
          require(run() == 0, "refused by a kernel that is well again");
          require_quiet_heap();
        });
        EXPECT_EQ(wrong, "") << "kind " << row << ", call " << call << ", lasting " << is_lasting;
      }
    }
  }
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_FAKE_OS_SEQUENCE_HPP
