// SPDX-License-Identifier: MIT
// tests/unit/retention/refault: giving back is refaulted where most of what went is taken within a
// moment, and for a while only.
#include <gtest/gtest.h>

#include "retention/refault.hpp"

namespace talus::core {
namespace {

constexpr uint64_t start_ms = 1000000;
constexpr size_t kept = 100 * mib;

TEST(RefaultTest, WidensTheBoundForAWhile) {
  Refault refault;
  EXPECT_FALSE(refault.is_any());
  refault.note_given(8 * mib, kept, start_ms);
  refault.note_given(8 * mib, kept - 8 * mib, start_ms + 20);
  refault.note_taken(8 * mib - 1, start_ms + 30);
  EXPECT_EQ(refault.may_keep(start_ms + 30), 0u) << "not yet half";
  refault.note_taken(1, start_ms + 40);
  EXPECT_TRUE(refault.is_any());
  EXPECT_EQ(refault.may_keep(start_ms + 40), kept + kept / 2);
  EXPECT_EQ(refault.may_keep(start_ms + 40 + refault_ms - 1), kept + kept / 2);
  EXPECT_EQ(refault.may_keep(start_ms + 40 + refault_ms), 0u);
}

TEST(RefaultTest, IsForWhatWentAMomentAgo) {
  Refault refault;
  refault.note_given(64 * mib, kept, start_ms);
  refault.note_taken(64 * mib, start_ms + refault_moment_ms + 1);
  EXPECT_FALSE(refault.is_any());
  // What was taken before counts no more in the next moment.
  refault.note_taken(31 * mib, start_ms + 2);
  refault.note_given(64 * mib, kept, start_ms + refault_moment_ms + 2);
  refault.note_taken(31 * mib, start_ms + refault_moment_ms + 3);
  EXPECT_FALSE(refault.is_any());
  refault.note_taken(1 * mib, start_ms + refault_moment_ms + 4);
  EXPECT_TRUE(refault.is_any());
}

TEST(RefaultTest, IsNoneForLittle) {
  Refault refault;
  refault.note_taken(64 * mib, start_ms);
  EXPECT_FALSE(refault.is_any()) << "nothing went";
  refault.note_given(refault_bytes_min - 1, kept, start_ms);
  refault.note_taken(64 * mib, start_ms + 1);
  EXPECT_FALSE(refault.is_any());
}

}  // namespace
}  // namespace talus::core
