// SPDX-License-Identifier: MIT
// tests/unit/modes/sampler: a mode is told of one block after a number of bytes.
#include "pattern.hpp"
#include "sides_fixture.hpp"

namespace talus::core {
namespace {

using test::make;
using test::SidesTest;

// What a sampler does: about each 100000 bytes it wants a block and sees it.
struct Countdown {
  int64_t bytes_left;
  uint64_t bytes, events, told;  // all bytes; blocks that it is told of
  void* seen;
};
constexpr int64_t each_bytes = 100000;

Countdown& countdown_of(ModeThread thread) { return *static_cast<Countdown*>(thread.state); }
void begin_countdown(ModeThread thread) noexcept { countdown_of(thread).bytes_left = each_bytes; }
size_t bytes_left(ModeThread thread) noexcept {
  return static_cast<size_t>(countdown_of(thread).bytes_left - 1);
}
void count_down(ModeThread thread, size_t bytes) noexcept {
  EXPECT_LE(bytes, bytes_left(thread));
  countdown_of(thread).bytes += bytes;
  countdown_of(thread).bytes_left -= static_cast<int64_t>(bytes);
}
void see_block(ModeThread thread, void* block, size_t) noexcept {
  Countdown& own = countdown_of(thread);
  const size_t bytes = facts_of(block, "test").usable_bytes;
  own.told++;
  own.bytes += bytes;
  own.bytes_left -= static_cast<int64_t>(bytes);
  if (own.bytes_left > 0) return;
  own.seen = block;
  for (; own.bytes_left <= 0; own.bytes_left += each_bytes) own.events++;
}
constexpr Mode make_countdown() noexcept {
  Mode mode;
  mode.name = "countdown";
  mode.state_bytes = sizeof(Countdown);
  mode.state_made = begin_countdown;
  mode.note_allocate = see_block;
  mode.bytes_until_event = bytes_left;
  mode.note_bytes = count_down;
  return mode;
}
constexpr Mode countdown = make_countdown();

class SamplerTest : public SidesTest {
 protected:
  void SetUp() override {
    SidesTest::SetUp();
    ASSERT_TRUE(switch_on(countdown));
    free_block(make(mib));  // told at once, so that the mode has its state
  }
  void TearDown() override {
    switch_off(countdown);
    SidesTest::TearDown();
  }
  static Countdown& own() {
    const size_t place = place_of(&countdown);
    return *static_cast<Countdown*>(current_sides()->states->shared_of[place].load_own());
  }
  // Bytes that the mode was told of and that have not begun.
  static uint64_t ahead() {
    uint64_t bytes = current_sides()->prepaid_bytes;
    for (size_t index = 0; index < fast_class_count; index++) {
      const size_t block_bytes = size_class_table.rows[index].block_bytes;
      bytes += allocation_side(*current_sides(), index).length() * block_bytes;
    }
    return bytes;
  }
  // Makes and frees a block, and says how many bytes it had.
  static size_t pass(size_t bytes) {
    void* block = make(bytes);
    const size_t usable = facts_of(block, "test").usable_bytes;
    free_block(block);
    return usable;
  }
};

// Each byte counts once. So an event is never late, and early by what was moved ahead.
TEST_F(SamplerTest, AnEventComesAtItsByte) {
  const uint64_t bytes_before = own().bytes, ahead_before = ahead();
  uint64_t bytes = 0, calls = 0;
  const uint64_t told_before = own().told;
  for (const size_t block_bytes : {16, 112, 1024, 4096, 5120, 20480}) {
    uint64_t before = own().events;
    const uint64_t end = before + 50;
    for (; before < end; calls++) {
      void* block = make(block_bytes);
      bytes += facts_of(block, "test").usable_bytes;
      ASSERT_EQ(own().bytes - bytes_before, bytes + ahead() - ahead_before) << block_bytes;
      if (own().events != before) {
        EXPECT_EQ(own().seen, block) << "the mode sees the very block";
        EXPECT_EQ(own().events, before + 1);
      }
      before = own().events;
      free_block(block);
    }
  }
  EXPECT_LE(ahead(), 6 * side_bytes_max + prepaid_bytes_max);
  EXPECT_EQ(own().told - told_before, 6 * 50) << "no other block is told";
  EXPECT_GT(calls, 100 * 6 * 50);
}

TEST_F(SamplerTest, EventsOfManySizes) {
  test::Random random{test::seed_of("Sampler")};
  const uint64_t bytes_before = own().bytes, events_before = own().events, ahead_before = ahead();
  const uint64_t told_before = own().told;
  uint64_t bytes = 0, calls = 0, large = 0;
  for (; calls < 300000; calls++) {
    const bool is_large = random.below(1000) == 0;
    bytes += pass(is_large ? medium_bytes_max + 1 : 1 + random.of_any_length(14));
    large += is_large ? 1 : 0;
  }
  const uint64_t counted = bytes + ahead() - ahead_before;
  EXPECT_EQ(own().bytes - bytes_before, counted);
  const uint64_t events = own().events - events_before;
  EXPECT_GE(events + 1, counted / each_bytes);
  EXPECT_LE(events, counted / each_bytes + 1);
  EXPECT_LE(own().told - told_before, events + large) << "large blocks are told one by one";
}

// What goes home unused counts for the blocks that come next.
TEST_F(SamplerTest, BytesThatWereNotUsedAreNotLost) {
  const uint64_t bytes_before = own().bytes, ahead_before = ahead();
  uint64_t bytes = 0;
  for (size_t round = 0; round < 100; round++) {
    for (size_t block_bytes = 16; block_bytes <= 2048; block_bytes *= 2) bytes += pass(block_bytes);
    EXPECT_GT(allocation_side(*current_sides(), 0).length(), 0u);
    purge_beyond(0);
    EXPECT_EQ(allocation_side(*current_sides(), 0).length(), 0u);
    ASSERT_EQ(own().bytes - bytes_before, bytes + ahead() - ahead_before);
  }
}

}  // namespace
}  // namespace talus::core
