/* SPDX-License-Identifier: MIT
 * A cache of registered memory in small: notes which pages it is told of, and compares that with
 * which pages lost their memory. `listener`: told by talus_set_page_listener. `hooks`: by munmap,
 * madvise and mremap of its own, which stand before the C library's; with TALUS_LIBC_CALLS=1.
 * `silent`: the hooks are not called without that option.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <talus/talus.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PAGE ((size_t)4096)
enum { ranges_max = 1 << 20, pages_max = 1 << 16 };

/* What was told; in memory that no allocator has. */
static struct { uintptr_t from, to; } told[ranges_max];
static size_t told_count, late_count, told_alone_count;
static int page_map;
static pthread_t main_thread;

static int is_present(uintptr_t at) {
  uint64_t entry = 0;
  if (pread(page_map, &entry, sizeof entry, (off_t)(at / PAGE * sizeof entry)) != sizeof entry) {
    return 0;
  }
  return (int)(entry >> 63);
}

static void note(const void* at, size_t bytes) {
  if (told_count == ranges_max) abort();
  told[told_count].from = (uintptr_t)at;
  told[told_count++].to = (uintptr_t)at + bytes;
  if (!pthread_equal(pthread_self(), main_thread)) told_alone_count++;
}

int munmap(void* at, size_t bytes) {
  note(at, bytes);
  return (int)syscall(SYS_munmap, at, bytes);
}
int madvise(void* at, size_t bytes, int advice) {
  if (advice == MADV_DONTNEED) note(at, bytes);
  return (int)syscall(SYS_madvise, at, bytes, advice);
}
void* mremap(void* at, size_t bytes, size_t new_bytes, int flags, ...) {
  __builtin_va_list rest;
  __builtin_va_start(rest, flags);
  void* to = __builtin_va_arg(rest, void*);
  __builtin_va_end(rest);
  note(at, bytes);
  return (void*)syscall(SYS_mremap, at, bytes, new_bytes, flags, to);
}

/* Pages of live blocks, all of which have memory when they are noted. */
static uintptr_t pages[pages_max];
static size_t page_count;

static void use(char* block, size_t bytes) {
  memset(block, 1, bytes);
  for (size_t at = PAGE; at + PAGE <= bytes && page_count < pages_max; at += PAGE) {
    pages[page_count++] = (uintptr_t)(block + at) / PAGE * PAGE;
  }
  if (bytes < PAGE && page_count < pages_max) pages[page_count++] = (uintptr_t)block / PAGE * PAGE;
}

static int was_told(uintptr_t page) {
  for (size_t i = 0; i < told_count; i++) {
    if (told[i].from <= page && page < told[i].to) return 1;
  }
  return 0;
}

/* Of the pages in use before, counts those without memory now, and how many of these went unseen.
 */
static int check(const char* what, size_t gone_min, int should_tell) {
  size_t gone = 0, unseen = 0;
  for (size_t i = 0; i < page_count; i++) {
    if (is_present(pages[i])) continue;
    gone++;
    if (!was_told(pages[i])) unseen++;
  }
  const int is_right = gone >= gone_min && (should_tell ? unseen == 0 : unseen == gone);
  if (!is_right) {
    printf("%s: %zu of %zu pages went (at least %zu should), %zu unseen\n", what, gone, page_count,
           gone_min, unseen);
  }
  page_count = told_count = 0;
  return is_right;
}

/* The first page of what was told last still had its memory then. */
static uintptr_t expected_page;
static void hear(void* at, size_t bytes) {
  note(at, bytes);
  const uintptr_t from = (uintptr_t)at;
  if (from <= expected_page && expected_page < from + bytes) {
    if (!is_present(expected_page)) late_count++;
    expected_page = 0;
  }
}

static int free_large(int should_tell) {
  char* block = malloc(64 * MIB);
  use(block, 64 * MIB);
  expected_page = pages[0];
  free(block);
  malloc_trim(0);
  if (should_tell && late_count != 0) return printf("told after the page was gone\n"), 0;
  return check("a large block", 64 * MIB / PAGE - 64, should_tell);
}

