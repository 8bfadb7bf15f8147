/* SPDX-License-Identifier: MIT
 * tests/entry/deepbind_main: blocks cross the border between a program and a deep-bound library.
 *
 * Usage: deepbind_main PLUGIN CASE, with one of the cases in main(); the case runs, the process
 * ends with 0 or as the heap that got a stranger's block sees fit.
 */
#define _GNU_SOURCE
#include "expect.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void* (*deep_malloc)(size_t);
static void* (*deep_realloc)(void*, size_t);
static void (*deep_free)(void*);
static char* (*deep_strdup)(const char*);
static char* (*deep_realpath)(const char*);
static char* (*deep_getline)(const char*);

static void* find(void* plugin, const char* name) {
  void* found = dlsym(plugin, name);
  EXPECT(found != NULL);
  return found;
}

/* No block crosses: each heap gets back what it gave. */
static void nothing_crosses(void) {
  for (size_t bytes = 1; bytes < 300000; bytes += bytes / 2 + 1) {
    char* block = deep_malloc(bytes);
    EXPECT(block != NULL);
    memset(block, 1, bytes);
    block = deep_realloc(block, 2 * bytes);
    EXPECT(block != NULL && block[bytes - 1] == 1);
    deep_free(block);
    free(malloc(bytes));
  }
}

/* What the C library allocates for its callers comes from the preloaded heap on both sides. */
static void texts_to_program(void) {
  char* texts[] = {deep_strdup("some text"), deep_realpath("/"), deep_getline("/etc/passwd")};
  for (int i = 0; i < 3; i++) {
    EXPECT(texts[i] != NULL && malloc_usable_size(texts[i]) >= 2);
    texts[i] = realloc(texts[i], 10000);
    EXPECT(texts[i] != NULL);
    free(texts[i]);
  }
}

static void free_from_library(size_t bytes) {
  for (int i = 0; i < 100; i++) {
    void* block = deep_malloc(bytes);
    EXPECT(block != NULL);
    memset(block, 1, bytes);
    free(block);
    free(malloc(bytes));
  }
}

static void resize_from_library(void) {
  char* block = deep_malloc(100);
  EXPECT(block != NULL);
  block = realloc(block, 200);
  EXPECT(block != NULL);
  free(block);
}

int main(int count, char** arguments) {
  EXPECT(count == 3);
  void* plugin = dlopen(arguments[1], RTLD_NOW | RTLD_DEEPBIND);
  EXPECT(plugin != NULL);
  *(void**)&deep_malloc = find(plugin, "deep_malloc");
  *(void**)&deep_realloc = find(plugin, "deep_realloc");
  *(void**)&deep_free = find(plugin, "deep_free");
  *(void**)&deep_strdup = find(plugin, "deep_strdup");
  *(void**)&deep_realpath = find(plugin, "deep_realpath");
  *(void**)&deep_getline = find(plugin, "deep_getline");
  const char* wanted = arguments[2];
  if (strcmp(wanted, "nothing_crosses") == 0) nothing_crosses();
  if (strcmp(wanted, "texts_to_program") == 0) texts_to_program();
  if (strcmp(wanted, "small_to_program") == 0) free_from_library(100);
  if (strcmp(wanted, "large_to_program") == 0) free_from_library(1000000);
  if (strcmp(wanted, "resized_by_program") == 0) resize_from_library();
  if (strcmp(wanted, "small_to_library") == 0) deep_free(malloc(100));
  if (strcmp(wanted, "large_to_library") == 0) deep_free(malloc(1000000));
  if (strcmp(wanted, "resized_by_library") == 0) deep_free(deep_realloc(malloc(100), 200));
  if (strcmp(wanted, "text_to_library") == 0) deep_free(deep_strdup("some text"));
  if (strcmp(wanted, "line_to_library") == 0) deep_free(deep_getline("/etc/passwd"));
  if (strcmp(wanted, "path_to_library") == 0) deep_free(deep_realpath("/"));
  return 0;
}
