// SPDX-License-Identifier: MIT
// tests/unit/unwind/cfi: rules from tables that the test writes, right ones and broken ones.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstring>
#include <initializer_list>
#include <vector>

#include "arch/frames.hpp"
#include "effort.hpp"
#include "unwind/cfi_find.hpp"
#include "unwind/cfi_rule.hpp"

namespace talus::core::unwind {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr auto sp = static_cast<uint8_t>(arch::sp_number);
constexpr auto fp = static_cast<uint8_t>(arch::fp_number);
constexpr auto link = static_cast<uint8_t>(arch::return_number);
constexpr uint8_t at_sp = 0x70 + sp, at_fp = 0x70 + fp;

// A module of one page between two that cannot be read: code, then the tables.
class Tables : public testing::Test {
 protected:
  static constexpr size_t page = 4096;

  // Numbers of several bytes are in the processor's order.
  template <typename T>
  static void put(Bytes& bytes, T value) {
    uint8_t written[sizeof value];
    std::memcpy(written, &value, sizeof value);
    bytes.insert(bytes.end(), written, written + sizeof value);
  }
  template <typename T>
  static Bytes joined(Bytes before, T value, const Bytes& behind) {
    put(before, value);
    before.insert(before.end(), behind.begin(), behind.end());
    return before;
  }

  void SetUp() override {
    void* memory = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    at_ = static_cast<uint8_t*>(memory) + page;
    ASSERT_EQ(mprotect(at_, page, PROT_READ | PROT_WRITE), 0);
    make({});
  }
  void TearDown() override { munmap(at_ - page, 3 * page); }

  // Tables with these instructions for the code from 0 to 256.
  void make(const Bytes& instructions, const char* augmentation = "zR",
            const Bytes& initial = {0x0c, sp, 8, 0x05, link, 1}) {
    std::memset(at_, 0, page);
    size_t end = header + 12 + 2 * 8;
    const size_t common = end;
    Bytes part;
    put(part, uint32_t{0});
    part.push_back(1);
    for (const char* letter = augmentation; *letter != 0; letter++) {
      part.push_back(static_cast<uint8_t>(*letter));
    }
    part.insert(part.end(), {0, 1, 0x78, link});  // factors 1 and -8
    if (augmentation[0] == 'z') part.insert(part.end(), {1, 0x1b});
    part.insert(part.end(), initial.begin(), initial.end());
    end = write_entry(end, part);
    const size_t description = end;
    Bytes frame;
    put(frame, static_cast<uint32_t>(description + 4 - common));
    put(frame, static_cast<int32_t>(0 - static_cast<int32_t>(description + 8)));
    put(frame, uint32_t{256});
    if (augmentation[0] == 'z') frame.push_back(0);
    frame.insert(frame.end(), instructions.begin(), instructions.end());
    end = write_entry(end, frame);
    Bytes head{1, 0x1b, 0x03, 0x3b};
    put(head, static_cast<int32_t>(common - header - 4));
    put(head, uint32_t{1});
    put(head, static_cast<int32_t>(0 - static_cast<int32_t>(header)));
    put(head, static_cast<int32_t>(description - header));
    std::memcpy(at_ + header, head.data(), head.size());
    used = end;
  }

  Module module() const {
    const auto begin = reinterpret_cast<uintptr_t>(at_);
    return {begin, begin + page, begin + header};
  }
  FrameRule rule(size_t code = 100) const {
    FrameDescription description;
    const uintptr_t address = reinterpret_cast<uintptr_t>(at_) + code;
    if (!find_description(module(), address, description)) return FrameRule::of(RuleKind::none);
    return make_rule(description, address);
  }
  uint8_t* bytes() { return at_; }

  static constexpr size_t header = 512;
  size_t used = 0;  // bytes of the page

 private:
  size_t write_entry(size_t at, Bytes part) {
    while (part.size() % 4 != 0) part.push_back(0);
    Bytes length;
    put(length, static_cast<uint32_t>(part.size()));
    std::memcpy(at_ + at, length.data(), 4);
    std::memcpy(at_ + at + 4, part.data(), part.size());
    return at + 4 + part.size();
  }

