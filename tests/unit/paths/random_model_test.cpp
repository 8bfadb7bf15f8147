// SPDX-License-Identifier: MIT
// tests/unit/paths/random_model: the whole heap against a shadow map.
//
// Each block that the heap gives out is entered in an ordered map of address ranges. These are
// errors: an overlap with any live block, a wrong alignment, a usable size that is too small, a
// calloc that is not zero, contents that changed. Sizes are 0 to 8 MiB, as many of each length, but
// fewer above 32 KiB. The seed is printed; TALUS_TEST_SEED repeats a run, TALUS_TEST_EFFORT changes
// its length.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

constexpr unsigned size_bits_max = 23;  // 8 MiB
constexpr size_t live_bytes_max = 96 * mib;

struct Block {
  unsigned char* at = nullptr;
  size_t bytes = 0;
  uint64_t seed = 0;
};

// Which addresses belong to live blocks. Called on: any thread.
class Shadow {
 public:
  // False: overlaps a live block.
  bool add(const void* at, size_t bytes) {
    const auto start = reinterpret_cast<uintptr_t>(at);
    const uintptr_t end = start + (bytes == 0 ? 1 : bytes);
    Held held{lock_};
    auto after = ranges_.lower_bound(start);
    if (after != ranges_.end() && after->first < end) return false;
    if (after != ranges_.begin() && std::prev(after)->second > start) return false;
    ranges_.emplace_hint(after, start, end);
    bytes_ += end - start;
    return true;
  }
  bool remove(const void* at) {
    Held held{lock_};
    const auto found = ranges_.find(reinterpret_cast<uintptr_t>(at));
    if (found == ranges_.end()) return false;
    bytes_ -= found->second - found->first;
    ranges_.erase(found);
    return true;
  }
  size_t bytes() {
    Held held{lock_};
    return bytes_;
  }

 private:
  Lock lock_;
  std::map<uintptr_t, uintptr_t> ranges_;
  size_t bytes_ = 0;
};

// One thread's random use of the heap. The first error ends it and is kept as words.
class Worker {
 public:
  Worker(Shadow& shadow, uint64_t seed) : shadow_{shadow}, random_{seed} {}
  const char* error() const { return error_; }
  std::vector<Block>& blocks() { return blocks_; }
  test::Random& random() { return random_; }

  void step() {
    const bool is_crowded = blocks_.size() > 1500 || shadow_.bytes() > live_bytes_max;
    const size_t what = random_.below(100);
    if (is_crowded && !blocks_.empty()) return drop(pick());
    if (what < 40) return add_plain();
    if (what < 48) return add_zeroed();
    if (what < 56) return add_aligned();
    if (blocks_.empty()) return;
    if (what < 70) return resize(blocks_[random_.below(blocks_.size())]);
    drop(pick());
  }

  void drop(Block block) {
    if (!test::has_pattern(block.at, block.bytes, block.seed)) return fail("contents changed");
    if (!shadow_.remove(block.at)) return fail("the shadow lost a block");
    free_block(block.at);
  }
  void drop_all() {
    while (!blocks_.empty() && error_ == nullptr) drop(pick());
  }

 private:
  // Most time goes to the page faults of large blocks, so those are fewer.
  size_t size() { return random_.of_any_length(random_.below(8) == 0 ? size_bits_max : 15); }
  void fail(const char* words) {
    if (error_ == nullptr) error_ = words;
  }
  Block pick() {
    std::swap(blocks_[random_.below(blocks_.size())], blocks_.back());
    const Block picked = blocks_.back();
    blocks_.pop_back();
    return picked;
  }

