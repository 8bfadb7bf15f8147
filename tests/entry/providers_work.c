/* SPDX-License-Identifier: MIT
 *
 * Work for a heap whose memory comes from elsewhere; by the first argument:
 *
 *   plain   allocates, frees and resizes; says by how much the process's addresses grew
 *   fill    allocates until there is no memory, twice; says how many bytes that were
 *   fork    forks again and again; says how many bytes of files are mapped before and after
 *   threads the same while threads write to their blocks
 *   closed  closes every descriptor that it finds, puts a file of its own in their place, goes on
 *
 * Each says "ok" at the end; what went wrong is said before, and the status is 1. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 4000
static unsigned char* blocks[COUNT];
static size_t sizes[COUNT];

static void require(int holds, const char* what) {
  if (holds) return;
  dprintf(1, "wrong: %s\n", what);
  _exit(1);
}

static void put(int i, size_t bytes) {
  blocks[i] = malloc(bytes);
  sizes[i] = bytes;
  require(blocks[i] != NULL, "no memory");
  memset(blocks[i], i & 0xff, bytes);
}
static void check_all(void) {
  for (int i = 0; i < COUNT; i++) {
    for (size_t at = 0; at < sizes[i]; at += 61) {
      require(blocks[i][at] == (i & 0xff), "contents");
    }
  }
}
static void fill_all(unsigned seed) {
  for (int i = 0; i < COUNT; i++) put(i, 1 + (i * 7919u + seed) % (i % 50 == 0 ? 200000 : 3000));
}
static void free_all(void) {
  for (int i = 0; i < COUNT; i++) {
    free(blocks[i]);
    sizes[i] = 0;
  }
}

/* Of what this process has mapped: all of it, or what is shared with a file that has no name. */
static size_t mapped_bytes(int in_files) {
  static char text[1 << 20];
  int maps = open("/proc/self/maps", O_RDONLY);
  size_t length = 0;
  for (ssize_t got; (got = read(maps, text + length, sizeof text - 1 - length)) > 0;) length += got;
  close(maps);
  text[length] = '\0';
  size_t bytes = 0;
  for (char* line = text; *line != '\0';) {
    char* end = strchr(line, '\n');
    *end = '\0';
    unsigned long from = 0, to = 0;
    char access[5] = "";
    require(sscanf(line, "%lx-%lx %4s", &from, &to, access) == 3, "maps");
    const int is_in_file = access[3] == 's' && strstr(line, "(deleted)") != NULL;
    if (!in_files || is_in_file) bytes += to - from;
    line = end + 1;
  }
  return bytes;
}

static void do_plain(void) {
  const size_t before = mapped_bytes(0);
  for (unsigned round = 0; round < 3; round++) {
    fill_all(round);
    check_all();
    for (int i = 0; i < COUNT; i += 3) {
      blocks[i] = realloc(blocks[i], sizes[i] * 2);
      require(blocks[i] != NULL, "no memory");
    }
    check_all();
    free_all();
    char* zero = calloc(300, 1000);
    for (int i = 0; i < 300000; i++) require(zero[i] == 0, "calloc");
    free(zero);
  }
  dprintf(1, "grew %zu files %zu\n", mapped_bytes(0) - before, mapped_bytes(1));
}

static void do_fill(void) {
  size_t filled[2];
  for (int round = 0; round < 2; round++) {
    void** chain = NULL;
    filled[round] = 0;
    for (size_t bytes = 100000; bytes >= 1000; bytes /= 10) {
      void** block;
      errno = 0;
      while ((block = malloc(bytes)) != NULL) {
        memset(block, 0x5a, bytes);
        *block = chain;
        chain = block;
        filled[round] += bytes;
      }
      require(errno == ENOMEM, "errno");
    }
    while (chain != NULL) {
      void** next = *chain;
      free(chain);
      chain = next;
    }
  }
  require(filled[1] >= filled[0] - filled[0] / 8, "memory was lost");
  dprintf(1, "filled %zu\n", filled[0]);
}

