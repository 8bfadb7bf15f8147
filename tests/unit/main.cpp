// SPDX-License-Identifier: MIT
// unit/main: runs the tests of one file of a program that holds several.
//
// unit_heap heap/lists_test.cpp runs the tests that this file declares; without a file, all.
// GTEST_FILTER chooses cases instead of the file; one that begins with `-` leaves cases out of it.
// The first blocks lie at the same places in each run (TALUS_RANDOM=0), so that a failure comes
// again. TALUS_RANDOM in the environment says otherwise.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The names of all tests that this file declares, as a filter; empty: there are none.
std::string filter_of_file(std::string_view file) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int i = 0; i < all.total_test_suite_count(); i++) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); j++) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (!ends_with(test.file(), file)) continue;
      filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argument_count, char** arguments) {
  setenv("TALUS_RANDOM", "0", 0);
  testing::InitGoogleTest(&argument_count, arguments);
  const char* request = std::getenv("GTEST_FILTER");
  const bool has_file = argument_count > 1;
  const bool leaves_out = request != nullptr && request[0] == '-';
  if (has_file && (request == nullptr || leaves_out)) {
    const std::string filter = filter_of_file(std::string("/") + arguments[1]);
    if (filter.empty()) {
      std::fprintf(stderr, "%s: no test is declared in %s\n", arguments[0], arguments[1]);
      return 1;
    }
    testing::GTEST_FLAG(filter) = filter + (leaves_out ? request : "");
  }
  return RUN_ALL_TESTS();
}
