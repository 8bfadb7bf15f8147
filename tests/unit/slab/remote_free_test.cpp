// SPDX-License-Identifier: MIT
// tests/unit/slab/remote_free: messages with blocks that other threads free arrive, each exactly
// once and whole, and the remote-free queue knows how many bytes are on their way.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <thread>
#include <vector>

#include "effort.hpp"
#include "slab/made_up_slab.hpp"
#include "slab/remote_free.hpp"
#include "sync/ranked_lock.hpp"

namespace talus::core {
namespace {

using test::MadeUpSlab;
using Clock = std::chrono::steady_clock;

constexpr uintptr_t blocks_base = 0x10000000;
void* block_at(size_t number) { return reinterpret_cast<void*>(blocks_base + 64 * number); }
size_t number_of(void* block) { return (reinterpret_cast<uintptr_t>(block) - blocks_base) / 64; }

// As they are read: the one that was added last comes first.
std::vector<void*> blocks_of(const RemoteMessage& message) {
  return {message.newest(), message.newest() + message.count.load_relaxed()};
}

// Puts blocks back as a heap does. Returns how many.
size_t give(Slab& slab, const RemoteMessage& message) {
  const size_t count = message.count.load_relaxed();
  for (size_t done = 0; done < count;) {
    done += slab.give_blocks(message.newest() + done, count - done);
  }
  return count;
}

TEST(RemoteMessage, StartsEmptyAndTakesBlocksUntilItIsFull) {
  RemoteMessage message;
  EXPECT_EQ(message.count.load_relaxed(), 0u);
  EXPECT_EQ(message.bytes.load_relaxed(), 0u);
  EXPECT_EQ(message.next, nullptr);
  std::vector<void*> added;
  size_t bytes = 0;
  for (uint32_t i = 0; i < RemoteMessage::blocks_max; i++) {
    EXPECT_FALSE(message.is_full());
    added.push_back(block_at(i));
    message.add(added.back(), 100 + i);
    bytes += 100 + i;
    EXPECT_EQ(message.count.load_relaxed(), i + 1);
    EXPECT_EQ(message.bytes.load_relaxed(), bytes);
  }
  EXPECT_TRUE(message.is_full());
  std::reverse(added.begin(), added.end());
  EXPECT_EQ(blocks_of(message), added);
}

TEST(RemoteMessage, IsUsedAgainWhenCleared) {
  RemoteMessage message;
  while (!message.is_full()) message.add(block_at(1), 48);
  message.clear();
  EXPECT_FALSE(message.is_full());
  EXPECT_EQ(message.count.load_relaxed(), 0u);
  EXPECT_EQ(message.bytes.load_relaxed(), 0u);
  message.add(block_at(7), 32);
  EXPECT_EQ(blocks_of(message), std::vector<void*>{block_at(7)});
  EXPECT_EQ(message.bytes.load_relaxed(), 32u);
}

TEST(RemoteQueue, IsTakenAsAWholeTheNewestFirst) {
  RemoteMessage first, second, third;
  RemoteQueue remote_queue;
  EXPECT_TRUE(remote_queue.is_empty());
  EXPECT_EQ(remote_queue.take_all(), nullptr);
  remote_queue.push(first);
  EXPECT_FALSE(remote_queue.is_empty());
  remote_queue.push(second);
  EXPECT_EQ(remote_queue.take_all(), &second);
  EXPECT_EQ(second.next, &first);
  EXPECT_EQ(first.next, nullptr);
  EXPECT_TRUE(remote_queue.is_empty());
  EXPECT_EQ(remote_queue.take_all(), nullptr);
  // What was taken is not reached from a later message, and a message may come again.
  remote_queue.push(third);
  remote_queue.push(first);
  EXPECT_EQ(remote_queue.take_all(), &first);
  EXPECT_EQ(first.next, &third);
  EXPECT_EQ(third.next, nullptr);
}

TEST(RemoteQueue, LeavesTheBlocksOfAMessageAlone) {
  RemoteMessage message;
  for (size_t i = 0; i < 5; i++) message.add(block_at(i), 64);
  const std::vector<void*> added = blocks_of(message);
  RemoteQueue remote_queue;
  remote_queue.push(message);
  EXPECT_EQ(blocks_of(*remote_queue.take_all()), added);
  EXPECT_EQ(message.bytes.load_relaxed(), 5 * 64u);
}

TEST(RemoteQueue, KnowsTheBytesThatAreOnTheirWay) {
  RemoteMessage small, large;
  small.add(block_at(1), 16);
  large.add(block_at(2), 1024);
  large.add(block_at(3), 1024);
  RemoteQueue remote_queue;
  EXPECT_EQ(remote_queue.backlog_bytes(), 0u);
  remote_queue.push(small);
  EXPECT_EQ(remote_queue.backlog_bytes(), 16u);
  remote_queue.push(large);
  EXPECT_EQ(remote_queue.backlog_bytes(), 2064u);
  ASSERT_EQ(remote_queue.take_all(), &large);
  EXPECT_EQ(remote_queue.backlog_bytes(), 2064u) << "taken, but not brought home yet";
  remote_queue.count_taken(large.bytes.load_relaxed());
  EXPECT_EQ(remote_queue.backlog_bytes(), 16u);
  remote_queue.count_taken(small.bytes.load_relaxed());
  EXPECT_EQ(remote_queue.backlog_bytes(), 0u);
}

// No thread looks at the blocks of a message on their way: the slab notices when they are put in.
TEST(RemoteFreeDeathTest, ABlockThatComesTwiceIsReportedByItsSlab) {
  const auto aborts = testing::KilledBySignal(SIGABRT);
  const char* const text = "double free of 0x10001080 .a free block of 64 bytes.";
  MadeUpSlab made{class_of(64)};
  Slab& slab = made.slab();
  std::vector<void*> places(slab.block_count);
  ASSERT_EQ(slab.take_blocks(places.data(), places.size()), places.size());
  RemoteMessage twice, once, again;
  void* block = reinterpret_cast<void*>(uintptr_t{0x10001080});
  twice.add(block, 64);
  twice.add(block, 64);
  once.add(block, 64);
  again.add(block, 64);
  RemoteQueue remote_queue;
  remote_queue.push(once);
  remote_queue.push(again);
  EXPECT_EXIT(give(slab, twice), aborts, text);
  RemoteMessage* newest = remote_queue.take_all();
  give(slab, *newest);
  EXPECT_EXIT(give(slab, *newest->next), aborts, text);
}

// Deliverers race with drainers, which hand the messages back for the next journey. A few messages
// are on their way all the time, and each block is met exactly as often as it was freed.
class Traffic : public testing::Test {
 protected:
  static constexpr size_t deliverer_count = 3, drainer_count = 2, message_count = 12;
  static constexpr size_t message_blocks_max = 3;
  static constexpr size_t block_bytes_max = 100;
  static size_t bytes_of(size_t number) { return 1 + number % block_bytes_max; }

