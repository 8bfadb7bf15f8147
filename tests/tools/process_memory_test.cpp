// SPDX-License-Identifier: MIT
//
// Owns: what a failed read of another process says: a hole in its memory is one thing, a process
// that has ended or runs another program is another.

#include "observe/memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace talus::tool {
namespace {

constexpr uint64_t no_address = 8;  // the first page is never mapped
char known[] = "known";

uint64_t address_of_known() { return reinterpret_cast<uint64_t>(known); }

// A child that waits for a byte, and then ends or begins another program.
class Child {
 public:
  explicit Child(bool executes) {
    EXPECT_EQ(::pipe(go_), 0);
    EXPECT_EQ(::pipe2(begun_, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ != 0) {
      ::close(begun_[1]);
      return;
    }
    char byte = 0;
    ::close(go_[1]);
    if (::read(go_[0], &byte, 1) == 1 && executes) ::execl("/bin/sleep", "sleep", "60", nullptr);
    ::_exit(0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int file : {go_[0], go_[1], begun_[0]}) ::close(file);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int pid() const { return pid_; }
  // Returns when the child's memory is gone: exec and exit close its end of the pipe.
  void go() const {
    char byte = 0;
    EXPECT_EQ(::write(go_[1], &byte, 1), 1);
    EXPECT_EQ(::read(begun_[0], &byte, 1), 0);
  }

 private:
  int go_[2] = {}, begun_[2] = {};
  int pid_ = 0;
};

TEST(ProcessMemory, AHoleIsImplausible) {
  const Child child(false);
  const ProcessMemory memory(child.pid());
  EXPECT_EQ(value_at<char>(memory, address_of_known()), 'k');
  EXPECT_THROW(bytes_at(memory, no_address, 1), Implausible);
}

TEST(ProcessMemory, AnEndedProcessIsLost) {
  const Child child(false);
  const ProcessMemory memory(child.pid());
  child.go();
  siginfo_t facts;
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &facts, WEXITED | WNOWAIT), 0);
  EXPECT_THROW(bytes_at(memory, address_of_known(), 1), Lost);
}

TEST(ProcessMemory, AnotherProgramIsLost) {
  const Child child(true);
  const ProcessMemory memory(child.pid());
  child.go();
  EXPECT_THROW(bytes_at(memory, no_address, 1), Lost);
}

}  // namespace
}  // namespace talus::tool
