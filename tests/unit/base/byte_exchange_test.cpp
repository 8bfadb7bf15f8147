// SPDX-License-Identifier: MIT
// tests/unit/base/byte_exchange: one byte is exchanged, and those beside it are left alone.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/byte_exchange.hpp"

namespace talus::core {
namespace {

struct alignas(8) Row {
  uint8_t bytes[8] = {0, 1, 2, 3, 4, 5, 6, 7};
};

TEST(ByteExchange, ChangesOneByte) {
  for (size_t i = 0; i < sizeof(Row); i++) {
    Row row;
    EXPECT_EQ(exchange_in_word(&row.bytes[i], uint8_t{200}), i);
    for (size_t j = 0; j < sizeof(Row); j++) EXPECT_EQ(row.bytes[j], j == i ? 200 : j);
  }
}

TEST(ByteExchange, ComparesOneByte) {
  for (size_t i = 0; i < sizeof(Row); i++) {
    Row row;
    uint8_t expected = 99;
    EXPECT_FALSE(cas_in_word(&row.bytes[i], expected, uint8_t{200}));
    EXPECT_EQ(expected, i) << "what was found";
    EXPECT_TRUE(cas_in_word(&row.bytes[i], expected, uint8_t{200}));
    for (size_t j = 0; j < sizeof(Row); j++) EXPECT_EQ(row.bytes[j], j == i ? 200 : j);
  }
}

// Each thread counts in a byte of its own, in one word.
TEST(ByteExchange, LosesNothingBesideOtherThreads) {
  constexpr unsigned rounds = 10000;
  Row row;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; i++) {
    row.bytes[i] = 0;
    threads.emplace_back([byte = &row.bytes[i]] {
      for (unsigned round = 0; round < rounds; round++) {
        auto expected = static_cast<uint8_t>(round);
        ASSERT_TRUE(cas_in_word(byte, expected, static_cast<uint8_t>(round + 1)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 4; i++) EXPECT_EQ(row.bytes[i], static_cast<uint8_t>(rounds));
  for (size_t i = 4; i < sizeof(Row); i++) EXPECT_EQ(row.bytes[i], i);
}

}  // namespace
}  // namespace talus::core