  void keep(RemoteMessage& message) {
    Held held{unused_lock_};
    message.next = unused_;
    unused_ = &message;
  }
  RemoteMessage* take() {
    Held held{unused_lock_};
    RemoteMessage* message = unused_;
    if (message != nullptr) unused_ = message->next;
    return message;
  }

  // Frees the blocks from `number` on. Where messages are lost there are none in the end.
  void deliver(size_t number) {
    auto last_taken = Clock::now();
    for (const size_t end = number + pushes_; number < end;) {
      RemoteMessage* message = take();
      if (message == nullptr) {
        if (Clock::now() - last_taken > std::chrono::seconds{10}) break;
        std::this_thread::yield();
        continue;
      }
      last_taken = Clock::now();
      for (size_t blocks = 1 + number % message_blocks_max; blocks > 0 && number < end; blocks--) {
        message->add(block_at(number), bytes_of(number));
        number++;
      }
      remote_queue_.push(*message);
    }
    delivered_.fetch_add_relaxed(1);
  }

  void drain() {
    Held held{heap_lock_};
    size_t drained = 0;
    for (RemoteMessage* message = remote_queue_.take_all(); message != nullptr;) {
      if (++drained > message_count) {  // they form a circle
        wrong_.fetch_add_relaxed(1);
        return;
      }
      RemoteMessage* next = message->next;
      const size_t bytes = message->bytes.load_relaxed();
      size_t sum = 0;
      for (void* block : blocks_of(*message)) {
        const size_t number = number_of(block);
        if (number < arrivals_.size()) arrivals_[number]++;
        sum += bytes_of(number);
      }
      if (sum != bytes) wrong_.fetch_add_relaxed(1);
      bytes_arrived_.fetch_add_relaxed(bytes);
      remote_queue_.count_taken(bytes);
      message->clear();
      keep(*message);
      message = next;
    }
  }
  // What is taken is subtracted after it was added: the sum is never below zero.
  void drain_until_all_is_delivered() {
    constexpr size_t most = message_count * message_blocks_max * block_bytes_max;
    while (delivered_.load_relaxed() < deliverer_count) {
      drain();
      if (remote_queue_.backlog_bytes() > most) wrong_.fetch_add_relaxed(1);
    }
  }

  const size_t pushes_ = test::rounds_of(20000);  // blocks of each deliverer
  RemoteQueue remote_queue_;
  std::deque<RemoteMessage> messages_{message_count};
  Lock unused_lock_;
  RemoteMessage* unused_ = nullptr;
  Lock heap_lock_;
  std::vector<uint8_t> arrivals_ = std::vector<uint8_t>(deliverer_count * pushes_);  // heap's lock
  Atomic<size_t> bytes_arrived_, delivered_, wrong_;
};

TEST_F(Traffic, NothingIsLostOrDoubled) {
  for (RemoteMessage& message : messages_) keep(message);
  std::vector<std::thread> threads;
  for (size_t which = 0; which < deliverer_count; which++) {
    threads.emplace_back([this, which] { deliver(which * pushes_); });
  }
  for (size_t which = 0; which < drainer_count; which++) {
    threads.emplace_back([this] { drain_until_all_is_delivered(); });
  }
  for (std::thread& thread : threads) thread.join();
  drain();
  size_t bytes_sent = 0;
  for (size_t number = 0; number < arrivals_.size(); number++) {
    ASSERT_EQ(arrivals_[number], 1) << "block " << number;
    bytes_sent += bytes_of(number);
  }
  EXPECT_EQ(bytes_arrived_.load_relaxed(), bytes_sent);
  EXPECT_EQ(wrong_.load_relaxed(), 0u);
  EXPECT_TRUE(remote_queue_.is_empty());
  EXPECT_EQ(remote_queue_.backlog_bytes(), 0u);
  size_t unused_count = 0;
  while (unused_count <= message_count && take() != nullptr) unused_count++;
  EXPECT_EQ(unused_count, message_count);
}

}  // namespace
}  // namespace talus::core
