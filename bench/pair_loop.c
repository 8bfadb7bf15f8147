// pair_loop: the loop whose instructions callgrind counts.
//
// Owns: malloc and free pairs and nothing else. instructions.py runs it with two counts and with
// the `empty` pattern. The differences leave the exact cost of one pair, without the start of the
// process and without this loop.
// Each pattern has an empty twin: the same loop without the calls.
//   pair   a block is freed at once
//   batch  100 blocks, freed in the order of their allocation
// The last line on stdout is JSON and names the library that malloc comes from.
//
// usage: pair_loop pair|batch|empty_pair|empty_batch SIZE COUNT   (COUNT pairs, a multiple of 100)
//
// SPDX-License-Identifier: MIT

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { batch = 100, exit_wrong_arguments = 2, exit_no_memory = 71 };

static void* blocks[batch];

// Hides the pointer's origin from the compiler, at no cost.
#define ESCAPE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

static void run_pairs(size_t size, size_t count) {
  for (size_t at = 0; at < count; at++) {
    void* block = malloc(size);
    ESCAPE(block);
    free(block);
  }
}

static void run_empty_pairs(size_t size, size_t count) {
  for (size_t at = 0; at < count; at++) ESCAPE(size);
}

static void run_batches(size_t size, size_t count) {
  for (size_t done = 0; done < count; done += batch) {
    for (size_t at = 0; at < batch; at++) blocks[at] = malloc(size);
    for (size_t at = 0; at < batch; at++) free(blocks[at]);
  }
}

static void run_empty_batches(size_t size, size_t count) {
  for (size_t done = 0; done < count; done += batch) {
    for (size_t at = 0; at < batch; at++) {
      void* block = (void*)size;
      ESCAPE(block);
      blocks[at] = block;
    }
    for (size_t at = 0; at < batch; at++) {
      void* block = blocks[at];
      ESCAPE(block);
    }
  }
}

static const struct {
  const char* name;
  void (*run)(size_t size, size_t count);
} patterns[] = {{"pair", run_pairs},
                {"batch", run_batches},
                {"empty_pair", run_empty_pairs},
                {"empty_batch", run_empty_batches}};

int main(int argc, char** argv) {
  const size_t size = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
  const size_t count = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
  for (size_t at = 0; argc == 4 && at < sizeof patterns / sizeof patterns[0]; at++) {
    if (strcmp(argv[1], patterns[at].name) != 0) continue;
    void* block = malloc(size);  // the process owns a heap before the first pair
    ESCAPE(block);
    if (block == NULL) return exit_no_memory;
    patterns[at].run(size, count);
    free(block);
    Dl_info origin = {0};
    void* entry = dlsym(RTLD_DEFAULT, "malloc");
    const int is_found = entry != NULL && dladdr(entry, &origin) != 0;
    printf("{\"pairs\": %zu, \"malloc_from\": \"%s\"}\n", count,
           is_found && origin.dli_fname != NULL ? origin.dli_fname : "");
    return 0;
  }
  fputs("usage: pair_loop pair|batch|empty_pair|empty_batch SIZE COUNT\n", stderr);
  return exit_wrong_arguments;
}
