/* SPDX-License-Identifier: MIT
 * tests/entry/options_main: a program that brings options along, shows those it is asked for, and
 * calls the functions about options. Included by a unit of each entry.
 *
 *     options_* NAME...     one line each: name=value (source)
 *     options_* --calls     exits 0 if all functions do what talus.h says
 *     options_* --again ARGUMENTS...   executes itself with these from a forked child
 */
#ifndef TALUS_TESTS_ENTRYS_OPTIONS_MAIN_H
#define TALUS_TESTS_ENTRYS_OPTIONS_MAIN_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "expect.h"

const char talus_options[] = "decay_ms=5s; preset=small\npressure=yes";

static void put(const char* text) { EXPECT(write(1, text, strlen(text)) == (ssize_t)strlen(text)); }

static void show(const char* name) {
  char value[300], source[600];
  EXPECT(talus_get_option(name, value, sizeof value) == 0);
  EXPECT(talus_option_source(name, source, sizeof source) == 0);
  put(name);
  put("=");
  put(value);
  put(" (");
  put(source);
  put(")\n");
}

static int has(const char* name, const char* value, const char* source) {
  char text[600];
  if (talus_get_option(name, text, sizeof text) != 0 || strcmp(text, value) != 0) return 0;
  return talus_option_source(name, text, sizeof text) == 0 && strcmp(text, source) == 0;
}

static void calls(void) {
  errno = 4711;
  EXPECT(has("decay_ms", "5s", "program") && has("pressure", "1", "program"));
  EXPECT(has("TALUS_LIST_BYTES", "4KiB", "preset small, program"));
  EXPECT(talus_set_option("decay_ms", "20ms") == 0 && has("decay_ms", "20ms", "call"));
  EXPECT(talus_set_option("TALUS_THP", "NEVER") == 0 && has("thp", "never", "call"));
  EXPECT(talus_set_option("decay_ms", "2h") == EINVAL && has("decay_ms", "20ms", "call"));
  EXPECT(talus_set_option("decay_ms", "9999999s") == ERANGE && has("decay_ms", "20ms", "call"));
  EXPECT(talus_set_option("heaps", "3") == EPERM && has("heaps", "4", "preset small, program"));
  EXPECT(talus_set_option("preset", "tiny") == EPERM);
  EXPECT(talus_set_option("no_such", "3") == ENOENT && talus_set_option("", "3") == ENOENT);
  EXPECT(talus_set_option(NULL, "3") == EINVAL && talus_set_option("decay_ms", NULL) == EINVAL);
  char text[4] = "zzz";
  EXPECT(talus_get_option("preset", text, 3) == ERANGE && strcmp(text, "sm") == 0);
  EXPECT(talus_get_option("preset", text, 0) == EINVAL && talus_get_option("x", text, 3) == ENOENT);
  EXPECT(talus_option_source("preset", NULL, 3) == EINVAL && strcmp(text, "sm") == 0);
  EXPECT(errno == 4711);

  /* What is set acts. */
  EXPECT(talus_set_option("limit_hard", "64M") == 0 && has("limit_hard", "64MiB", "call"));
  EXPECT(talus_malloc((size_t)100 << 20) == NULL && errno == ENOMEM);
  EXPECT(talus_set_option("limit_hard", "0") == 0);
  void* block = talus_malloc((size_t)100 << 20);
  EXPECT(block != NULL);
  talus_free(block);
  talus_set_limits(0, (size_t)64 << 20);
  EXPECT(has("limit_hard", "64MiB", "call") && has("limit_soft", "0", "call"));
  EXPECT(talus_malloc((size_t)100 << 20) == NULL);
  talus_set_limits(0, 0);
  EXPECT(talus_set_option("retain_bytes", "0") == 0 && talus_set_option("decay_ms", "0") == 0);
  block = talus_malloc((size_t)8 << 20);
  EXPECT(block != NULL);
  memset(block, 1, (size_t)8 << 20);
  uint64_t before = 0, more = 0;
  EXPECT(talus_get("space.purged_bytes", &before) == 0);
  talus_free(block);
  EXPECT(talus_get("space.purged_bytes", &more) == 0 && more >= before + ((size_t)8 << 20));
}

/* The child of a fork has the options of its parent, a program that is executed its own. */
static int again(char** arguments) {
  EXPECT(talus_set_option("retain_bytes", "3M") == 0);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(has("retain_bytes", "3MiB", "call"));
    execv("/proc/self/exe", arguments);
    _exit(127);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "--calls") == 0) {
    calls();
    return 0;
  }
  if (count > 1 && strcmp(arguments[1], "--again") == 0) return again(arguments + 1);
  for (int i = 1; i < count; i++) show(arguments[i]);
  return 0;
}

#endif /* TALUS_TESTS_ENTRYS_OPTIONS_MAIN_H */
