// SPDX-License-Identifier: MIT
// tests/misuse: the memory that the program owns by its own account, and whether any two overlap.
//
// Owns: the ranges that are live, and the blocks of the program that goes on. Ranges are compared
// by their addresses, before any of them is written. Static memory, so a damaged heap cannot spoil
// the account. Called on: one thread at a time.
#include "misuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { live_max = 4096, later_max = 400, medium_bytes = 32 << 10, huge_bytes = 2 << 20 };

struct range {
  uintptr_t start;
  size_t bytes;
};

static struct range live[live_max];
static size_t live_count;
char* blocks[block_count];

void add_live(const void* start, size_t bytes) {
  if (start == NULL) return;
  if (live_count == live_max) give_up("too many blocks");
  live[live_count++] = (struct range){(uintptr_t)start, bytes};
}

void remove_live(const void* start) {
  for (size_t i = 0; i < live_count; i++) {
    if (live[i].start == (uintptr_t)start) {
      live[i] = live[--live_count];
      return;
    }
  }
}

static int compare(const void* left, const void* right) {
  const struct range *a = left, *b = right;
  return a->start < b->start ? -1 : a->start > b->start;
}

// Insertion sort: qsort of the C library may allocate.
static void sort_live(void) {
  for (size_t i = 1; i < live_count; i++) {
    const struct range range = live[i];
    size_t place = i;
    for (; place > 0 && compare(&live[place - 1], &range) > 0; place--) {
      live[place] = live[place - 1];
    }
    live[place] = range;
  }
}

static int is_mapped(uintptr_t address) {
  const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  unsigned char residency;
  return mincore((void*)(address / page_bytes * page_bytes), 1, &residency) == 0 || errno != ENOMEM;
}

void expect_no_overlap(void) {
  sort_live();
  for (size_t i = 0; i < live_count; i++) {
    if (!is_mapped(live[i].start)) {
      say_verdict("overlap", "0x%zx was returned and is not mapped", (size_t)live[i].start);
    }
    if (i > 0 && live[i].start - live[i - 1].start < live[i - 1].bytes) {
      say_verdict("overlap", "0x%zx has %zu bytes, and 0x%zx is live", (size_t)live[i - 1].start,
                  live[i - 1].bytes, (size_t)live[i].start);
    }
  }
}

void fill(char* block, size_t bytes, int value) {
  if (bytes <= touched_max) {
    memset(block, value, bytes);
  } else {
    memset(block, value, 4096);
    memset(block + bytes - 4096, value, 4096);
  }
}

static char* new_filled(size_t bytes, int value) {
  char* block = new_block(bytes);
  if (block == NULL) give_up("no memory");
  fill(block, bytes, value);
  return block;
}

void allocate_blocks(void) {
  for (int i = 0; i < block_count; i++) {
    blocks[i] = new_filled(given.bytes, i + 1);
    add_live(blocks[i], given.bytes);
  }
}

static char* later[later_max];

// Large blocks are fewer, so that a case is short.
static size_t later_count(size_t bytes) {
  return bytes >= huge_bytes ? 8 : bytes >= medium_bytes ? 60 : later_max;
}

void warm_up(void) {
  const size_t count = later_count(given.bytes) / 4;
  for (int round = 0; round < 10; round++) {
    for (size_t i = 0; i < count; i++) later[i] = new_filled(given.bytes, 9);
    for (size_t i = 0; i < count; i++) free_block(later[i]);
  }
}

static int is_block_changed(int index) {
  const size_t part = given.bytes <= touched_max ? given.bytes : 4096;
  const char* block = blocks[index];
  for (size_t i = 0; i < part; i++) {
    if (block[i] != index + 1 || block[given.bytes - 1 - i] != index + 1) return 1;
  }
  return 0;
}

int count_damaged(void) {
  int count = 0;
  for (int i = 0; i < block_count; i++) {
    if (i != victim) count += is_block_changed(i);
  }
  return count;
}

static char* in_thread[later_max];

static void allocate_many(char** found, size_t bytes) {
  for (size_t i = 0; i < later_count(bytes); i++) {
    found[i] = new_block(bytes);
    add_live(found[i], bytes);
  }
}

static void* allocate_many_in_thread(void* bytes) {
  allocate_many(in_thread, *(const size_t*)bytes);
  return NULL;
}

static void free_many(char** found, size_t bytes) {
  for (size_t i = 0; i < later_count(bytes); i++) {
    if (found[i] == NULL) continue;
    remove_live(found[i]);
    free_block(found[i]);
  }
}

static void go_on_with(size_t bytes) {
  allocate_many(later, bytes);
  run_in_thread(allocate_many_in_thread, &bytes);
  expect_no_overlap();
  for (size_t i = 0; i < later_count(bytes); i++) {
    if (later[i] != NULL) fill(later[i], bytes, 9);
    if (in_thread[i] != NULL) fill(in_thread[i], bytes, 9);
  }
  free_many(later, bytes);
  free_many(in_thread, bytes);
}

static int is_live(const void* start) {
  for (size_t i = 0; i < live_count; i++) {
    if (live[i].start == (uintptr_t)start) return 1;
  }
  return 0;
}

static void* nothing(void* unused) { return unused; }

void go_on(void) {
  go_on_with(given.bytes);
  if (second_bytes != 0) go_on_with(second_bytes);
  for (int i = 0; i < block_count; i++) {
    if (is_live(blocks[i])) {
      remove_live(blocks[i]);
      free_block(blocks[i]);
    }
  }
  go_on_with(given.bytes);
  run_in_thread(nothing, NULL);
}
