// SPDX-License-Identifier: MIT
// tests/misuse: what a case says on standard output, by write alone.
//
// Owns: the lines that run.py reads. Invariant: allocates nothing, so it works on a damaged heap.
// Called on: any thread, also in the child of a fork.
#include "misuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_line(const char* line, size_t length) {
  while (length > 0) {
    const ssize_t written = write(STDOUT_FILENO, line, length);
    if (written <= 0) _exit(2);
    line += written;
    length -= (size_t)written;
  }
}

void say_stage(const char* name, const void* pointer) {
  char line[96];
  const int length = snprintf(line, sizeof line, "stage %s 0x%zx\n", name, (size_t)pointer);
  write_line(line, (size_t)length);
}

static void write_verdict(const char* word, const char* text) {
  char line[224];
  write_line(line, (size_t)snprintf(line, sizeof line, "verdict %s %s\n", word, text));
}

void say_verdict(const char* word, const char* format, ...) {
  char text[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  write_verdict(word, text);
  _exit(0);
}

void say_quiet_verdict(void) {
  write_verdict(quiet_verdict, quiet_reason);
  exit(0);
}

void give_up(const char* reason) { say_verdict("skip", "%s", reason); }
