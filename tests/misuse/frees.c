// SPDX-License-Identifier: MIT
// tests/misuse: wrong frees, and other calls with a pointer that is no live block.
//
// Owns: one function for each row. Each says which pointer the wrong call gets, and keeps the
// account of what is live as the program believes it. Called on: the thread that the case names.
#include "misuse.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { late_calls = 4000, pair_count = 32, scattered_count = 100 };

static char* freed_block(void) {
  remove_live(blocks[victim]);
  free_block(blocks[victim]);
  return blocks[victim];
}

static void free_wrongly(void* pointer) {
  say_stage("wrong", pointer);
  free_block(pointer);
}

static void double_free(void) { free_wrongly(freed_block()); }

static void double_free_between(void) {
  char* block = freed_block();
  remove_live(blocks[other_victim]);
  free_block(blocks[other_victim]);
  free_wrongly(block);
}

static void double_free_late(void) {
  static char* scattered[scattered_count];
  char* block = freed_block();
  for (int i = 0; i < late_calls / 2; i++) {
    char** place = &scattered[i % scattered_count];
    if (*place != NULL) free_block(*place);
    *place = new_block(given.bytes);
  }
  for (int i = 0; i < scattered_count; i++) add_live(scattered[i], given.bytes);
  free_wrongly(block);
}

static void* free_in_thread(void* pointer) {
  free_block(pointer);
  return NULL;
}

// The first free on this thread, the second on another.
static void double_free_crossed(void) {
  char* block = freed_block();
  say_stage("wrong", block);
  run_in_thread(free_in_thread, block);
}

static atomic_int ready_count;
static char* pairs[pair_count];

static void free_all_at_once(void) {
  for (int round = 0; round < pair_count; round++) {
    atomic_fetch_add(&ready_count, 1);
    while (atomic_load(&ready_count) < 2 * (round + 1)) {}
    free_block(pairs[round]);
  }
}

static void* free_all_in_thread(void* unused) {
  free_all_at_once();
  return unused;
}

static void double_free_concurrent(void) {
  const int count = given.bytes > touched_max * 8 ? 4 : pair_count;
  for (int i = 0; i < count; i++) pairs[i] = new_block(given.bytes);
  say_stage("wrong", NULL);
  pthread_t thread;
  if (pthread_create(&thread, NULL, free_all_in_thread, NULL) != 0) give_up("no thread");
  free_all_at_once();
  pthread_join(thread, NULL);
}

static void interior_8(void) { free_wrongly(blocks[victim] + 8); }
static void interior_16(void) { free_wrongly(blocks[victim] + 16); }
static void interior_middle(void) { free_wrongly(blocks[victim] + given.bytes / 2); }

static void free_stack(void) {
  add_live(stack_bytes, 512);
  free_wrongly(stack_bytes + 64);
}

// Words in front of the address and behind it, as glibc keeps them beside its own blocks.
static void free_stack_forged(void) {
  const size_t chunk_bytes = 80;
  size_t* words = (size_t*)(void*)(stack_bytes + 64);
  words[-1] = chunk_bytes | 1;
  words[chunk_bytes / sizeof(size_t) - 1] = chunk_bytes | 1;
  hidden(words);
  second_bytes = chunk_bytes - sizeof(size_t);
  free_stack();
}

// The mapping with this address, read from the kernel without an allocation.
static void find_mapping(uintptr_t address, uintptr_t* start, uintptr_t* end) {
  static char text[1 << 20];
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) give_up("no /proc");
  size_t length = 0;
  for (ssize_t count; (count = read(file, text + length, sizeof text - 1 - length)) > 0;) {
    length += (size_t)count;
  }
  close(file);
  text[length] = 0;
  for (char* line = text; line != NULL && *line != 0; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    char* rest;
    *start = strtoul(line, &rest, 16);
    *end = *rest == '-' ? strtoul(rest + 1, NULL, 16) : 0;
    if (*start <= address && address < *end) return;
  }
  give_up("the block is in no mapping");
}