static int free_small(int should_tell) {
  enum { count = 100000, bytes = 200 };
  static char* blocks[count];
  for (size_t i = 0; i < count; i++) use(blocks[i] = malloc(bytes), bytes);
  /* Some stay, so that pages go from between them. */
  for (size_t i = 0; i < count; i++) {
    if (i % 300 != 0) free(blocks[i]);
  }
  malloc_trim(0);
  const int is_right = check("small blocks", 20000, should_tell);
  for (size_t i = 0; i < count; i += 300) free(blocks[i]);
  return is_right;
}

static int move_large(int should_tell) {
  char* block = malloc(8 * MIB);
  char* barrier = malloc(8 * MIB);
  use(block, 8 * MIB);
  const uintptr_t before = (uintptr_t)block;
  block = realloc(block, 48 * MIB);
  if ((uintptr_t)block == before) {
    page_count = told_count = 0;
    printf("the block did not move\n");
    return 0;
  }
  const int is_right = check("a block that moved", 8 * MIB / PAGE - 64, should_tell);
  if (is_right && block[4 * MIB] != 1) return printf("contents were lost\n"), 0;
  free(block);
  free(barrier);
  malloc_trim(0);
  page_count = told_count = 0;
  return is_right;
}

static int end_heap(int should_tell) {
  const struct talus_heap_options options = {.name = "cache", .flags = TALUS_HEAP_OWN_PAGES};
  talus_heap* heap = talus_heap_new(&options);
  char* block = talus_heap_malloc(heap, 16 * MIB);
  use(block, 16 * MIB);
  talus_heap_destroy(heap);
  return check("a heap that ended", 16 * MIB / PAGE - 64, should_tell);
}

static int punch_file(int should_tell) {
  const talus_provider file = {.kind = TALUS_PROVIDER_FILE,
                               .flags = TALUS_PROVIDER_GROW,
                               .bytes = 64 * MIB,
                               .directory = "/tmp"};
  const struct talus_heap_options options = {.name = "file", .provider = &file};
  talus_heap* heap = talus_heap_new(&options);
  if (heap == NULL) return errno == ENOMEM; /* no such file can be made here */
  char* block = talus_heap_malloc(heap, 16 * MIB);
  use(block, 16 * MIB);
  talus_heap_free(heap, block);
  malloc_trim(0);
  const int is_right = check("a file's part", 14 * MIB / PAGE, should_tell);
  talus_heap_destroy(heap);
  return is_right;
}

static size_t count_tasks(void) {
  size_t count = 0;
  DIR* folder = opendir("/proc/self/task");
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count - 2;
}

static void* free_elsewhere(void* block) {
  free(block);
  malloc_trim(0);
  return NULL;
}
/* A change on another thread is told on that one, and no thread of Talus' own is there to tell. */
static int is_told_on_threads(int should_tell) {
  char* block = malloc(32 * MIB);
  use(block, 32 * MIB);
  pthread_t thread;
  told_alone_count = 0;
  pthread_create(&thread, NULL, free_elsewhere, block);
  pthread_join(thread, NULL);
  if (should_tell && told_alone_count == 0) return printf("not told on the thread\n"), 0;
  if (!check("a block freed elsewhere", 32 * MIB / PAGE - 64, should_tell)) return 0;
  usleep(300000);
  const size_t tasks = count_tasks();
  if (should_tell && tasks != 1) return printf("%zu threads while one listens\n", tasks), 0;
  return 1;
}

int main(int count, char** words) {
  const char* way = count > 1 ? words[1] : "listener";
  const int should_tell = strcmp(way, "silent") != 0;
  main_thread = pthread_self();
  page_map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (page_map < 0) return 77;
  if (strcmp(way, "listener") == 0) {
    /* One that is there already ends. */
    free(memset(malloc(32 * MIB), 1, 32 * MIB));
    talus_set_page_listener(hear);
  }
  const int is_right = free_large(should_tell) & free_small(should_tell) & move_large(should_tell) &
                       end_heap(should_tell) & punch_file(should_tell) &
                       is_told_on_threads(should_tell);
  if (strcmp(way, "listener") == 0) {
    talus_set_page_listener(NULL);
    if (!free_large(0)) return 1;
  }
  return is_right ? 0 : 1;
}
