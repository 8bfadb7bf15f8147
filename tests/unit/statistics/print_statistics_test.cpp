// SPDX-License-Identifier: MIT
// tests/unit/statistics/print_statistics: where a sample goes, and what it leaves alone.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "api/libc_extras.hpp"
#include "quiet.hpp"
#include "statistics_asked.hpp"

namespace talus::core {
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
  // Processes that print their samples, and end with 0 if each sample was written.
  void start_printing(int processes, int samples, StatsFormat format) {
    for (int i = 0; i < processes; i++) {
      if (fork() != 0) continue;
      bool has_failed = false;
      for (int j = 0; j < samples; j++) {
        print(format);
        has_failed |= statistics_printer.has_failed;
      }
      _exit(has_failed ? 1 : 0);
    }
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

// The process may write files up to a number of bytes.
class FileLengthLimit {
 public:
  explicit FileLengthLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileLengthLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(PrintStatistics, AnExpositionThatFailsLeavesTheFile) {
  std::ofstream{at("stats")} << "old\n";
  testing::internal::CaptureStderr();
  {
    const FileLengthLimit limit{1000};
    print(StatsFormat::openmetrics);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "talus: cannot write statistics to " + at("stats") + "\n");
  EXPECT_EQ(content(at("stats")), "old\n");
  EXPECT_EQ(names(), 1u);
}

TEST_F(PrintStatistics, ProcessesReplaceAFileAtOnce) {
  print(StatsFormat::openmetrics);
  constexpr int processes = 8;
  start_printing(processes, 20, StatsFormat::openmetrics);
  int status = 0;
  for (int ended = 0; ended<processes; ended += waitpid(-1, &status, WNOHANG)> 0 ? 1 : 0) {
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(is_whole(content(at("stats"))));
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names(), 1u);
}

size_t headers_in(const std::string& table) {
  size_t headers = 0;
  for (size_t at = 0; (at = table.find("process.id,", at)) != std::string::npos; at++) headers++;
  return headers;
}

TEST_F(PrintStatistics, ProcessesThatBeginATableWriteOneHeader) {
  constexpr int processes = 16;
  for (int round = 0; round < 10; round++) {
    files::remove(at("stats"));
    start_printing(processes, 1, StatsFormat::csv);
    for (int i = 0, status = 0; i < processes; i++) {
      EXPECT_GT(wait(&status), 0);
      EXPECT_EQ(status, 0);
    }
    const std::string table = content(at("stats"));
    EXPECT_EQ(table.compare(0, 11, "process.id,"), 0);
    EXPECT_EQ(headers_in(table), 1u);
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), processes + 1);
  }
}

TEST_F(PrintStatistics, AHeldLockOfATableDelaysNoOther) {
  const int file = open(at("stats").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  const uint64_t begin_ms = os::System::now_ms();
  print(StatsFormat::csv);
  EXPECT_LT(os::System::now_ms() - begin_ms, 20000u);
  EXPECT_EQ(headers_in(content(at("stats"))), 1u);
  close(file);
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

volatile sig_atomic_t signals_seen = 0;
void see_signal(int) { signals_seen = signals_seen + 1; }

bool is_waiting(int number) {
  sigset_t waiting;
  return sigpending(&waiting) == 0 && sigismember(&waiting, number) == 1;
}

// Calls print() while nothing is blocked; while the signal is; and while one waits already. The
// program sees what it would see without statistics.
template <typename Print>
void expect_no_signal(int number, Print print) {
  const auto before = signal(number, see_signal);
  signals_seen = 0;
  print();
  EXPECT_EQ(signals_seen, 0);
  sigset_t one, mask;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_BLOCK, &one, &mask);
  print();
  EXPECT_FALSE(is_waiting(number));
  raise(number);
  print();
  EXPECT_TRUE(is_waiting(number));
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  EXPECT_EQ(signals_seen, 1);
  signal(number, before);
}

TEST_F(PrintStatistics, AReaderThatIsGoneIsNoSignal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  expect_no_signal(SIGPIPE, [&] { EXPECT_EQ(api::stats_print(ends[1], TALUS_STATS_TEXT), EPIPE); });
  close(ends[1]);
}

TEST_F(PrintStatistics, AFileThatMayNotGrowIsNoSignal) {
  const FileLengthLimit limit{1000};
  const int file = open(at("file").c_str(), O_WRONLY | O_CREAT, 0600);
  expect_no_signal(SIGXFSZ, [file] { EXPECT_EQ(api::stats_print(file, TALUS_STATS_JSON), EFBIG); });
  close(file);
}

}  // namespace
}  // namespace talus::core
