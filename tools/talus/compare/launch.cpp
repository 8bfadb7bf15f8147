// SPDX-License-Identifier: MIT
//
// Owns: the execution of one run, see launch.hpp.
//   start_program      fork; the child stores time and memory in a shared page, then executes
//   follow             one poll for output, signals and the clock, until the program has ended
//   end_everybody_but  the process group, then all other processes that have become our children
// It uses fork, not posix_spawn. A child that shares the parent's address space starts with the
// peak memory of its parent. After a fork the peak starts at the pages that the parent has written.
// Must not know: how the samples will be used.

#include "launch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "clock.hpp"
#include "output.hpp"
#include "process_tree.hpp"

namespace talus::tool {
namespace {

constexpr int watch_ms = 2;
constexpr double drain_s = 1;  // for output of processes that outlive the program

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// The child's record, written right before it executes the program.
struct Start {
  double at_s;
  long peak_kib;
  int error;  // errno, if it could not execute the program
};

// A page that both processes share after fork. The child's record outlives its exec.
class SharedStart {
 public:
  SharedStart()
      : page_(::mmap(nullptr, sizeof(Start), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)) {
    if (page_ == MAP_FAILED) throw std::bad_alloc();
  }
  SharedStart(const SharedStart&) = delete;
  SharedStart& operator=(const SharedStart&) = delete;
  ~SharedStart() { ::munmap(page_, sizeof(Start)); }
  volatile Start& operator*() const { return *static_cast<Start*>(page_); }

 private:
  void* page_;  // constant
};

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// All data that the child needs, made before the fork, so that the child writes little memory.
struct Words {
  std::vector<char*> arguments;
  std::vector<char*> by_shell;  // for a file that is neither ELF nor #!, as in a shell
  std::vector<char*> environment;
};

[[noreturn]] void become_program(const Launch& launch, Words& words, const SignalGate& signals,
                                 const Output& output, const SharedStart& start) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int input = ::open(launch.standard_input.c_str(), O_RDONLY);
  const bool is_ready = input >= 0 && ::dup2(input, STDIN_FILENO) >= 0 && output.become_standard();
  if (is_ready) {
    if (input > STDERR_FILENO) ::close(input);
    ::sigprocmask(SIG_SETMASK, &signals.mask_before(), nullptr);
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    (*start).peak_kib = usage.ru_maxrss;
    (*start).at_s = now_s();
    ::execve(launch.path.c_str(), words.arguments.data(), words.environment.data());
    if (errno == ENOEXEC)
      ::execve(words.by_shell[0], words.by_shell.data(), words.environment.data());
  }
  (*start).error = errno;
  ::_exit(127);
}

struct Run {
  const Launch& launch;
  SignalGate& signals;
  const Watcher& watcher;
  pid_t child;
  double started_s;
  double ended_s = 0;
  EndKind forced = EndKind::exited;  // timed_out or interrupted: the command ended it
};

// Whether the child has ended. It stays a zombie, so its id still names its group.
bool has_ended(pid_t child) {
  siginfo_t info{};
  const int result = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
  return result == 0 && info.si_pid == child;
}

void force_end(Run& run, EndKind kind) {
  run.forced = kind;
  ::kill(-run.child, SIGKILL);
  ::kill(run.child, SIGKILL);  // before its setpgid it has no group of its own
}

void follow(Run& run, Output& output) {
  const double deadline_s = run.started_s + run.launch.timeout_s;
  for (;;) {
    if (has_ended(run.child)) break;
    const double left_s = std::max(0.0, deadline_s - now_s());
    int wait_ms = static_cast<int>(std::min(left_s * 1000 + 1, 60000.0));
    if (run.watcher) wait_ms = std::min(wait_ms, watch_ms);
    if (run.forced != EndKind::exited) wait_ms = 1000;
    output.read_until(run.signals.descriptor(), wait_ms);
    if (has_ended(run.child)) {
      run.ended_s = now_s();
      break;
    }
    run.signals.read_all();
    if (run.forced != EndKind::exited) continue;
    if (run.signals.stopped_by() != 0) {
      force_end(run, EndKind::interrupted);
    } else if (now_s() >= deadline_s) {
      force_end(run, EndKind::timed_out);
    } else if (run.watcher) {
      run.watcher(run.child);
    }
  }
  if (run.ended_s == 0) run.ended_s = now_s();
  run.signals.read_all();
}

// Ends the processes that the program left behind. They are our children, or will be once their own
// parent has ended. Processes in `earlier` are not the program's: a shell that became the command
// hands over its jobs. Returns true if there was a process to end.
bool end_everybody_but(const std::vector<pid_t>& earlier) {
  bool was_there = false;
  for (;;) {
    bool is_any = false, is_alive = false;
    for (const pid_t child : children_of(::getpid())) {
      if (std::find(earlier.begin(), earlier.end(), child) != earlier.end()) continue;
      const pid_t ended = ::waitpid(child, nullptr, WNOHANG);
      is_any = is_any || ended >= 0;  // its children may have become ours only now
      is_alive = is_alive || ended == 0;
      if (ended == 0) ::kill(child, SIGKILL);
    }
    if (!is_any) return was_there;
    if (!is_alive) continue;
    was_there = true;
    ::usleep(1000);
  }
}

void charge(Sample& sample, const rusage& usage) {
  sample.user_s = seconds_of(usage.ru_utime);
  sample.sys_s = seconds_of(usage.ru_stime);
  sample.cpu_s = sample.user_s + sample.sys_s;
  sample.peak_kib = static_cast<double>(usage.ru_maxrss);
  sample.minor_faults = static_cast<double>(usage.ru_minflt);
  sample.major_faults = static_cast<double>(usage.ru_majflt);
  sample.voluntary = static_cast<double>(usage.ru_nvcsw);
  sample.involuntary = static_cast<double>(usage.ru_nivcsw);
}

End end_of(const Run& run, int status, int error) {
  if (run.forced != EndKind::exited) return {run.forced, 0};
  if (error != 0) return {EndKind::not_started, error};
  if (WIFSIGNALED(status)) return {EndKind::signalled, WTERMSIG(status)};
  return {EndKind::exited, WEXITSTATUS(status)};
}

}  // namespace

Sample run_once(const Launch& launch, const std::vector<std::string>& environment,
                SignalGate& signals, const Watcher& watcher) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::vector<pid_t> earlier = tree_of(::getpid());
  std::vector<std::string> by_shell{"/bin/sh", launch.path};
  by_shell.insert(by_shell.end(), launch.arguments.begin() + 1, launch.arguments.end());
  Words words{pointers_to(launch.arguments), pointers_to(by_shell), pointers_to(environment)};
  SharedStart start;
  Output output(launch.is_output_shown);
  const pid_t child = ::fork();
  if (child == 0) become_program(launch, words, signals, output, start);
  if (child < 0) {
    Sample sample;
    sample.end = {EndKind::not_started, errno};
    return sample;
  }
  output.close_ends_of_child();
  Run run{launch, signals, watcher, child, now_s()};
  follow(run, output);
  ::kill(-child, SIGKILL);
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {}
  Sample sample;
  sample.has_leftovers = end_everybody_but(earlier);
  output.drain(now_s() + drain_s);
  sample.end = end_of(run, status, (*start).error);
  sample.wall_s = run.ended_s - ((*start).at_s != 0 ? (*start).at_s : run.started_s);
  sample.floor_kib = static_cast<double>((*start).peak_kib);
  charge(sample, usage);
  sample.output_bytes = output.bytes();
  sample.output_hash = output.hash();
  sample.last_words = output.last_words();
  return sample;
}

}  // namespace talus::tool
