// SPDX-License-Identifier: MIT
// tests/unit/own_os/machine: the whole core on an operating system without groups, which is not
// Linux: a random program against a model, what goes back, and what is refused.
#include <gtest/gtest.h>

#include <vector>

#include "api/heaps.hpp"
#include "pattern.hpp"
#include "quiet.hpp"
#include "reclaim/decay.hpp"

namespace talus::core {
namespace {

using test::machine;

struct LiveBlock {
  void* at;
  size_t bytes;
  uint64_t seed;
};

bool overlaps(const std::vector<LiveBlock>& held, const void* at, size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(at), end = first + bytes;
  for (const LiveBlock& other : held) {
    const auto start = reinterpret_cast<uintptr_t>(other.at);
    if (first < start + other.bytes && start < end) return true;
  }
  return false;
}

// One random step; the words say what was wrong.
class Program {
 public:
  explicit Program(uint64_t seed) : random_{seed} {}

  const char* step() {
    const size_t what = random_.below(100);
    if (held_.size() >= 300 || (what >= 60 && !held_.empty())) {
      return what % 2 == 0 ? free_one() : resize_one();
    }
    const size_t bytes = 1 + random_.of_any_length(random_.below(8) == 0 ? 22 : 14);
    if (what < 15) {
      void* at = allocate_zeroed(bytes);
      if (at != nullptr && !test::is_zero(at, bytes)) return "a zeroed block is not zero";
      return hold(at, bytes);
    }
    if (what < 25) {
      const size_t alignment = block_alignment << random_.below(14);
      void* at = allocate_aligned(alignment, bytes);
      if (reinterpret_cast<uintptr_t>(at) % alignment != 0) return "wrong alignment";
      return hold(at, bytes);
    }
    return hold(allocate(bytes), bytes);
  }
  const char* end() {
    while (!held_.empty()) {
      if (const char* wrong = free_one()) return wrong;
    }
    return nullptr;
  }

 private:
  const char* hold(void* at, size_t bytes) {
    if (at == nullptr) return "no memory";
    if (!machine.is_open(at)) return "a block without access";
    if (!machine.is_open(static_cast<char*>(at) + bytes - 1)) return "an end without access";
    if (usable_size(at) < bytes) return "usable size too small";
    if (overlaps(held_, at, bytes)) return "overlaps a live block";
    const LiveBlock block{at, bytes, random_.next()};
    test::fill_pattern(at, bytes, block.seed);
    held_.push_back(block);
    return nullptr;
  }
  LiveBlock take_one() {
    std::swap(held_[random_.below(held_.size())], held_.back());
    const LiveBlock block = held_.back();
    held_.pop_back();
    return block;
  }
  const char* free_one() {
    const LiveBlock block = take_one();
    if (!test::has_pattern(block.at, block.bytes, block.seed)) return "contents changed";
    free_block(block.at);
    return nullptr;
  }
  const char* resize_one() {
    const LiveBlock block = take_one();
    const size_t bytes = 1 + random_.of_any_length(22);
    const size_t kept = bytes < block.bytes ? bytes : block.bytes;
    void* at = reallocate(block.at, bytes);
    if (at == nullptr) return "realloc: no memory";
    if (!test::has_kept_pattern(at, block.bytes, kept, block.seed)) return "realloc: contents";
    return hold(at, bytes);
  }