  uint8_t* at_ = nullptr;
};

TEST_F(Tables, OfAPlainFrame) {
  const FrameRule found = rule();
  EXPECT_EQ(found.kind, RuleKind::frame);
  EXPECT_EQ(found.base, CfaBase::sp);
  EXPECT_EQ(found.cfa_offset, 8);
  EXPECT_EQ(found.return_offset, -8);
  EXPECT_EQ(found.fp_place, FpPlace::same);
  EXPECT_EQ(rule(256).kind, RuleKind::none) << "behind the code";
}

// A rule holds from its address on.
TEST_F(Tables, OfAFrameThatGrows) {
  make(joined({0x40 | 1, 0x0e, 16, 0x80 | fp, 2,               // from 1: 16 bytes, fp saved
               0x40 | 3, 0x0d, fp,                             // from 4: by fp
               0x02, 60, 0x0a, 0x0c, sp, 8, 0xc0 | fp, 0x03},  // from 64: as at first
              uint16_t{36}, {0x0b}));                          // from 100: by fp again
  EXPECT_EQ(rule(0).cfa_offset, 8);
  EXPECT_EQ(rule(0).fp_place, FpPlace::same);
  for (const size_t code : {1, 3}) {
    EXPECT_EQ(rule(code).base, CfaBase::sp);
    EXPECT_EQ(rule(code).cfa_offset, 16);
    EXPECT_EQ(rule(code).fp_place, FpPlace::at_cfa);
    EXPECT_EQ(rule(code).fp_offset, -16);
  }
  for (const size_t code : {4, 63, 100, 255}) {
    EXPECT_EQ(rule(code).base, CfaBase::fp) << code;
    EXPECT_EQ(rule(code).fp_place, FpPlace::at_cfa) << code;
  }
  EXPECT_EQ(rule(64).base, CfaBase::sp);
  EXPECT_EQ(rule(99).fp_place, FpPlace::same);
}

TEST_F(Tables, OfLongAndSignedForms) {
  make(joined({0x04}, uint32_t{8}, {0x12, sp, 0x7c, 0x11, fp, 4, 0x05, link, 2}));
  EXPECT_EQ(rule().cfa_offset, 32);
  EXPECT_EQ(rule().fp_offset, -32);
  EXPECT_EQ(rule().return_offset, -16);
  make({0x13, 0x7d, 0x2f, fp, 3});
  EXPECT_EQ(rule().cfa_offset, 24);
  EXPECT_EQ(rule().fp_offset, 24);
  make({0x0e, 0x80, 0x80, 4});
  EXPECT_EQ(rule().cfa_offset, 65536);
}

TEST_F(Tables, OfOtherRegistersAreSkipped) {
  make({0x80 | 3, 4, 0x05, 40,   5,    0x08, 41,       0x07, 42, 0x09, 43,   44,
        0x14,     3, 1,    0x15, 4,    1,    0x10,     5,    2,  0x77, 8,    0x16,
        9,        2, 0x77, 8,    0x06, 3,    0xc0 | 3, 0x2e, 16, 0x2d, 0x0e, 48});
  EXPECT_EQ(rule().kind, RuleKind::frame);
  EXPECT_EQ(rule().cfa_offset, 48);
}

// Where gcc realigns a stack, the CFA is a word in the frame.
TEST_F(Tables, OfARealignedFrame) {
  make({0x0f, 3, at_fp, 0x78, 0x06, 0x10, fp, 2, at_fp, 0});
  EXPECT_EQ(rule().base, CfaBase::at_fp);
  EXPECT_EQ(rule().cfa_offset, -8);
  EXPECT_EQ(rule().fp_place, FpPlace::at_fp);
  EXPECT_EQ(rule().fp_offset, 0);
  EXPECT_FALSE(rule().is_cfa_behind);
  make({0x0f, 6, at_sp, 0xc8, 0, 0x06, 0x23, 8});
  EXPECT_EQ(rule().base, CfaBase::at_sp);
  EXPECT_EQ(rule().cfa_offset, 72);
  EXPECT_TRUE(rule().is_cfa_behind);
}

#if defined(__x86_64__)
TEST_F(Tables, OfALinkageTable) {
  make({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  EXPECT_EQ(rule(96 + 10).cfa_offset, 8);
  EXPECT_EQ(rule(96 + 11).cfa_offset, 16);
  EXPECT_EQ(rule(96 + 11).base, CfaBase::sp);
}
TEST_F(Tables, WithoutAReturnAddressInMemory) {
  make({0x08, link});
  EXPECT_EQ(rule().kind, RuleKind::unknown);
}
#else
TEST_F(Tables, OfALeaf) {
  make({0x08, link});
  EXPECT_EQ(rule().kind, RuleKind::frame);
  EXPECT_TRUE(rule().is_in_link);
}
#endif

TEST_F(Tables, OfEnds) {
  make({0x07, link});
  EXPECT_EQ(rule().kind, RuleKind::outermost);
  make({}, "zRS");
  EXPECT_EQ(rule().kind, RuleKind::signal);
}

TEST_F(Tables, WhatARuleCannotSay) {
  for (const Bytes& instructions : std::initializer_list<Bytes>{
           {0x1d},                             // no instruction
           {0x0c, 3, 8},                       // the CFA by another register
           {0x0f, 2, 0x73, 8},                 // the same as an expression
           {0x0f, 1, 0x9c},                    // another expression
           {0x0f, 4, at_sp, 8, 0x06, 0x06},    // two words deep
           {0x0e, 12},                         // no whole words
           {0x0e, 0x80, 0x80, 0x80, 0x80, 1},  // too far
           {0x09, link, 3},                    // the return address in a register
           {0x0b},                             // brings back what was not saved
           {0x0a, 0x0a, 0x0a, 0x0a, 0x0a},     // saves too often
       }) {
    make(instructions);
    EXPECT_EQ(rule().kind, RuleKind::unknown) << static_cast<int>(instructions[0]);
  }
  make({0x80 | sp, 2});  // a stack pointer that is not the CFA; functions of s390x save it
  EXPECT_EQ(rule().kind, arch::cfa_above_sp != 0 ? RuleKind::frame : RuleKind::unknown);
  make({0x10, fp, 3, at_sp, 8, 0x06});
  EXPECT_EQ(rule().kind, RuleKind::frame);
  EXPECT_EQ(rule().fp_place, FpPlace::lost);
}

TEST_F(Tables, OfUnknownFormsAreRefused) {
  make({}, "eh");
  EXPECT_EQ(rule().kind, RuleKind::none);
  make({}, "zX");
  EXPECT_EQ(rule().kind, RuleKind::none);
  for (size_t i = 0; i < 4; i++) {
    make({});
    bytes()[header + i] ^= 0x10;
    if (i != 1) {
      EXPECT_EQ(rule().kind, RuleKind::none) << i;  // 1: where the tables are, which is not needed
    }
  }
  make({});
  for (uint8_t* byte = bytes() + header + 8; byte < bytes() + header + 12; byte++) *byte = 0;
  EXPECT_EQ(rule().kind, RuleKind::none) << "no rows";
  for (uint8_t* byte = bytes() + header + 8; byte < bytes() + header + 12; byte++) *byte = 0xff;
  EXPECT_EQ(rule().kind, RuleKind::none) << "more rows than there is room for";
}

// Whatever stands in the tables, nothing outside the module is read: its neighbours would fault.
TEST_F(Tables, BrokenOnesNeverFault) {
  test::Random random{test::seed_of("Tables")};
  size_t kinds[5] = {};
  for (size_t round = 0; round < test::rounds_of(200000); round++) {
    if (round % 8 == 0) {
      Bytes instructions(random.below(40));
      for (uint8_t& byte : instructions) byte = static_cast<uint8_t>(random.next());
      make(instructions);
      const size_t moved = page - used;
      if (random.below(4) == 0 && moved % 4 == 0) {  // the tables end with the page
        std::memmove(bytes() + header + moved, bytes() + header, used - header);
      }
    }
    bytes()[header + random.below(used - header)] = static_cast<uint8_t>(random.next());
    kinds[static_cast<size_t>(rule(random.below(300)).kind)]++;
  }
  EXPECT_GT(kinds[static_cast<size_t>(RuleKind::none)], 0u);
  EXPECT_GT(kinds[static_cast<size_t>(RuleKind::unknown)], 0u);
}

}  // namespace
}  // namespace talus::core::unwind
