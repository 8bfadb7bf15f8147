// SPDX-License-Identifier: MIT
// tests/unit/slab/remote_free: blocks that other threads free come home, each exactly once, and
// the owner is told once.
#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <thread>
#include <vector>

#include "effort.hpp"
#include "slab/made_up_slab.hpp"
#include "sync/lock.hpp"

namespace talus {
namespace {

using test::MadeUpSlab;

size_t take_all(Slab& slab) {
  std::vector<void*> places(slab.block_count);
  return slab.take_blocks(places.data(), places.size());
}

struct Visits {
  size_t slabs = 0;
  size_t blocks = 0;
};
Visits drain(Inbox& inbox) {
  Visits visits;
  inbox.drain([&visits](Slab& slab, uint32_t count_before) noexcept {
    visits.slabs++;
    visits.blocks += slab.free_count - count_before;
  });
  return visits;
}

TEST(RemoteFree, OwnerIsToldOnceAndGetsAll) {
  MadeUpSlab made{class_of(16)};
  Slab& slab = made.slab();
  take_all(slab);
  Inbox inbox;
  EXPECT_TRUE(inbox.is_empty());
  EXPECT_TRUE(inbox.deliver(slab, 0, 0b1011)) << "the first of a word has to notify";
  EXPECT_TRUE(inbox.is_empty()) << "delivered, but not yet told";
  inbox.notify(slab);
  EXPECT_TRUE(inbox.deliver(slab, 5, 0b1));
  EXPECT_FALSE(inbox.deliver(slab, 0, 0b0100)) << "the owner knows of this word";
  inbox.notify(slab);
  inbox.count_backlog(80);
  EXPECT_EQ(inbox.backlog_bytes(), 80u);
  Visits visits = drain(inbox);
  EXPECT_EQ(visits.slabs, 1u) << "in the inbox once however often it was notified";
  EXPECT_EQ(visits.blocks, 5u);
  EXPECT_TRUE(slab.is_free(0) && slab.is_free(1) && slab.is_free(2) && slab.is_free(3));
  EXPECT_TRUE(slab.is_free(5 * 64));
  EXPECT_TRUE(slab.is_sound());
  EXPECT_TRUE(inbox.is_empty());
  EXPECT_EQ(inbox.backlog_bytes(), 0u);
  // Quiet again: the next notify is a new one.
  EXPECT_TRUE(inbox.deliver(slab, 1, 0b1));
  inbox.notify(slab);
  EXPECT_FALSE(inbox.is_empty());
  visits = drain(inbox);
  EXPECT_EQ(visits.slabs, 1u);
  EXPECT_EQ(visits.blocks, 1u);
}

TEST(RemoteFree, ANoticeWithoutBlocksIsHarmless) {
  MadeUpSlab made{class_of(64)};
  Slab& slab = made.slab();
  Inbox inbox;
  inbox.notify(slab);
  const Visits visits = drain(inbox);
  EXPECT_EQ(visits.slabs, 0u);
  EXPECT_TRUE(slab.is_empty());
}

TEST(RemoteFreeDeathTest, ReportsABlockThatIsOnItsWayAlready) {
  const auto aborts = testing::KilledBySignal(SIGABRT);
  MadeUpSlab made{class_of(64)};
  Slab& slab = made.slab();
  take_all(slab);
  Inbox inbox;
  ASSERT_TRUE(inbox.deliver(slab, 1, 0b110));
  EXPECT_EXIT((void)inbox.deliver(slab, 1, 0b100), aborts,
              "double free of 0x10001080 .a free block of 64 bytes.");
  // At home already: noticed when the second delivery arrives.
  inbox.notify(slab);
  drain(inbox);
  ASSERT_TRUE(inbox.deliver(slab, 1, 0b100));
  inbox.notify(slab);
  EXPECT_EXIT(drain(inbox), aborts, "double free of 0x10001080 .a free block of 64 bytes.");
}

// Deliverers race with a drainer; the drainer takes blocks out again, as a busy owner would.
TEST(RemoteFree, NothingIsLostOrDoubledUnderContention) {
  constexpr size_t slab_count = 4, deliverer_count = 3;
  std::deque<MadeUpSlab> made;
  for (size_t i = 0; i < slab_count; i++) made.emplace_back(class_of(64), 0x10000000 * (i + 1));
  Inbox inbox;
  Lock lock;
  const size_t rounds = test::rounds_of(100);
  const uint32_t words = made[0].slab().bitmap_words;
  for (MadeUpSlab& each : made) take_all(each.slab());
  Atomic<size_t> delivered;
  for (size_t round = 0; round < rounds; round++) {
    delivered.store_relaxed(0);
    Atomic<size_t> ready;
    std::vector<std::thread> deliverers;
    for (size_t which = 0; which < deliverer_count; which++) {
      deliverers.emplace_back([&, which] {
        ready.fetch_add_relaxed(1);
        while (ready.load_relaxed() < deliverer_count) arch::pause();
        // Every deliverer has every third bit of all words.
        for (uint32_t word = 0; word < words; word++) {
          for (MadeUpSlab& each : made) {
            uint64_t bits = 0;
            for (size_t bit = which; bit < 64; bit += deliverer_count) bits |= uint64_t{1} << bit;
            bits &= low_bits(each.slab().block_count - word * 64);
            if (inbox.deliver(each.slab(), word, bits)) inbox.notify(each.slab());
          }
        }
        delivered.fetch_add_relaxed(1);
      });
    }
    size_t home = 0;
    while (delivered.load_relaxed() < deliverer_count) {
      Locked held{lock};
      home += drain(inbox).blocks;
    }
    for (std::thread& thread : deliverers) thread.join();
    home += drain(inbox).blocks;
    size_t expected = 0;
    for (MadeUpSlab& each : made) {
      ASSERT_TRUE(each.slab().is_empty()) << "a block was lost";
      ASSERT_TRUE(each.slab().is_sound());
      expected += take_all(each.slab());
    }
    ASSERT_EQ(home, expected);
    ASSERT_TRUE(inbox.is_empty());
  }
}

}  // namespace
}  // namespace talus
