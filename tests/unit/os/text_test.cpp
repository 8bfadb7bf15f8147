// SPDX-License-Identifier: MIT
// tests/unit/os/text: the text buffer says what it was told and never writes beyond its end.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <string>

#include "effort.hpp"
#include "os/text.hpp"

namespace talus::core {
namespace {

TEST(Text, Words) {
  Text text;
  EXPECT_STREQ(text.data(), "");
  text.put("free(").put_hex(0xdeadbeef).put(")").put_character('!');
  EXPECT_STREQ(text.data(), "free(0xdeadbeef)!");
  EXPECT_EQ(text.length(), 17u);
  text.clear();
  EXPECT_STREQ(text.data(), "");
  EXPECT_EQ(text.length(), 0u);
}

TEST(Text, NumbersAgreeWithPrintf) {
  test::Random random{test::seed_of("Text.Numbers")};
  for (size_t round = 0; round < test::rounds_of(20000); round++) {
    const uint64_t number = round == 0   ? 0
                            : round == 1 ? UINT64_MAX
                                         : random.next() >> random.below(64);
    char expected[128];
    snprintf(expected, sizeof expected, "%" PRIu64 "|%12" PRIu64 "|0x%" PRIx64 "|%" PRIu64 ".%03u",
             number, number, number, number / 1000, static_cast<unsigned>(number % 1000));
    Text text;
    text.put_number(number).put("|").put_number(number, 12).put("|").put_hex(number).put("|");
    text.put_thousandths(number);
    ASSERT_STREQ(text.data(), expected);
  }
}

TEST(Text, CutsWhatDoesNotFit) {
  struct Guarded {
    TextBuffer<16> text;
    char guard[16] = {};
  } slow;
  for (char& byte : slow.guard) byte = 'g';
  slow.text.put("0123456789").put_number(UINT64_MAX).put_hex(UINT64_MAX).put("more");
  EXPECT_STREQ(slow.text.data(), "012345678918446");
  EXPECT_EQ(slow.text.length(), 15u);
  EXPECT_EQ(std::string(slow.guard, sizeof slow.guard), std::string(16, 'g'));
}

}  // namespace
}  // namespace talus::core
