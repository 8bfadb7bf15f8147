// SPDX-License-Identifier: MIT
// tests/entry/helper_watch: work for the helper thread, and a look at it from outside.
//
// Owns: how the helper is found: among the threads of the process, which the kernel lists; in
// libtalus.so by its name too. Nothing here allocates but free_much(), so that what is looked at is
// what the caller did. Usable in a forked child.
#ifndef TALUS_TESTS_ENTRYS_HELPER_WATCH_HPP
#define TALUS_TESTS_ENTRYS_HELPER_WATCH_HPP

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

namespace watch {

constexpr unsigned child_seconds_max = 60;

using Allocate = void* (*)(size_t);
using Release = void (*)(void*);

inline void* large_blocks[64];
inline void* small_blocks[200000];

// Leaves much unused free memory behind: 64 MiB in large and 20 MiB in small blocks.
inline void free_much(Allocate allocate = malloc, Release release = free) {
  constexpr size_t large = size_t{1} << 20, small = 100;
  for (void*& block : large_blocks) memset(block = allocate(large), 1, large);
  for (void*& block : small_blocks) memset(block = allocate(small), 1, small);
  for (void* block : large_blocks) release(block);
  for (void* block : small_blocks) release(block);
}

inline void sleep_ms(long milliseconds) {
  timespec span{milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&span, nullptr);
}

// Reads a file of one thread of this process; empty if the thread is gone.
template <size_t Capacity>
void read_of_thread(int thread, const char* name, char (&text)[Capacity]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? 0 : read(file, text, Capacity - 1);
  text[length < 0 ? 0 : length] = '\0';
  if (file >= 0) close(file);
}

// Calls visit(thread id) for each thread of this process.
template <typename Visit>
void each_thread(Visit visit) {
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT(folder >= 0);
  alignas(16) char entries[4096];
  struct Entry {
    unsigned long inode;
    long next;
    unsigned short bytes;
    unsigned char kind;
    char name[1];
  };
  for (;;) {
    const long bytes = syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      const Entry* entry = reinterpret_cast<Entry*>(entries + at);
      if (entry->name[0] != '.') visit(atoi(entry->name));
      at += entry->bytes;
    }
  }
  close(folder);
}

inline int thread_count() {
  int count = 0;
  each_thread([&](int) { count++; });
  return count;
}

// The thread that is named "talus"; 0: there is none.
inline int helper_id() {
  int found = 0;
  each_thread([&](int thread) {
    char name[32];
    read_of_thread(thread, "comm", name);
    if (strcmp(name, "talus\n") == 0) found = thread;
  });
  return found;
}

// What stands behind `label` in the status of a thread, up to the end of the line.
inline void status_of(int thread, const char* label, char (&value)[128]) {
  static char text[8192];
  read_of_thread(thread, "status", text);
  const char* line = strstr(text, label);
  value[0] = '\0';
  if (line == nullptr) return;
  line += strlen(label);
  size_t length = 0;
  while (line[length] != '\n' && line[length] != '\0' && length < 127) length++;
  memcpy(value, line, length);
  value[length] = '\0';
}

// Waits until the condition holds; false: it did not within ten seconds.
template <typename Condition>
bool comes_true(Condition condition) {
  for (int wait = 0; wait < 5000; wait++) {
    if (condition()) return true;
    sleep_ms(2);
  }
  return condition();
}

// Frees much and waits for the helper; returns its thread.
inline int call_helper() {
  free_much();
  EXPECT(comes_true([] { return helper_id() != 0; }));
  return helper_id();
}

// Runs body() in a forked child, which must end by itself with status 0, and in time.
template <typename Body>
void in_child(Body body) {
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    alarm(child_seconds_max);
    body();
    _exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child);
  if (status != 0) fprintf(stderr, "a child ended with status %#x\n", status);
  EXPECT(status == 0);
}

}  // namespace watch

#endif  // TALUS_TESTS_ENTRYS_HELPER_WATCH_HPP
