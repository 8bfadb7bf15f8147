// SPDX-License-Identifier: MIT
// tests/misuse: frees one block wrongly, then allocates on, as a program would that goes on.
//
// Arguments: KIND BYTES OWNER PLACE STATE.
//   KIND   twice    free(p); free(p)
//          between  free(p); free(q); free(p)
//          plus8, plus16, middle    free(p + 8), free(p + 16), free(p + BYTES / 2)
//          and kinds that Talus does not promise to stop:
//          late, crossed     the second free: after 4000 other calls, by another thread
//          behind, after     a write: behind the end, after the free
//          realloc, local    realloc of a freed block, free of a local variable
//   OWNER  own      the thread that allocated the block frees it
//          other    another thread frees it
//          gone     the thread that allocated the block has ended
//   PLACE  process, or child: in the child of a fork
//   STATE  fresh: the first blocks of their size; warm: after a thousand others
// Prints "wrong 0x..." before the wrong call. Exit status: 3 if two live blocks overlap afterwards,
// 0 if nothing was noticed and none do, 2 if an argument is wrong.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { block_count = 6, later_count = 400 };

static const char* kind;
static size_t bytes;
static char* blocks[block_count];
static char* volatile later[later_count];

static void fail(const char* what) {
  fprintf(stderr, "misuse: %s\n", what);
  exit(2);
}

// The compiler must not see which pointer is freed.
static void* hidden(char* pointer) {
  void* value = pointer;
  __asm__ volatile("" : "+r"(value));
  return value;
}

static char* allocate(void) {
  char* block = malloc(bytes);
  if (block == NULL) fail("no memory");
  memset(block, 1, bytes);
  return block;
}

static void warm_up(void) {
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < 100; i++) later[i] = allocate();
    for (int i = 0; i < 100; i++) free(later[i]);
  }
}

static void allocate_blocks(void) {
  for (int i = 0; i < block_count; i++) blocks[i] = allocate();
}

static void* allocate_in_thread(void* state) {
  if (strcmp(state, "warm") == 0) warm_up();
  allocate_blocks();
  return NULL;
}

static void announce(const void* wrong) {
  printf("wrong %p\n", wrong);
  fflush(stdout);
}

static void run_in_thread(void* (*work)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, argument) != 0) fail("no thread");
  pthread_join(thread, NULL);
}

static void* free_pointer(void* pointer) {
  free(pointer);
  return NULL;
}

// Returns whether the kind is one without a promise.
static int do_other_kinds(char* block) {
  char local[64];
  if (strcmp(kind, "late") == 0) {
    free(hidden(block));
    for (int i = 0; i < 2000; i++) {
      later[i % 100] = allocate();
      free(later[(i + 1) % 100]);
      later[(i + 1) % 100] = NULL;
    }
    free(hidden(block));
  } else if (strcmp(kind, "crossed") == 0) {
    free(hidden(block));
    run_in_thread(free_pointer, block);
  } else if (strcmp(kind, "behind") == 0) {
    *(char*)hidden(block + bytes) = 7;
    free(hidden(block));
  } else if (strcmp(kind, "after") == 0) {
    free(hidden(block));
    memset(hidden(block), 7, bytes);
  } else if (strcmp(kind, "realloc") == 0) {
    free(hidden(block));
    later[0] = realloc(hidden(block), 3 * bytes);
  } else if (strcmp(kind, "local") == 0) {
    free(hidden(local));
  } else {
    return 0;
  }
  return 1;
}

static void* free_wrongly(void* unused) {
  char* block = blocks[2];
  if (do_other_kinds(block)) return unused;
  if (strcmp(kind, "twice") == 0 || strcmp(kind, "between") == 0) {
    announce(block);
    free(hidden(block));
    if (strcmp(kind, "between") == 0) free(hidden(blocks[4]));
    free(hidden(block));
    return unused;
  }
  size_t offset = bytes / 2;
  if (strcmp(kind, "plus8") == 0) offset = 8;
  if (strcmp(kind, "plus16") == 0) offset = 16;
  if (offset >= bytes) offset = bytes - 1;
  announce(block + offset);
  free(hidden(block + offset));
  return unused;
}

static int compare(const void* left, const void* right) {
  const uintptr_t a = *(const uintptr_t*)left, b = *(const uintptr_t*)right;
  return a < b ? -1 : a > b;
}

// Allocates many blocks of the size. Do any two of these and of the live ones before overlap?
static int do_blocks_overlap(void) {
  static uintptr_t live[later_count + block_count];
  size_t count = 0;
  for (int i = 0; i < later_count; i++) live[count++] = (uintptr_t)(later[i] = allocate());
  const int is_inside =
      strncmp(kind, "plus", 4) == 0 || strcmp(kind, "middle") == 0 || strcmp(kind, "local") == 0;
  for (int i = 0; i < block_count; i++) {
    const int is_freed = (i == 2 && !is_inside) || (i == 4 && strcmp(kind, "between") == 0);
    if (!is_freed) live[count++] = (uintptr_t)blocks[i];
  }
  qsort(live, count, sizeof live[0], compare);
  for (size_t i = 1; i < count; i++) {
    if (live[i] - live[i - 1] < bytes) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 6) fail("KIND BYTES OWNER PLACE STATE");
  kind = argv[1];
  bytes = strtoul(argv[2], NULL, 10);
  const char* owner = argv[3];
  const char* place = argv[4];
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (strcmp(owner, "gone") == 0) {
    run_in_thread(allocate_in_thread, argv[5]);
  } else {
    allocate_in_thread(argv[5]);
  }
  if (strcmp(place, "child") == 0) {
    const pid_t child = fork();
    if (child < 0) fail("no child");
    int status = 0;
    if (child != 0) {
      waitpid(child, &status, 0);
      if (WIFSIGNALED(status)) raise(WTERMSIG(status));
      return WEXITSTATUS(status);
    }
  }
  if (strcmp(owner, "other") == 0) {
    run_in_thread(free_wrongly, NULL);
  } else {
    free_wrongly(NULL);
  }
  return do_blocks_overlap() ? 3 : 0;
}
