/* SPDX-License-Identifier: MIT
 * tests/entry/deepbind_plugin: a library to open with RTLD_DEEPBIND.
 *
 * Its own calls of malloc, realloc and free are then the C library's, whatever was preloaded. What
 * getline, strdup and realpath return still comes from the preloaded allocator, because the C
 * library's inner calls are bound as ever. So its blocks come from two heaps, and its free() knows
 * one.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* deep_malloc(size_t bytes);
void* deep_realloc(void* block, size_t bytes);
void deep_free(void* block);
char* deep_strdup(const char* text);
char* deep_realpath(const char* path);
char* deep_getline(const char* path);

void* deep_malloc(size_t bytes) { return malloc(bytes); }
void* deep_realloc(void* block, size_t bytes) { return realloc(block, bytes); }
void deep_free(void* block) { free(block); }
char* deep_strdup(const char* text) { return strdup(text); }
char* deep_realpath(const char* path) { return realpath(path, NULL); }

char* deep_getline(const char* path) {
  FILE* file = fopen(path, "r");
  if (file == NULL) return NULL;
  char* line = NULL;
  size_t bytes = 0;
  if (getline(&line, &bytes, file) < 0) line = NULL;
  fclose(file);
  return line;
}