/* A child whose heap is its own: what it does there, the parent does not see, and the other way. */
static void fork_once(int is_told) {
  int go[2];
  require(pipe(go) == 0, "pipe");
  const pid_t child = fork();
  require(child >= 0, "fork");
  if (child == 0) {
    char letter;
    close(go[1]);
    require(read(go[0], &letter, 1) == 1, "read");
    check_all();
    for (int i = 0; i < COUNT; i++) memset(blocks[i], 0xee, sizes[i]);
    free_all();
    fill_all(5);
    check_all();
    if (is_told) dprintf(1, "child %zu\n", mapped_bytes(1));
    _exit(0);
  }
  /* The child looks after this: it must not see it. */
  blocks[17][0] ^= 0xff;
  require(write(go[1], "x", 1) == 1, "write");
  int status = 0;
  require(waitpid(child, &status, 0) == child && status == 0, "the child");
  close(go[0]);
  close(go[1]);
  blocks[17][0] ^= 0xff;
  check_all();
}

static void do_fork(void) {
  fill_all(1);
  const size_t before = mapped_bytes(1);
  for (int i = 0; i < 4; i++) {
    fork_once(i == 0);
    free(blocks[i]);
    put(i, 50000);
  }
  require(system("true") == 0, "system");
  const size_t after = mapped_bytes(1);
  free_all();
  dprintf(1, "files %zu %zu\n", before, after);
}

static volatile int is_over;
/* libc makes the locks of all streams anew in a child, before any handler runs there; this one lies
 * in the heap. If it were the parent's lock, its holder would never unlock it in the child. */
static FILE* stream;
static void* count_up(void* unused) {
  (void)unused;
  enum { words = 5000 };
  uint64_t* own = calloc(words, sizeof *own);
  require(own != NULL, "no memory");
  /* Every word only grows, by one each round: a write that got lost shows. */
  for (uint64_t round = 1; !is_over; round++) {
    flockfile(stream);
    for (int i = 0; i < words; i++) require(own[i]++ == round - 1, "a write was lost");
    funlockfile(stream);
    fputs("word", stream);
    void* other = malloc(1 + round % 5000);
    memset(other, 1, 1 + round % 5000);
    free(other);
  }
  free(own);
  return NULL;
}
static void do_threads(void) {
  pthread_t threads[3];
  fill_all(1);
  stream = fopen("/dev/null", "w");
  require(stream != NULL, "no memory");
  for (int i = 0; i < 3; i++) {
    require(pthread_create(&threads[i], NULL, count_up, NULL) == 0, "thread");
  }
  for (int i = 0; i < 8; i++) fork_once(0);
  is_over = 1;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  check_all();
  free_all();
  for (int i = 0; i < 2; i++) {
    fill_all(9);
    fork_once(0);
    free_all();
  }
}

static void do_closed(void) {
  fill_all(1);
  char name[] = "/tmp/talus-own-XXXXXX";
  const int file = mkstemp(name);
  require(file >= 0 && write(file, "mine", 4) == 4, "file");
  unlink(name);
  for (int i = 3; i < 2000; i++) {
    if (i != file) dup2(file, i);
  }
  fork_once(0);
  free_all();
  for (unsigned round = 0; round < 3; round++) {
    fill_all(round);
    check_all();
    fork_once(0);
    if (round < 2) free_all();
  }
  struct stat facts;
  char text[5] = "";
  require(fstat(file, &facts) == 0 && facts.st_size == 4, "another program's file");
  require(pread(file, text, 4, 0) == 4 && strcmp(text, "mine") == 0, "another program's file");
}

int main(int count, char** words) {
  const char* kind = count > 1 ? words[1] : "plain";
  if (strcmp(kind, "plain") == 0) do_plain();
  if (strcmp(kind, "fill") == 0) do_fill();
  if (strcmp(kind, "fork") == 0) do_fork();
  if (strcmp(kind, "threads") == 0) do_threads();
  if (strcmp(kind, "closed") == 0) do_closed();
  dprintf(1, "ok\n");
  return 0;
}
