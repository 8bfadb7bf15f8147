// SPDX-License-Identifier: MIT
// tests/unit/unwind/rule: rules in 8 bytes, and the table that keeps them.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "effort.hpp"
#include "os/os.hpp"
#include "unwind/rule.hpp"
#include "unwind/rule_table.hpp"

namespace talus::core::unwind {
namespace {

int64_t offset_of(test::Random& random, unsigned bits) {
  const auto end = int64_t{8} << (bits - 1);
  return (static_cast<int64_t>(random.next() % static_cast<uint64_t>(2 * end)) - end) / 8 * 8;
}

TEST(Rule, PacksWithoutLoss) {
  test::Random random{test::seed_of("Rule")};
  for (int i = 0; i < 100000; i++) {
    FrameRule rule;
    rule.kind = static_cast<RuleKind>(1 + random.below(4));
    rule.base = static_cast<CfaBase>(random.below(4));
    rule.fp_place = static_cast<FpPlace>(random.below(4));
    rule.is_in_link = random.below(2) == 1;
    rule.is_cfa_behind = random.below(2) == 1;
    rule.cfa_offset = offset_of(random, FrameRule::cfa_bits);
    rule.fp_offset = offset_of(random, FrameRule::fp_bits);
    rule.return_offset = offset_of(random, FrameRule::return_bits);
    ASSERT_TRUE(rule.fits());
    const uint64_t packed = rule.packed();
    ASSERT_NE(packed, 0u);
    const FrameRule again = FrameRule::unpacked(packed);
    ASSERT_EQ(again.kind, rule.kind);
    ASSERT_EQ(again.base, rule.base);
    ASSERT_EQ(again.fp_place, rule.fp_place);
    ASSERT_EQ(again.is_in_link, rule.is_in_link);
    ASSERT_EQ(again.is_cfa_behind, rule.is_cfa_behind);
    ASSERT_EQ(again.cfa_offset, rule.cfa_offset);
    ASSERT_EQ(again.fp_offset, rule.fp_offset);
    ASSERT_EQ(again.return_offset, rule.return_offset);
  }
}

TEST(Rule, RefusesWhatHasNoRoom) {
  FrameRule rule = FrameRule::of(RuleKind::frame);
  EXPECT_TRUE(rule.fits());
  rule.cfa_offset = 12;
  EXPECT_FALSE(rule.fits()) << "no whole words";
  rule.cfa_offset = int64_t{8} << (FrameRule::cfa_bits - 1);
  EXPECT_FALSE(rule.fits());
  rule.cfa_offset -= 8;
  EXPECT_TRUE(rule.fits());
  rule.fp_offset = -(int64_t{8} << (FrameRule::fp_bits - 1));
  EXPECT_TRUE(rule.fits());
  rule.fp_offset -= 8;
  EXPECT_FALSE(rule.fits());
}

class RuleTableTest : public testing::Test {
 protected:
  void SetUp() override {
    memory_ = os::map_pages(nullptr, bytes());
    ASSERT_NE(memory_, nullptr);
    table().begin(RuleTable::entry_count_max);
  }
  void TearDown() override { os::System::unmap(memory_, bytes()); }
  static size_t bytes() { return round_up(sizeof(RuleTable), os::page_bytes()); }
  RuleTable& table() { return *static_cast<RuleTable*>(memory_); }
  static uint64_t key(size_t i) { return RuleTable::key_of(0x7f0000000000 + i, Generation{3}); }

 private:
  void* memory_ = nullptr;
};

TEST_F(RuleTableTest, GenerationsDiffer) {
  const uintptr_t code = 0x401000;
  EXPECT_TRUE(table().add(RuleTable::key_of(code, Generation{1}), 11));
  EXPECT_EQ(table().find(RuleTable::key_of(code, Generation{1})), 11u);
  EXPECT_EQ(table().find(RuleTable::key_of(code, Generation{2})), 0u);
}

// A table that is full refuses, and keeps what it has.
TEST_F(RuleTableTest, IsFilled) {
  std::vector<bool> is_there;
  size_t kept = 0;
  for (size_t i = 0; i < 2 * RuleTable::entry_count_max; i++) {
    is_there.push_back(table().add(key(i), i + 1));
    kept += is_there.back() ? 1 : 0;
  }
  EXPECT_GT(kept, RuleTable::entry_count_max * 9 / 10);
  EXPECT_LE(kept, RuleTable::entry_count_max);
  for (size_t i = 0; i < is_there.size(); i++) {
    ASSERT_EQ(table().find(key(i)), is_there[i] ? i + 1 : 0u) << i;
  }
}

// A smaller one touches no memory beyond its rules.
TEST_F(RuleTableTest, MayBeSmaller) {
  constexpr size_t count = 256, bytes = RuleTable::bytes_for(count);
  ASSERT_LT(bytes, 2u * 4096);
  void* const memory = os::map_pages(nullptr, 4 * 4096);
  ASSERT_NE(memory, nullptr);
  auto& small = *static_cast<RuleTable*>(memory);
  small.begin(count);
  size_t kept = 0;
  for (size_t i = 0; i < 2 * count; i++) kept += small.add(key(i), i + 1) ? 1 : 0;
  EXPECT_GT(kept, count * 9 / 10);
  EXPECT_LE(kept, count);
  const auto* const after = static_cast<const unsigned char*>(memory);
  for (size_t i = bytes; i < 4 * 4096; i++) ASSERT_EQ(after[i], 0) << i;
  os::System::unmap(memory, 4 * 4096);
}

TEST_F(RuleTableTest, ManyThreadsAddTheSame) {
  std::vector<std::thread> threads;
  for (size_t first = 0; first < 4; first++) {
    threads.emplace_back([this, first] {
      for (size_t i = 0; i < 20000; i++) {
        const size_t one = (i + first * 5000) % 20000;
        const uint64_t found = table().find(key(one));
        ASSERT_TRUE(found == 0 || found == one + 1);
        ASSERT_TRUE(table().add(key(one), one + 1));
        ASSERT_EQ(table().find(key(one)), one + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace talus::core::unwind