  void add_plain() {
    const size_t bytes = size();
    enter(allocate(bytes), bytes, block_alignment);
  }
  void add_zeroed() {
    const size_t bytes = size();
    void* at = allocate_zeroed(bytes);
    if (at != nullptr && !test::is_zero(at, bytes)) return fail("calloc is not zero");
    enter(at, bytes, block_alignment);
  }
  void add_aligned() {
    const size_t alignment = block_alignment << random_.below(18);  // to 2 MiB
    const size_t bytes = random_.of_any_length(20);
    enter(allocate_aligned(alignment, bytes), bytes, alignment);
  }
  void enter(void* at, size_t bytes, size_t alignment) {
    if (at == nullptr) return fail("no memory");
    if (reinterpret_cast<uintptr_t>(at) % alignment != 0) return fail("wrong alignment");
    const size_t usable = usable_size(at);
    if (usable < bytes) return fail("usable size too small");
    if (!shadow_.add(at, usable)) return fail("overlaps a live block");
    const Block block{static_cast<unsigned char*>(at), usable, random_.next()};
    test::fill_pattern(block.at, block.bytes, block.seed);
    blocks_.push_back(block);
  }
  void resize(Block& block) {
    // Half of the time a modest change, as growing buffers make.
    const size_t wanted =
        random_.below(2) == 0 ? 1 + size() : 1 + block.bytes / 2 + random_.below(block.bytes + 64);
    if (!shadow_.remove(block.at)) return fail("the shadow lost a block");
    void* at = reallocate(block.at, wanted);
    if (at == nullptr) return fail("realloc: no memory");
    const size_t usable = usable_size(at);
    if (usable < wanted) return fail("realloc: usable size too small");
    if (reinterpret_cast<uintptr_t>(at) % block_alignment != 0) return fail("realloc: alignment");
    if (!shadow_.add(at, usable)) return fail("realloc: overlaps a live block");
    if (!test::has_kept_pattern(at, block.bytes, wanted < block.bytes ? wanted : block.bytes,
                                block.seed)) {
      return fail("realloc: contents changed");
    }
    block = Block{static_cast<unsigned char*>(at), usable, random_.next()};
    test::fill_pattern(block.at, block.bytes, block.seed);
  }

  Shadow& shadow_;
  test::Random random_;
  std::vector<Block> blocks_;
  const char* error_ = nullptr;
};

void expect_nothing_is_left(Shadow& shadow) {
  EXPECT_EQ(shadow.bytes(), 0u);
  const HeapTotals totals = test::quiet_totals();
  EXPECT_EQ(totals.live(), 0u);
  EXPECT_EQ(totals.live_large_count, 0u);
  EXPECT_EQ(totals.slab_count, 0u);
  EXPECT_EQ(totals.dirty, 0u);
  EXPECT_EQ(totals.space.given_bytes, 0u) << "all address space came back";
  EXPECT_TRUE(is_sound_at_rest());
}

TEST(RandomModel, OneThread) {
  const uint64_t seed = test::seed_of("RandomModel.OneThread");
  Shadow shadow;
  Worker worker{shadow, seed};
  for (size_t round = 0; round < test::rounds_of(1000000); round++) {
    worker.step();
    ASSERT_EQ(worker.error(), nullptr) << worker.error() << ", seed " << seed << ", " << round;
    if (round % 100000 == 99999) purge_beyond(round % (8 * mib));
  }
  worker.drop_all();
  ASSERT_EQ(worker.error(), nullptr) << worker.error() << ", seed " << seed;
  expect_nothing_is_left(shadow);
}

// The threads hand blocks to each other over one locked queue. A thread that gets a block looks at
// its contents, may resize it, and frees it.
TEST(RandomModel, ThreadsHandBlocksToEachOther) {
  constexpr size_t thread_count = 4, queue_most = 2000;
  const uint64_t seed = test::seed_of("RandomModel.Threads");
  Shadow shadow;
  Lock queue_lock;
  std::vector<Block> queue;
  const char* errors[thread_count] = {};
  const size_t rounds = test::rounds_of(150000);
  test::on_threads(thread_count, [&](size_t self) {
    Worker worker{shadow, mix_bits(seed + self)};
    for (size_t round = 0; round < rounds && worker.error() == nullptr; round++) {
      worker.step();
      if (worker.blocks().empty() || worker.random().below(2) == 0) continue;
      std::vector<Block>& own = worker.blocks();
      Block& mine = own[worker.random().below(own.size())];
      Held held{queue_lock};
      if (queue.size() < queue_most) {  // give
        queue.push_back(mine);
        mine = own.back();
        own.pop_back();
      } else {  // exchange
        std::swap(mine, queue[worker.random().below(queue.size())]);
      }
    }
    worker.drop_all();
    errors[self] = worker.error();
  });
  Worker last{shadow, seed};
  last.blocks() = queue;
  last.drop_all();
  for (const char* error : errors) EXPECT_EQ(error, nullptr) << error << ", seed " << seed;
  ASSERT_EQ(last.error(), nullptr) << last.error() << ", seed " << seed;
  expect_nothing_is_left(shadow);
}

}  // namespace
}  // namespace talus::core
