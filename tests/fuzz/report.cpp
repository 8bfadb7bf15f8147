// SPDX-License-Identifier: MIT
// fuzz/report.cpp: journals, backtraces, crashes and hangs.
#include "report.hpp"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "refusals.hpp"

namespace fuzz {

Thread threads[thread_count_max];
int generation;

namespace {

constexpr int stuck_seconds_max = 45;

std::atomic<bool> is_failing;
std::atomic<bool> must_end_watch;
pthread_t watchdog;

void write_all(const char* text, size_t length) {
  while (length > 0) {
    const ssize_t written = write(STDERR_FILENO, text, length);
    if (written <= 0) return;
    text += written;
    length -= static_cast<size_t>(written);
  }
}

void print(const char* format, va_list arguments) {
  char line[800];
  const int length = vsnprintf(line, sizeof line - 1, format, arguments);
  size_t end = length < 0 ? 0 : static_cast<size_t>(length);
  if (end > sizeof line - 2) end = sizeof line - 2;
  line[end] = '\n';
  write_all(line, end + 1);
}

void print_journals() {
  for (Thread& thread : threads) {
    if (thread.life.load() == Life::none) continue;
    say("-- thread %u (%d), step %llu: %s", thread.id, thread.os_id.load(),
        static_cast<unsigned long long>(thread.progress.load()), thread.doing);
    if (&thread != this_thread) continue;
    const size_t end = thread.journal_end;
    for (size_t i = end > journal_length ? end - journal_length : 0; i < end; i++) {
      const Entry& entry = thread.journal[i % journal_length];
      say("   %s(%p, %zu, %zu) = %p", entry.call, entry.pointer, entry.first, entry.second,
          entry.result);
    }
  }
}

void show_backtraces(pid_t process) {
  if (!settings.backtraces) return;
  static char number[16];
  snprintf(number, sizeof number, "%d", process);
  const char* words[] = {
      "gdb",  "-nx", "-batch", "-p", number, "-ex", "set width 0", "-ex", "thread apply all bt 24",
      nullptr};
  rlimit addresses;
  getrlimit(RLIMIT_AS, &addresses);
  addresses.rlim_cur = addresses.rlim_max;
  setrlimit(RLIMIT_AS, &addresses);
  const pid_t debugger = vfork();
  if (debugger == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(words[0], const_cast<char**>(words));
    _exit(127);
  }
  for (int tenths = 0; debugger > 0 && tenths < 400; tenths++) {
    if (waitpid(debugger, nullptr, WNOHANG) == debugger) return;
    usleep(100000);
  }
}

[[noreturn]] void end_after(const char* what) {
  stop_refusals();
  say("FAILED seed %llu%s: %s", static_cast<unsigned long long>(settings.seed),
      generation > 0 ? " (child)" : "", what);
  print_journals();
  show_backtraces(getpid());
  _exit(failed_status);
}

void on_crash(int signal_number, siginfo_t* info, void*) {
  while (is_failing.exchange(true)) pause();
  char what[100];
  snprintf(what, sizeof what, "signal %d at %p while %s", signal_number, info->si_addr,
           this_thread != nullptr ? self().doing : "?");
  end_after(what);
}

void* watch(void*) {
  uint64_t last[thread_count_max] = {};
  int stuck_seconds[thread_count_max] = {};
  for (int tenths = 1; !must_end_watch.load(); tenths++) {
    usleep(100000);
    if (tenths % 10 != 0) continue;
    for (int i = 0; i < thread_count_max; i++) {
      const uint64_t progress = threads[i].progress.load();
      const bool is_moving = threads[i].life.load() != Life::running || progress != last[i];
      stuck_seconds[i] = is_moving ? 0 : stuck_seconds[i] + 1;
      last[i] = progress;
      if (stuck_seconds[i] < stuck_seconds_max || is_failing.exchange(true)) continue;
      char what[100];
      snprintf(what, sizeof what, "thread %d hangs while %s", i, threads[i].doing);
      end_after(what);
    }
  }
  return nullptr;
}

}  // namespace

void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

void fail(const char* format, ...) {
  while (is_failing.exchange(true)) pause();
  char what[700];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  if (length < 0) length = 0;
  if (this_thread != nullptr && static_cast<size_t>(length) < sizeof what) {
    const int error = self().error == untouched_errno ? 0 : self().error;
    snprintf(what + length, sizeof what - static_cast<size_t>(length), " (%s, errno %d)",
             self().doing, error);
  }
  end_after(what);
}

void report_hang(pid_t child) {
  say("FAILED seed %llu: child %d hangs", static_cast<unsigned long long>(settings.seed), child);
  show_backtraces(child);
  kill(child, SIGKILL);
  fail("a child hangs");
}

void watch_for_crashes() {
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int number : {SIGILL, SIGABRT, SIGFPE}) sigaction(number, &action, nullptr);
  if (settings.mapped) return;  // whose handler says more
  for (int number : {SIGSEGV, SIGBUS}) sigaction(number, &action, nullptr);
}

void start_watchdog() {
  if (pthread_create(&watchdog, nullptr, watch, nullptr) != 0) fail("no thread for the watchdog");
}

void stop_watchdog() {
  must_end_watch.store(true);
  pthread_join(watchdog, nullptr);
}

}  // namespace fuzz
