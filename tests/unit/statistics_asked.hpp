// SPDX-License-Identifier: MIT
// tests/unit/statistics_asked: values of statistics by name, and what is printed of them.
//
// Owns: nothing. Called on: any thread of a test.
#ifndef TALUS_TESTS_UNIT_STATISTICS_ASKED_HPP
#define TALUS_TESTS_UNIT_STATISTICS_ASKED_HPP

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "api/statistics.hpp"

namespace talus::core::test {

// Of a name that has one.
inline uint64_t value_of(const std::string& name) {
  uint64_t value = ~uint64_t{0};
  EXPECT_EQ(api::get_value(name.c_str(), &value), 0) << name;
  return value;
}

// False: there is no such name.
inline bool has_value(const std::string& name) {
  uint64_t value = 77;
  const int error = api::get_value(name.c_str(), &value);
  EXPECT_TRUE(error == 0 || (error == ENOENT && value == 77)) << name;
  return error == 0;
}

inline std::string printed(talus_stats_format format) {
  const int file = memfd_create("statistics", 0);
  EXPECT_EQ(api::stats_print(file, format), 0);
  std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(file, &text[0], text.size(), 0), static_cast<ssize_t>(text.size()));
  close(file);
  return text;
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_STATISTICS_ASKED_HPP
