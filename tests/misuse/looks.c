// SPDX-License-Identifier: MIT
// tests/misuse: reads of memory that the program did not write, and addresses that it can foresee.
//
// Owns: one function for each row; each ends the case with its verdict. "exposed": at least eight
// bytes in a row are those of a freed block. "foreseen": the address follows from what is known.
// Called on: the thread that the case names.
#include "misuse.h"

enum { secret = 0x5e, secret_row_min = 8, secret_count_max = 64, sequence_count = 16 };

static size_t longest_secret(const char* block) {
  const volatile char* bytes = hidden(block);
  size_t longest = 0, length = 0;
  for (size_t i = 0; i < given.bytes; i++) {
    length = bytes[i] == secret ? length + 1 : 0;
    if (length > longest) longest = length;
  }
  return longest;
}

static _Noreturn void judge_secret(size_t longest) {
  if (longest >= secret_row_min) say_verdict("exposed", "%zu bytes", longest);
  say_verdict("clean", "%zu bytes", longest);
}

static void uninitialised_read(void) {
  static char* found[secret_count_max];
  const int count = given.bytes > touched_max ? 4 : secret_count_max;
  for (int i = 0; i < count; i++) {
    found[i] = new_block(given.bytes);
    for (size_t k = 0; k < given.bytes; k++) ((volatile char*)found[i])[k] = secret;
  }
  for (int i = 0; i < count; i++) free_block(found[i]);
  say_stage("wrong", NULL);
  size_t longest = 0;
  for (int i = 0; i < count; i++) {
    const size_t length = longest_secret(found[i] = new_block(given.bytes));
    if (length > longest) longest = length;
  }
  judge_secret(longest);
}

static void read_after_free(void) {
  volatile char* block = hidden(blocks[victim]);
  for (size_t i = 0; i < given.bytes; i++) block[i] = secret;
  free_block(blocks[victim]);
  say_stage("wrong", blocks[victim]);
  judge_secret(longest_secret(blocks[victim]));
}

// The runner compares the addresses of several processes.
static void address_base(void) { say_verdict("address", "0x%zx", (size_t)new_block(given.bytes)); }

static void address_reuse(void) {
  char* block = blocks[victim];
  free_block(block);
  char* next = new_block(given.bytes);
  say_verdict(next == block ? "foreseen" : "varied", "next 0x%zx", (size_t)next);
}

// Are fresh blocks at equal distances?
static void address_order(void) {
  static char* found[sequence_count];
  for (int i = 0; i < sequence_count; i++) found[i] = new_block(given.bytes);
  int equal = 0;
  for (int i = 2; i < sequence_count; i++) {
    equal += found[i] - found[i - 1] == found[i - 1] - found[i - 2];
  }
  say_verdict(equal >= sequence_count / 2 ? "foreseen" : "varied", "%d of %d distances are equal",
              equal, sequence_count - 2);
}

const struct row look_rows[] = {{"uninitialised_read", uninitialised_read},
                                {"read_after_free", read_after_free},
                                {"address_base", address_base},
                                {"address_reuse", address_reuse},
                                {"address_order", address_order},
                                {NULL, NULL}};
