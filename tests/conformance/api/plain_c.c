/* A program in C alone: no C++ runtime is loaded unless the allocator brings it (N29, N47).
 *
 * Blocks that the C library allocates for its callers (strdup, getline, asprintf, realpath,
 * open_memstream, getdelim, scandir) are freed by the program, so both must meet in one allocator.
 * Prints what fails on stderr; exit status 0 is a pass.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static int failures;

static void expect(int condition, const char* what) {
  if (condition) return;
  ++failures;
  fprintf(stderr, "expected: %s\n", what);
}

static void check_strings(void) {
  char* copy = strdup("allocator");
  expect(copy != NULL && strcmp(copy, "allocator") == 0, "strdup");
  copy = realloc(copy, 2000);
  expect(copy != NULL && strcmp(copy, "allocator") == 0, "realloc of strdup's block");
  free(copy);
  copy = strndup("allocator", 5);
  expect(copy != NULL && strcmp(copy, "alloc") == 0, "strndup");
  free(copy);
  wchar_t* wide = wcsdup(L"wide");
  expect(wide != NULL && wcscmp(wide, L"wide") == 0, "wcsdup");
  free(wide);
  char* text = NULL;
  expect(asprintf(&text, "%01000d", 7) == 1000 && strlen(text) == 1000, "asprintf");
  free(text);
}

static void check_files(void) {
  char* path = realpath("/", NULL);
  expect(path != NULL && strcmp(path, "/") == 0, "realpath");
  free(path);
  char* directory = getcwd(NULL, 0);
  expect(directory != NULL, "getcwd(NULL, 0)");
  free(directory);
  struct dirent** names = NULL;
  const int count = scandir("/", &names, NULL, alphasort);
  expect(count > 0, "scandir");
  for (int i = 0; i < count; ++i) free(names[i]);
  free(names);
}

static void check_streams(void) {
  char* memory = NULL;
  size_t size = 0;
  FILE* stream = open_memstream(&memory, &size);
  for (int i = 0; i < 5000; ++i) fprintf(stream, "line %d\n", i);
  fclose(stream);
  expect(size > 40000 && strncmp(memory, "line 0\n", 7) == 0, "open_memstream");

  FILE* input = fmemopen(memory, size, "r");
  char* line = malloc(1);
  size_t capacity = 1;
  int lines = 0;
  while (getline(&line, &capacity, input) > 0) ++lines;
  expect(lines == 5000, "getline grows a block that the program allocated");
  free(line);
  fclose(input);
  free(memory);
}

int main(void) {
  for (int i = 0; i < 50; ++i) {
    check_strings();
    check_files();
    check_streams();
  }
  expect(setenv("CONFORMANCE_PROBE", "1", 1) == 0 && unsetenv("CONFORMANCE_PROBE") == 0, "setenv");
  return failures == 0 ? 0 : 1;
}
