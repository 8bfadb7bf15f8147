// SPDX-License-Identifier: MIT
// tests/death/said: all that a child said before a signal ended it, as the tests compare it.
//
// Owns: the one place that knows of an emulator. qemu says on the program's standard error that a
// signal ends the program, and so adds a line. Tests that look for a part of the text need none of
// this.
#ifndef TALUS_TESTS_DEATH_SAID_HPP
#define TALUS_TESTS_DEATH_SAID_HPP

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "effort.hpp"

namespace talus::core::test {

// `said` without the emulator's lines at its end: one for each process that a signal ended, so a
// forked child and its parent have two.
inline std::string without_emulator(std::string said) {
  const std::string begin = "qemu: uncaught target signal ";
  while (may_be_emulated && said.size() > begin.size()) {
    const size_t before = said.rfind('\n', said.size() - 2);
    const size_t last_line = before == std::string::npos ? 0 : before + 1;
    if (said.compare(last_line, begin.size(), begin) != 0) break;
    said.erase(last_line);
  }
  return said;
}

class SaidMatcher {
 public:
  using is_gtest_matcher = void;
  explicit SaidMatcher(testing::Matcher<const std::string&> wanted) : wanted_{std::move(wanted)} {}

  bool MatchAndExplain(const std::string& text, testing::MatchResultListener* listener) const {
    return wanted_.MatchAndExplain(without_emulator(text), listener);
  }
  void DescribeTo(std::ostream* out) const { wanted_.DescribeTo(out); }
  void DescribeNegationTo(std::ostream* out) const { wanted_.DescribeNegationTo(out); }

 private:
  testing::Matcher<const std::string&> wanted_;
};

// The child said exactly this, nothing before or after.
inline SaidMatcher said(const std::string& text) { return SaidMatcher(testing::Eq(text)); }
inline SaidMatcher said_like(const std::string& pattern) {
  return SaidMatcher(testing::MatchesRegex(pattern));
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_DEATH_SAID_HPP
