// SPDX-License-Identifier: MIT
// tests/unit/process/print_statistics: where a sample goes, and what it leaves alone.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "api/libc_extras.hpp"
#include "quiet.hpp"

namespace talus {
namespace {

namespace files = std::filesystem;

// A folder of the test's own, to whose file "stats" samples go.
class PrintStatistics : public testing::Test {
 protected:
  PrintStatistics() : before_{options} {
    char name[] = "/tmp/talus-statistics-XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    test::own_cache();
    statistics_printer.has_failed = false;
  }
  ~PrintStatistics() override {
    options = before_;
    files::remove_all(folder_);
  }

  std::string at(const char* name) const { return folder_ + "/" + name; }
  static std::string content(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  }
  static bool is_whole(const std::string& exposition) {
    const std::string end = "# EOF\n";
    return exposition.size() > end.size() && exposition.find(end) == exposition.size() - end.size();
  }
  size_t names() const {
    return static_cast<size_t>(std::distance(files::directory_iterator{folder_}, {}));
  }
  void print(StatsFormat format) {
    const std::string path = at("stats");
    ASSERT_LT(path.size(), sizeof options.print_stats.bytes);
    path.copy(options.print_stats.bytes, path.size());
    options.print_stats.bytes[path.size()] = '\0';
    options.print_stats_format = format;
    print_as_options_say();
  }

 private:
  const Options before_;
  std::string folder_;
};

TEST_F(PrintStatistics, AnExpositionReplacesAFile) {
  std::ofstream{at("stats")} << "old\n";
  for (int i = 0; i < 2; i++) {
    print(StatsFormat::openmetrics);
    EXPECT_TRUE(is_whole(content(at("stats"))));
    EXPECT_EQ(names(), 1u);
  }
}

TEST_F(PrintStatistics, AnExpositionLeavesAPipeOne) {
  ASSERT_EQ(mkfifo(at("stats").c_str(), 0600), 0);
  const int pipe = open(at("stats").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(pipe, 0);
  print(StatsFormat::openmetrics);
  std::string text(65536, '\0');
  const ssize_t bytes = read(pipe, &text[0], text.size());
  text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  EXPECT_TRUE(is_whole(text)) << bytes;
  EXPECT_TRUE(files::is_fifo(at("stats")));
  EXPECT_EQ(names(), 1u);
  close(pipe);
}

// And what it leads to keeps what it has.
TEST_F(PrintStatistics, AnExpositionLeavesALinkOne) {
  std::ofstream{at("kept")} << "old\n";
  files::create_symlink("kept", at("stats"));
  print(StatsFormat::openmetrics);
  EXPECT_TRUE(files::is_symlink(at("stats")));
  EXPECT_EQ(content(at("kept")).substr(0, 6), "old\n# ");
  EXPECT_TRUE(is_whole(content(at("kept"))));
  EXPECT_EQ(names(), 2u);
}

}  // namespace
}  // namespace talus