// An aligned address beside the blocks, in memory that the allocator has and never gave out.
static void free_never_given(void) {
  const uintptr_t room_min = 4096;
  uintptr_t first = UINTPTR_MAX, last = 0, start, end;
  for (int i = 0; i < block_count; i++) {
    const uintptr_t block = (uintptr_t)blocks[i];
    if (block > last) last = block;
    if (block < first) first = block;
  }
  find_mapping(last, &start, &end);
  last += given.bytes;
  if (end > last && end - last >= room_min) {
    free_wrongly((void*)((end - (end - last) / 2) & ~(uintptr_t)63));
    return;
  }
  find_mapping(first, &start, &end);
  if (first - start < room_min) give_up("blocks fill their mapping");
  free_wrongly((void*)((first - (first - start) / 2) & ~(uintptr_t)63));
}

static void realloc_freed_to(size_t bytes) {
  char* block = freed_block();
  say_stage("wrong", block);
  char* moved = resize_block(block, bytes);
  add_live(moved, bytes);
}

static void realloc_freed_same(void) { realloc_freed_to(given.bytes); }
static void realloc_freed_grow(void) { realloc_freed_to(3 * given.bytes); }

static void realloc_interior(void) {
  say_stage("wrong", blocks[victim] + 16);
  char* moved = resize_block(blocks[victim] + 16, 3 * given.bytes);
  add_live(moved, 3 * given.bytes);
}

// The old pointer of a block that realloc moved.
static void free_moved(void) {
  char* block = blocks[victim];
  remove_live(block);
  char* moved = block;
  size_t bytes = given.bytes;
  for (int i = 0; i < 6 && moved == block; i++) {
    bytes *= 4;
    moved = resize_block(moved, bytes);
  }
  if (moved == block) give_up("realloc does not move this block");
  add_live(moved, bytes);
  free_wrongly(block);
}

static void usable_size_freed(void) {
  char* block = freed_block();
  say_stage("wrong", block);
  const size_t bytes = malloc_usable_size(hidden(block));
  snprintf(quiet_reason, sizeof quiet_reason, "it is %zu", bytes);
}

static void usable_size_interior(void) {
  say_stage("wrong", blocks[victim] + 16);
  const size_t bytes = malloc_usable_size(hidden(blocks[victim] + 16));
  snprintf(quiet_reason, sizeof quiet_reason, "it is %zu", bytes);
}

static void delete_as_size(size_t bytes) {
  second_bytes = bytes;
  remove_live(blocks[victim]);
  say_stage("wrong", blocks[victim]);
  cxx_operators()->delete_sized(hidden(blocks[victim]), bytes);
}

static void sized_delete_smaller(void) { delete_as_size(given.bytes / 3); }
static void sized_delete_larger(void) { delete_as_size(3 * given.bytes); }

// Calls of another family than the one that made the block.
static void free_of_new(void) {
  char* block = hidden(cxx_operators()->new_one(given.bytes));
  say_stage("wrong", block);
  free(hidden(block));
}

static void free_of_new_array(void) {
  char* block = hidden(cxx_operators()->new_array(given.bytes));
  say_stage("wrong", block);
  free(hidden(block));
}

static void delete_of_malloc(void) {
  char* block = hidden(malloc(given.bytes));
  cxx_operators();
  say_stage("wrong", block);
  cxx_operators()->delete_one(hidden(block));
}

static void delete_of_new_array(void) {
  char* block = hidden(cxx_operators()->new_array(given.bytes));
  say_stage("wrong", block);
  cxx_operators()->delete_one(hidden(block));
}

const struct row free_rows[] = {{"double_free", double_free},
                                {"double_free_between", double_free_between},
                                {"double_free_late", double_free_late},
                                {"double_free_crossed", double_free_crossed},
                                {"double_free_concurrent", double_free_concurrent},
                                {"interior_8", interior_8},
                                {"interior_16", interior_16},
                                {"interior_middle", interior_middle},
                                {"free_stack", free_stack},
                                {"free_stack_forged", free_stack_forged},
                                {"free_never_given", free_never_given},
                                {"free_moved", free_moved},
                                {"realloc_freed_same", realloc_freed_same},
                                {"realloc_freed_grow", realloc_freed_grow},
                                {"realloc_interior", realloc_interior},
                                {"usable_size_freed", usable_size_freed},
                                {"usable_size_interior", usable_size_interior},
                                {"sized_delete_smaller", sized_delete_smaller},
                                {"sized_delete_larger", sized_delete_larger},
                                {"free_of_new", free_of_new},
                                {"free_of_new_array", free_of_new_array},
                                {"delete_of_malloc", delete_of_malloc},
                                {"delete_of_new_array", delete_of_new_array},
                                {NULL, NULL}};
