// SPDX-License-Identifier: MIT
// tests/misuse: what the program's files share: the case, its blocks, and what it says.
//
// A process is one case. It allocates blocks, makes one mistake, and goes on as a program would. It
// writes "stage NAME ADDRESS" before each part and "verdict WORD TEXT" at the end, so that run.py
// knows where the process ended. Nothing here allocates but allocate() and new_block().
// Called on: any thread; only one works at a time, but for the two of concurrent.c.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
  block_count = 6,     // blocks before the mistake
  victim = 2,          // the block of the mistake
  other_victim = 4,    // a second block, for a free between
  touched_max = 65536  // of a block above that only the outer pages are written
};

struct given_case {
  const char* row;
  const char* thread;  // own: the thread that allocates; other: another one; gone: it has ended
  const char* place;   // process; child: of a fork
  const char* entry;   // malloc, new, aligned, heap: the calls that make and free the blocks
  const char* state;   // fresh: the first blocks of their size; warm: after a thousand others
  size_t bytes;
};

extern struct given_case given;
extern char* blocks[block_count];
// A second size whose blocks are asked for afterwards; 0: none.
extern size_t second_bytes;

// say.c
void say_stage(const char* name, const void* pointer);
// The process ends with this verdict, where it does not end by itself.
_Noreturn void say_verdict(const char* word, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
// The verdict where nothing was noticed so far. The process ends as usual, which may still notice.
_Noreturn void say_quiet_verdict(void);
// The case cannot be tried; the reason is the suite's or the machine's.
_Noreturn void give_up(const char* reason);

// Neither the compiler nor its warnings know which pointer this is.
static inline void* hidden(const void* pointer) {
  void* value = (void*)(uintptr_t)pointer;
  __asm__ volatile("" : "+r"(value) : : "memory");
  return value;
}

static inline size_t at_most(size_t value, size_t bound) { return value < bound ? value : bound; }

// entries.c: the entry point of the case.
void find_entry_point(void);
void* new_block(size_t bytes);
void free_block(void* pointer);
void* resize_block(void* pointer, size_t bytes);
// C++ operators, found in the preloaded library or in libstdc++. Given up where there are none.
struct operators {
  void* (*new_one)(size_t);
  void* (*new_array)(size_t);
  void (*delete_one)(void*);
  void (*delete_array)(void*);
  void (*delete_sized)(void*, size_t);
};
const struct operators* cxx_operators(void);

// live.c: the memory that the program owns, by its own account.
void add_live(const void* start, size_t bytes);
void remove_live(const void* start);
// Two live ranges overlap, or one is not mapped: ends with the verdict "overlap".
void expect_no_overlap(void);
void fill(char* block, size_t bytes, int value);
void allocate_blocks(void);
void warm_up(void);
// Blocks before the mistake whose contents changed since.
int count_damaged(void);
// Allocates many blocks of the size, here and in a new thread, looks at them, and frees all.
void go_on(void);

// threads.c
void run_in_thread(void* (*work)(void*), void* argument);

struct row {
  const char* name;
  void (*make_mistake)(void);
};
extern const struct row free_rows[], write_rows[], look_rows[];
// The verdict where nothing was noticed: "silent", or "harmless" and why.
extern const char* quiet_verdict;
extern char quiet_reason[96];
// On the stack of main, which outlives all threads.
extern char* stack_bytes;