  test::Random random_;
  std::vector<LiveBlock> held_;
};

TEST(OwnOs, RunsARandomProgram) {
  const uint64_t seed = test::seed_of("OwnOs.Random");
  Program program{seed};
  for (size_t round = 0; round < test::rounds_of(60000); round++) {
    const char* wrong = program.step();
    ASSERT_EQ(wrong, nullptr) << wrong << ", seed " << seed << ", round " << round;
    if (round % 1000 == 999) {
      machine.pass_ms(100);
      decay_pass();
    }
    if (round % 6000 == 5999) {
      purge_beyond(round % (4 * mib));
      ASSERT_TRUE(machine.is_sound()) << "seed " << seed;
    }
  }
  purge_request.is_served.store_release(false);
  const char* wrong = program.end();
  ASSERT_EQ(wrong, nullptr) << wrong << ", seed " << seed;
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
  EXPECT_TRUE(machine.is_sound());
}

// All of a large block's pages are written, then given back: the machine finds zeros in them.
TEST(OwnOs, FreedPagesGoBackAndReadAsZero) {
  constexpr size_t bytes = 24 * mib, pages = bytes / test::Machine::page_bytes;
  test::quiet_totals();
  const size_t before = machine.written_pages();
  void* block = allocate(bytes);
  ASSERT_NE(block, nullptr);
  memset(block, 1, bytes);
  EXPECT_GE(machine.written_pages(), before + pages);
  const size_t dropped = machine.dropped_count();
  free_block(block);
  purge_beyond(0);
  EXPECT_GE(machine.dropped_count(), dropped + pages);
  EXPECT_LE(machine.written_pages(), before + 16);
  void* again = allocate_zeroed(bytes);
  ASSERT_NE(again, nullptr);
  const auto* at = static_cast<const unsigned char*>(again);
  for (size_t i = 0; i < bytes; i += 512) ASSERT_EQ(at[i], 0) << i;
  free_block(again);
}

// Most stays at first. With time it goes, by passes that the test makes in the helper's place.
TEST(OwnOs, FreeMemoryDecaysWithTheClock) {
  purge_beyond(0);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 40000; i++) {
    blocks.push_back(allocate(200));
    memset(blocks.back(), 1, 200);
  }
  const size_t full = machine.written_pages();
  for (void* block : blocks) free_block(block);
  constexpr size_t half = 40000 * 200 / test::Machine::page_bytes / 2;
  EXPECT_GE(machine.written_pages(), full - half);
  size_t passes = 0;
  for (; passes < 1000 && decay_pass() != 0; passes++) machine.pass_ms(50);
  EXPECT_GT(passes, 3u);
  EXPECT_LT(passes, 1000u);
  EXPECT_LE(machine.written_pages(), full - half);
}

TEST(OwnOs, MovingIsCopying) {
  void* neighbour = nullptr;
  void* block = allocate(mib);
  for (size_t bytes = 2 * mib; bytes <= 64 * mib; bytes *= 2) {
    test::fill_pattern(block, bytes / 2, bytes);
    free_block(neighbour);
    neighbour = allocate(bytes / 2);  // in the way
    block = reallocate(block, bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(test::has_kept_pattern(block, bytes / 2, bytes / 2, bytes)) << bytes;
  }
  free_block(block);
  free_block(neighbour);
}

TEST(OwnOs, WithoutThreadsThereIsNoHelper) {
  allow_helper();
  EXPECT_TRUE(is_without_helper());
  machine.pass_ms(bursts_missed_max * burst_interval_ms_max + 1);  // what was before is no pattern
  std::vector<void*> blocks(64);
  for (void*& block : blocks) block = memset(allocate(mib), 1, mib);
  const size_t full = machine.written_pages();
  auto& thread_block = *static_cast<arch::ThreadBlock*>(blocks[0]);
  EXPECT_EQ(os::System::make_thread(nullptr, thread_block, nullptr, nullptr),
            os::System::no_such_call);
  for (void* block : blocks) free_block(block);
  for (size_t round = 0; round < 60; round++) {
    machine.pass_ms(100);
    free_block(allocate(2 * mib));
  }
  EXPECT_FALSE(may_have_helper());
  // The thread that frees has purged by itself.
  EXPECT_LE(machine.written_pages(), full - 32 * mib / test::Machine::page_bytes);
}

TEST(OwnOs, GroupsAreRefusedAsByAKernel) {
  uint64_t bytes = 0;
  EXPECT_FALSE(read_resident_bytes(bytes));
  EXPECT_FALSE(is_kernel_open());
  talus_provider provider{};
  provider.bytes = 64 * mib;
  talus_heap_options options{};
  options.flags = TALUS_HEAP_OWN_PAGES;
  options.provider = &provider;
  options.numa_node = 2;  // the second: without nodes there is only one
  talus_heap* on_node = api::heap_new(&options);
  EXPECT_EQ(on_node, nullptr) << "a heap on a node where there are none";
  options.numa_node = 0;
  options.name = "a name";
  talus_heap* own = api::heap_new(&options);
  ASSERT_NE(own, nullptr);
  void* block = api::heap_malloc(own, mib);
  ASSERT_NE(block, nullptr);
  memset(block, 1, mib);
  EXPECT_TRUE(machine.is_open(block));
  api::heap_destroy(own);
  options.flags = 0;
  options.name = nullptr;
  for (const talus_provider_kind kind : {TALUS_PROVIDER_FILE, TALUS_PROVIDER_PREALLOC}) {
    provider.kind = kind;
    provider.flags = kind == TALUS_PROVIDER_FILE ? TALUS_PROVIDER_GROW : 0;
    provider.directory = kind == TALUS_PROVIDER_FILE ? "/tmp" : nullptr;
    EXPECT_EQ(api::heap_new(&options), nullptr) << kind;
  }
  EXPECT_NE(print_statistics(1, StatsFormat::text), 0) << "nothing can be written";
}

// What is full refuses, and goes on when it is no longer.
TEST(OwnOs, EndsOfMemoryAreRefusals) {
  std::vector<void*> blocks;
  while (void* block = allocate(8 * mib)) {
    blocks.push_back(block);
    ASSERT_LT(blocks.size(), 200u);
  }
  EXPECT_GT(blocks.size(), 50u);
  for (void* block : blocks) free_block(block);
  purge_beyond(0);
  void* block = allocate(16 * mib);
  EXPECT_NE(block, nullptr);
  free_block(block);
}

// The machine notices what the tests above would otherwise not see.
TEST(OwnOsDeathTest, TheMachineKeepsItsSide) {
  auto* at = static_cast<char*>(os::System::map(nullptr, 4 * os::page_bytes()));
  ASSERT_NE(at, nullptr);
  EXPECT_DEATH(os::System::purge(at + 4096, os::page_bytes()), "machine: purge of");
  EXPECT_DEATH(os::System::unmap(at, os::page_bytes() - 1), "machine: unmap of");
  at[5] = 1;
  EXPECT_TRUE(os::System::decommit(at, os::page_bytes()));
  EXPECT_DEATH(os::System::purge(at, os::page_bytes()), "page without access");
  at[7] = 1;  // no such page: the mark changes
  EXPECT_FALSE(machine.is_sound());
  EXPECT_DEATH(os::System::allow(at, os::page_bytes()), "without access was written to");
  at[7] = 0x5e;
  EXPECT_TRUE(os::System::allow(at, os::page_bytes()));
  EXPECT_EQ(at[5], 0);
  EXPECT_TRUE(os::System::unmap(at, 4 * os::page_bytes()));
  EXPECT_DEATH(os::System::unmap(at, os::page_bytes()), "unmap of a free page");
  uint32_t word = 0;
  EXPECT_DEATH(os::System::futex_wait(&word, 0), "a wait for ever");
}

}  // namespace
}  // namespace talus::core
