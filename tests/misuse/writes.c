// SPDX-License-Identifier: MIT
// tests/misuse: writes outside of a block, and to a freed one.
//
// Owns: one function for each row. The write is the stage "wrong". The call that takes the damaged
// block, its free or its reuse, is a stage of its own: an allocator may look there. A write that
// stays below malloc_usable_size and damages no other block is harmless.
// Called on: the thread that the case names.
#include "misuse.h"

#include <malloc.h>
#include <stdio.h>

enum { fill_byte = 'A', reused_max = 400 };

static size_t usable_bytes(void) { return malloc_usable_size(hidden(blocks[victim])); }

// Frees the damaged block, after a look at the others.
static void finish_write(void) {
  const int damaged = count_damaged();
  if (damaged > 0) {
    quiet_verdict = "silent";
    snprintf(quiet_reason, sizeof quiet_reason, "%d other blocks changed", damaged);
  }
  remove_live(blocks[victim]);
  say_stage("free", blocks[victim]);
  free_block(blocks[victim]);
}

// Bytes from `offset` of the block on, one by one as a loop that does not end in time.
static void write_up(size_t offset, size_t count, char byte) {
  const size_t usable = usable_bytes();
  if (offset + count <= usable) {
    quiet_verdict = "harmless";
    snprintf(quiet_reason, sizeof quiet_reason, "%zu bytes are usable", usable);
  }
  volatile char* bytes = hidden(blocks[victim] + offset);
  say_stage("wrong", blocks[victim] + offset);
  for (size_t i = 0; i < count; i++) bytes[i] = byte;
  finish_write();
}

static void write_down(size_t count) {
  volatile char* end = hidden(blocks[victim]);
  say_stage("wrong", blocks[victim] - 1);
  for (size_t i = 1; i <= count; i++) end[-(ptrdiff_t)i] = fill_byte;
  finish_write();
}

static void overflow_1(void) { write_up(given.bytes, 1, fill_byte); }
static void overflow_16(void) { write_up(given.bytes, 16, fill_byte); }
static void overflow_80(void) { write_up(given.bytes, 80, fill_byte); }
static void overflow_4096(void) { write_up(given.bytes, 4096, fill_byte); }
static void overflow_1_usable(void) { write_up(usable_bytes(), 1, fill_byte); }
static void overflow_80_usable(void) { write_up(usable_bytes(), 80, fill_byte); }
static void overflow_4096_usable(void) { write_up(usable_bytes(), 4096, fill_byte); }
// The end of a string that fills its block.
static void string_end(void) { write_up(given.bytes, 1, 0); }
static void string_end_usable(void) { write_up(usable_bytes(), 1, 0); }
static void underrun_1(void) { write_down(1); }
static void underrun_16(void) { write_down(16); }
static void metadata_up_1k(void) { write_up(usable_bytes(), 1 << 10, fill_byte); }
static void metadata_up_64k(void) { write_up(usable_bytes(), 64 << 10, fill_byte); }
static void metadata_down_1k(void) { write_down(1 << 10); }
static void metadata_down_64k(void) { write_down(64 << 10); }

// Where an attacker would like the next block.
static char decoy[1 << 16] __attribute__((aligned(4096)));

static void reuse(void) {
  static char* reused[reused_max];
  const int count = given.bytes > touched_max ? 8 : reused_max;
  say_stage("reuse", blocks[victim]);
  for (int i = 0; i < count; i++) {
    reused[i] = new_block(given.bytes);
    add_live(reused[i], given.bytes);
  }
  expect_no_overlap();
}

static void write_after_free_of(size_t count) {
  char* block = blocks[victim];
  add_live(decoy, sizeof decoy);
  remove_live(blocks[other_victim]);
  remove_live(block);
  free_block(blocks[other_victim]);
  free_block(block);
  say_stage("wrong", block);
  char* volatile* words = hidden(block);
  for (size_t i = 0; i < count / sizeof *words; i++) words[i] = decoy + 256;
  reuse();
}

static void write_after_free(void) { write_after_free_of(at_most(given.bytes, touched_max)); }
static void write_after_free_8(void) { write_after_free_of(8); }

// The write comes when the block is another's.
static void write_after_reuse(void) {
  char* block = blocks[victim];
  remove_live(block);
  free_block(block);
  char* next = new_block(given.bytes);
  fill(next, given.bytes, 0);
  add_live(next, given.bytes);
  say_stage("wrong", block);
  *(volatile char*)hidden(block) = fill_byte;
  if (*(volatile char*)hidden(next) == 0) {
    snprintf(quiet_reason, sizeof quiet_reason, "the next block is another");
  } else {
    snprintf(quiet_reason, sizeof quiet_reason, "the next block changed");
  }
}

const struct row write_rows[] = {{"overflow_1", overflow_1},
                                 {"overflow_16", overflow_16},
                                 {"overflow_80", overflow_80},
                                 {"overflow_4096", overflow_4096},
                                 {"overflow_1_usable", overflow_1_usable},
                                 {"overflow_80_usable", overflow_80_usable},
                                 {"overflow_4096_usable", overflow_4096_usable},
                                 {"string_end", string_end},
                                 {"string_end_usable", string_end_usable},
                                 {"underrun_1", underrun_1},
                                 {"underrun_16", underrun_16},
                                 {"metadata_up_1k", metadata_up_1k},
                                 {"metadata_up_64k", metadata_up_64k},
                                 {"metadata_down_1k", metadata_down_1k},
                                 {"metadata_down_64k", metadata_down_64k},
                                 {"write_after_free", write_after_free},
                                 {"write_after_free_8", write_after_free_8},
                                 {"write_after_reuse", write_after_reuse},
                                 {NULL, NULL}};
