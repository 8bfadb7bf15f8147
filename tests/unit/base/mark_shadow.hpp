// SPDX-License-Identifier: MIT
// tests/unit/base/mark_shadow: the values of a mark, beside the extreme of all that they stand for.
#ifndef TALUS_TESTS_UNIT_BASE_MARK_SHADOW_HPP
#define TALUS_TESTS_UNIT_BASE_MARK_SHADOW_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "effort.hpp"

namespace talus::core::test {

// Random notes and turns. `choose(one, other)` is the value that counts, `value_of(mark)` what the
// mark says.
template <typename Mark, typename Choose, typename ValueOf>
void expect_extreme_of_all(const char* name, Choose choose, ValueOf value_of) {
  Random random{seed_of(name)};
  Mark mark;
  std::deque<size_t> closed(Mark::turns_kept, 0);  // of closed turns
  size_t now = 0;
  for (size_t round = 0; round < rounds_of(20000); round++) {
    const size_t value = random.below(1000000);
    now = choose(now, value);
    if (random.below(4) != 0) {
      mark.note(value);
    } else {
      closed.pop_front();
      closed.push_back(now);
      now = value;
      mark.turn(value);
    }
    size_t extreme = now;
    for (const size_t one : closed) extreme = choose(extreme, one);
    ASSERT_EQ(value_of(mark), extreme);
  }
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_BASE_MARK_SHADOW_HPP
