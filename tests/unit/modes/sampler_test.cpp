// SPDX-License-Identifier: MIT
// tests/unit/modes/sampler: a mode is told of one block of a class after a number of blocks.
#include "pattern.hpp"
#include "sides_fixture.hpp"

namespace talus::core {
namespace {

using test::make;
using test::SidesTest;

// What a sampler does: of each class it wants about one block in 100000 bytes, and sees it.
struct Countdown {
  uint64_t blocks[class_count], events[class_count];  // all that it knows of
  int64_t left[class_count];                          // up to the next event
  uint64_t told;                                      // blocks that it was told of
  void* seen;
};
constexpr size_t each_bytes = 100000;

size_t index_for(size_t bytes) { return index_of(class_of(bytes)); }
int64_t blocks_each(size_t index) {
  return static_cast<int64_t>(each_bytes / size_class_rows.rows[index].block_bytes + 1);
}
Countdown& countdown_of(ModeThread thread) { return *static_cast<Countdown*>(thread.state); }
void begin_countdown(ModeThread thread) noexcept {
  for (size_t i = 0; i < class_count; i++) countdown_of(thread).left[i] = blocks_each(i);
}
size_t blocks_left(ModeThread thread, ClassId id) noexcept {
  return static_cast<size_t>(countdown_of(thread).left[index_of(id)] - 1);
}
void count_down(ModeThread thread, ClassId id, size_t blocks) noexcept {
  EXPECT_LE(blocks, blocks_left(thread, id));
  countdown_of(thread).blocks[index_of(id)] += blocks;
  countdown_of(thread).left[index_of(id)] -= static_cast<int64_t>(blocks);
}
void see_block(ModeThread thread, void* block, size_t bytes) noexcept {
  Countdown& own = countdown_of(thread);
  own.told++;
  if (bytes > medium_bytes_max) return;
  const size_t index = index_for(bytes);
  own.blocks[index]++;
  if (--own.left[index] > 0) return;
  own.left[index] = blocks_each(index);
  own.events[index]++;
  own.seen = block;
}
constexpr Mode make_countdown() noexcept {
  Mode mode;
  mode.name = "countdown";
  mode.state_bytes = sizeof(Countdown);
  mode.state_made = begin_countdown;
  mode.note_allocate = see_block;
  mode.blocks_until_event = blocks_left;
  mode.note_blocks = count_down;
  return mode;
}
constexpr Mode countdown = make_countdown();

class SamplerTest : public SidesTest {
 protected:
  void SetUp() override {
    SidesTest::SetUp();
    ASSERT_TRUE(switch_on(countdown));
    free_block(make(mib));       // told at once, so that the mode has its state
    free_block(make(20 * kib));  // what other modes were told of in advance is forgotten
  }
  void TearDown() override {
    switch_off(countdown);
    SidesTest::TearDown();
  }
  static Countdown& own() {
    const size_t place = place_of(&countdown);
    return *static_cast<Countdown*>(current_sides()->states->shared_of[place].load_own());
  }
  // Blocks of a class that the mode was told of and that have not begun.
  static uint64_t ahead(size_t index) {
    const uint64_t prepaid = current_sides()->prepaid_blocks[index];
    if (index >= fast_class_count) return prepaid;
    return prepaid + allocation_side(*current_sides(), index).length();
  }
  // What the mode knows to have begun. Differences of it are exact at each moment.
  static uint64_t begun(size_t index) { return own().blocks[index] - ahead(index); }
};

// Each block counts once. So an event is at its block, whatever was moved ahead.
TEST_F(SamplerTest, AnEventComesAtItsBlock) {
  const uint64_t told_before = own().told;
  for (const size_t block_bytes : {16, 112, 1024, 4096, 5120, 20480}) {
    const size_t index = index_for(block_bytes);
    const uint64_t begun_before = begun(index);
    uint64_t blocks = 0, at_event = 0;
    uint64_t before = own().events[index];
    const uint64_t end = before + 50;
    while (before < end) {
      void* block = make(block_bytes);
      blocks++;
      ASSERT_EQ(begun(index) - begun_before, blocks) << block_bytes;
      if (own().events[index] != before) {
        EXPECT_EQ(own().seen, block) << "the mode sees the very block";
        EXPECT_EQ(own().events[index], before + 1);
        if (at_event != 0) {
          EXPECT_EQ(blocks - at_event, static_cast<uint64_t>(blocks_each(index))) << block_bytes;
        }
        at_event = blocks;
      }
      before = own().events[index];
      free_block(block);
    }
  }
  EXPECT_EQ(own().told - told_before, 6 * 50) << "no other block is told";
}

// Classes that refill often do not take the events of others.
TEST_F(SamplerTest, EachClassHasItsOwnEvents) {
  const size_t rare = index_for(3072), often = index_for(16);
  const uint64_t rare_before = own().events[rare], often_before = own().events[often];
  const uint64_t blocks = 50 * static_cast<uint64_t>(blocks_each(rare));
  for (uint64_t i = 0; i < blocks; i++) {
    free_block(make(3072));
    for (int j = 0; j < 8; j++) free_block(make(16));
  }
  EXPECT_EQ(own().events[rare] - rare_before, 50u);
  const uint64_t expected = 8 * blocks / static_cast<uint64_t>(blocks_each(often));
  EXPECT_GE(own().events[often] - often_before + 1, expected);
  EXPECT_LE(own().events[often] - often_before, expected + 1);
}

TEST_F(SamplerTest, EventsOfManySizes) {
  test::Random random{test::seed_of("Sampler")};
  uint64_t begun_before[class_count], events_before[class_count], blocks[class_count] = {};
  for (size_t i = 0; i < class_count; i++) {
    begun_before[i] = begun(i);
    events_before[i] = own().events[i];
  }
  const uint64_t told_before = own().told;
  uint64_t large = 0, events = 0;
  for (size_t calls = 0; calls < 300000; calls++) {
    const bool is_large = random.below(1000) == 0;
    const size_t bytes = is_large ? medium_bytes_max + 1 : 1 + random.of_any_length(14);
    if (is_large) large++;
    if (!is_large) blocks[index_for(bytes)]++;
    free_block(make(bytes));
  }
  for (size_t i = 0; i < class_count; i++) {
    EXPECT_EQ(begun(i) - begun_before[i], blocks[i]) << i;
    const uint64_t seen = own().events[i] - events_before[i];
    events += seen;
    EXPECT_GE(seen + 1, blocks[i] / static_cast<uint64_t>(blocks_each(i))) << i;
    EXPECT_LE(seen, blocks[i] / static_cast<uint64_t>(blocks_each(i)) + 1) << i;
  }
  EXPECT_EQ(own().told - told_before, events + large) << "large blocks are told one by one";
}

// What goes home unused counts for the blocks that come next.
TEST_F(SamplerTest, BlocksThatWereNotUsedAreNotLost) {
  uint64_t begun_before[class_count], blocks = 0, rounds_with_blocks = 0;
  for (size_t i = 0; i < class_count; i++) begun_before[i] = begun(i);
  for (size_t round = 0; round < 100; round++) {
    blocks++;
    for (size_t block_bytes = 16; block_bytes <= 2048; block_bytes *= 2) {
      free_block(make(block_bytes));
    }
    rounds_with_blocks += allocation_side(*current_sides(), 0).length() != 0 ? 1 : 0;
    purge_beyond(0);
    EXPECT_EQ(allocation_side(*current_sides(), 0).length(), 0u);
    for (size_t block_bytes = 16; block_bytes <= 2048; block_bytes *= 2) {
      const size_t index = index_for(block_bytes);
      ASSERT_EQ(begun(index) - begun_before[index], blocks) << block_bytes;
    }
  }
  EXPECT_GT(rounds_with_blocks, 90u) << "all but those before an event";
}

}  // namespace
}  // namespace talus::core
