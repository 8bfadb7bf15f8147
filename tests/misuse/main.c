// SPDX-License-Identifier: MIT
// tests/misuse: makes one mistake in the use of a heap, then goes on as a program would.
//
// Arguments: ROW BYTES THREAD PLACE ENTRY STATE (misuse.h). With --rows it prints the names of its
// rows. Exit status 2: an argument is wrong, or the machine refused something.
// Owns: the order of a case and its limits: 10 seconds of processor time, 16 GiB of memory.
#include "misuse.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { processor_seconds_max = 10, private_gib_max = 16 };

struct given_case given;
size_t second_bytes;
const char* quiet_verdict = "silent";
char quiet_reason[96];
char* stack_bytes;

static _Noreturn void fail(const char* what) {
  fprintf(stderr, "misuse: %s\n", what);
  exit(2);
}

void run_in_thread(void* (*work)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, argument) != 0) fail("no thread");
  pthread_join(thread, NULL);
}

static const struct row* const all_rows[] = {free_rows, write_rows, look_rows};
enum { table_count = sizeof all_rows / sizeof all_rows[0] };

static const struct row* find_row(const char* name) {
  for (int i = 0; i < table_count; i++) {
    for (const struct row* row = all_rows[i]; row->name != NULL; row++) {
      if (strcmp(row->name, name) == 0) return row;
    }
  }
  fail("no such row");
}

static void print_rows(void) {
  for (int i = 0; i < table_count; i++) {
    for (const struct row* row = all_rows[i]; row->name != NULL; row++) puts(row->name);
  }
}

static void* set_up(void* unused) {
  if (strcmp(given.state, "warm") == 0) warm_up();
  allocate_blocks();
  return unused;
}

static void* make_mistake(void* row) {
  ((const struct row*)row)->make_mistake();
  // What the end of this thread finds is found later.
  say_stage("later", NULL);
  return NULL;
}

static void limit(int resource, rlim_t most) {
  const struct rlimit bound = {most, most};
  setrlimit(resource, &bound);
}

// An allocator that reserves more writable memory when it starts needs MISUSE_PRIVATE_GIB.
static void set_limits(void) {
  const char* given_gib = getenv("MISUSE_PRIVATE_GIB");
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, processor_seconds_max);
  limit(RLIMIT_DATA, (given_gib != NULL ? strtoul(given_gib, NULL, 10) : private_gib_max) << 30);
}

// Goes on in a child; the parent ends as the child did.
static void go_on_in_child(void) {
  const pid_t child = fork();
  if (child < 0) fail("no child");
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--rows") == 0) {
    print_rows();
    return 0;
  }
  if (argc != 7) fail("ROW BYTES THREAD PLACE ENTRY STATE");
  given =
      (struct given_case){argv[1], argv[3], argv[4], argv[5], argv[6], strtoul(argv[2], NULL, 10)};
  const struct row* row = find_row(given.row);
  set_limits();
  char local[512] __attribute__((aligned(64))) = {0};
  stack_bytes = hidden(local);
  say_stage("setup", NULL);
  find_entry_point();
  if (strcmp(given.thread, "gone") == 0) {
    run_in_thread(set_up, NULL);
  } else {
    set_up(NULL);
  }
  if (strcmp(given.place, "child") == 0) go_on_in_child();
  if (strcmp(given.thread, "other") == 0) {
    run_in_thread(make_mistake, (void*)row);
  } else {
    make_mistake((void*)row);
  }
  go_on();
  say_quiet_verdict();
}
