/* SPDX-License-Identifier: MIT
 * tests/docs/contract: what talus.h promises of its functions, asked by their public names.
 *
 * Owns: those contracts that no other test asks of the whole library: errors, errno, null, zero
 * bytes and what is cleared. docs/claims.md names this test beside such statements. Silent, exit
 * status 0 when all is well.
 */
#include "../entry/expect.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <talus/talus.h>

/* No optimiser may see through it. */
static volatile size_t huge = SIZE_MAX / 4;

static int is_all(const void* block, size_t from, size_t to, unsigned char value) {
  const unsigned char* bytes = block;
  for (size_t i = from; i < to; i++) {
    if (bytes[i] != value) return 0;
  }
  return 1;
}

static int is_at(const void* block, size_t alignment) {
  return block != NULL && (uintptr_t)block % alignment == 0;
}

/* Null with this error. Clears errno for the next. */
static int fails(const void* block, int error) {
  const int was = errno;
  errno = 0;
  return block == NULL && was == error;
}

static void allocates(void) {
  void* nothing[2] = {talus_malloc(0), talus_malloc(0)};
  EXPECT(is_at(nothing[0], 16) && is_at(nothing[1], 16) && nothing[0] != nothing[1]);
  talus_free(nothing[0]);
  talus_free(nothing[1]);
  errno = 0;
  EXPECT(fails(talus_malloc(huge * 2 + 2), ENOMEM));
  EXPECT(fails(talus_calloc(huge, 8), ENOMEM));
  EXPECT(fails(talus_calloc_aligned(64, huge, 8), ENOMEM));
  EXPECT(fails(talus_calloc_aligned(48, 1, 8), EINVAL));
  for (size_t bytes = 1; bytes < 3000000; bytes *= 7) {
    void* dirty = talus_malloc(bytes);
    memset(dirty, 0xee, talus_usable_size(dirty));
    talus_free(dirty);
    void* zeroed[3] = {talus_calloc(bytes, 1), talus_zalloc(bytes),
                       talus_calloc_aligned(256, 1, bytes)};
    EXPECT(is_at(zeroed[2], 256));
    for (int i = 0; i < 3; i++) {
      EXPECT(is_at(zeroed[i], 16) && talus_usable_size(zeroed[i]) >= bytes);
      EXPECT(is_all(zeroed[i], 0, talus_usable_size(zeroed[i]), 0));
      talus_free(zeroed[i]);
    }
  }
}

static void resizes(void) {
  char* block = talus_realloc(NULL, 100);
  memset(block, 7, 100);
  block = talus_realloc(block, 300000);
  EXPECT(block != NULL && is_all(block, 0, 100, 7));
  block = talus_realloc(block, 50);
  EXPECT(block != NULL && is_all(block, 0, 50, 7));
  errno = 0;
  EXPECT(fails(talus_realloc(block, huge * 2 + 2), ENOMEM) && is_all(block, 0, 50, 7));
  EXPECT(fails(talus_reallocarray(block, huge, 8), ENOMEM) && is_all(block, 0, 50, 7));
  EXPECT(talus_realloc(block, 0) == NULL && errno == 0);

  /* Frees what it cannot resize: the same block comes next. */
  void* first = talus_malloc(64);
  EXPECT(fails(talus_reallocf(first, huge * 2 + 2), ENOMEM));
  void* next = talus_malloc(64);
  EXPECT(next == first);
  talus_free(next);
}

/* The two are seen in the block that is handed out next, which is the one freed last. */
static void clears(void) {
  char* block = talus_calloc(30, 10);
  memset(block, 9, 300);
  char* old = block;
  EXPECT(fails(talus_recallocarray(block, huge, 30, 10), EINVAL));
  EXPECT(fails(talus_recallocarray(block, 30, huge, 10), ENOMEM) && is_all(block, 0, 300, 9));
  block = talus_recallocarray(block, 30, 100, 10);
  EXPECT(block != NULL && is_all(block, 0, 300, 9) && is_all(block, 300, 1000, 0));
  char* next = talus_malloc(300);
  EXPECT(next == old && is_all(next, 16, 300, 0));
  talus_free(next);
  block = talus_recallocarray(block, 100, 20, 10);
  EXPECT(block != NULL && is_all(block, 0, 200, 9));
  memset(block, 9, 200);
  talus_freezero(block, 200);
  next = talus_malloc(200);
  EXPECT(next == block && is_all(next, 16, 200, 0));
  talus_free(next);
  talus_freezero(NULL, 10);
}

static void aligns(void) {
  void* block = (void*)&huge;
  errno = 4711;
  EXPECT(talus_posix_memalign(&block, 24, 10) == EINVAL && block == (void*)&huge);
  EXPECT(talus_posix_memalign(&block, 4, 10) == EINVAL && block == (void*)&huge);
  EXPECT(talus_posix_memalign(&block, 64, huge * 2 + 2) == ENOMEM && block == (void*)&huge);
  EXPECT(errno == 4711);
  EXPECT(talus_posix_memalign(&block, 64, 10) == 0 && is_at(block, 64));
  talus_free_aligned_sized(block, 64, 99999); /* a wrong size is harmless */
  errno = 0;
  EXPECT(fails(talus_aligned_alloc(48, 10), EINVAL));
  EXPECT(fails(talus_aligned_alloc(64, huge * 2 + 2), ENOMEM));
  block = talus_memalign(48, 10);
  EXPECT(is_at(block, 64));
  talus_free_sized(block, 99999);
  block = talus_valloc(10);
  EXPECT(is_at(block, 4096));
  talus_free(block);
  block = talus_pvalloc(5000);
  EXPECT(is_at(block, 4096) && talus_usable_size(block) >= 8192);
  talus_free(block);
}

static void tells_sizes(void) {
  EXPECT(talus_usable_size(NULL) == 0);
  for (size_t bytes = 1; bytes < 400000; bytes += bytes / 5 + 1) {
    void* block = talus_malloc(bytes);
    const size_t usable = talus_usable_size(block), good = talus_good_size(bytes);
    EXPECT(usable >= bytes && usable >= good && good >= bytes);
    EXPECT(bytes > 32768 || usable == good);
    talus_free(block);
    const talus_block sized = talus_allocate_at_least(bytes);
    EXPECT(sized.bytes >= bytes && sized.bytes == talus_usable_size(sized.pointer));
    talus_free(sized.pointer);
  }
  const talus_block none = talus_aligned_allocate_at_least(48, 10);
  EXPECT(none.pointer == NULL && none.bytes == 0 && errno == EINVAL);
  errno = 4711;
  talus_free(NULL);
  void* blocks[3] = {talus_malloc(10), NULL, talus_malloc(100000)};
  talus_free_batch(blocks, 3);
  EXPECT(errno == 4711);
  EXPECT(strcmp(talus_version(), TALUS_VERSION) == 0);
}

static size_t asked_bytes;
static int raises(size_t wanted_bytes) {
  asked_bytes = wanted_bytes;
  talus_set_limits(0, 0);
  return 1;
}
static int refuses(size_t wanted_bytes) {
  asked_bytes = wanted_bytes;
  return 0;
}

static void gives_back_and_limits(void) {
  enum { bytes = 8 << 20 };
  EXPECT(talus_release(0) == 0);
  for (int i = 0; i < 2; i++) {
    void* block = talus_malloc(bytes);
    memset(block, 1, bytes);
    talus_free(block);
    EXPECT((i == 0 ? talus_trim(0) : talus_release(bytes / 2)) >= bytes / 2);
  }
  talus_set_limits(0, 64 << 20);
  talus_set_limit_handler(refuses);
  errno = 0;
  EXPECT(fails(talus_malloc((size_t)100 << 20), ENOMEM) && asked_bytes >= (size_t)100 << 20);
  talus_set_limit_handler(raises);
  void* block = talus_malloc((size_t)100 << 20);
  EXPECT(block != NULL);
  talus_free(block);
  talus_set_limit_handler(NULL);
}

static void tells_numbers(void) {
  uint64_t value = 5;
  errno = 4711;
  EXPECT(talus_get("heap.live_bytes", NULL) == EINVAL);
  EXPECT(talus_get("heap.no_such", &value) == ENOENT && value == 5);
  EXPECT(talus_get("calls.allocations", &value) == ENODATA && value == 5);
  EXPECT(talus_stats_print(1, (enum talus_stats_format)9) == EINVAL);
  EXPECT(talus_stats_print(-1, TALUS_STATS_TEXT) == EBADF);
  EXPECT(errno == 4711);
  uint64_t before = 0;
  EXPECT(talus_get("heap.live_bytes", &before) == 0);
  void* block = talus_malloc(1000);
  EXPECT(talus_get("heap.live_bytes", &value) == 0);
  EXPECT(value == before + talus_usable_size(block));
  talus_free(block);
}

static void counts_bytes_of_threads(void) {
  uint64_t value = 5;
  EXPECT(talus_get("thread.0.allocated_bytes", &value) == ENODATA && value == 5);
  const uint64_t before = talus_thread_allocated();
  uint64_t expected = 0;
  for (size_t bytes = 0; bytes < 2000000; bytes += 1 + bytes / 3) {
    void* block = talus_malloc(bytes);
    expected += talus_usable_size(block);
    block = talus_realloc(block, bytes + 5000);
    expected += talus_usable_size(block);
    talus_free(block);
    EXPECT(talus_thread_allocated() - before == expected);
  }
  EXPECT(talus_get("thread.0.allocated_bytes", &value) == 0);
  EXPECT(value == talus_thread_allocated());
}

/* The child of a fork does it; the signal that ends it, or 0. */
static int signal_of(void (*does)(void*), void* with) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(1);
    does(with);
    _exit(0);
  }
  EXPECT(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
static void uses_again(void* block) { block = talus_realloc(block, 64); }

static void modes_of_heaps(void) {
  struct talus_heap_options options = {.name = "checked", .mode = TALUS_MODE_CHECKED};
  talus_heap* heap = talus_heap_new(&options);
  char* block = talus_heap_malloc(heap, 64);
  char* kept = talus_heap_malloc(heap, 64);
  EXPECT(block != NULL && kept != NULL && talus_realloc(block, 60) == block);
  EXPECT(signal_of(talus_free, block) == 0);
  talus_heap_free(heap, block);
  EXPECT(signal_of(talus_free, block) == SIGABRT);
  EXPECT(signal_of(uses_again, block) == SIGABRT);
  EXPECT(signal_of(talus_free, kept + 128) == SIGABRT); /* never returned by a call */
  talus_heap_destroy(heap);
  /* A heap as the process does not look. */
  options.mode = TALUS_MODE_PROCESS;
  heap = talus_heap_new(&options);
  kept = talus_heap_malloc(heap, 64);
  EXPECT(signal_of(talus_free, kept + 128) == 0);
  talus_heap_destroy(heap);
  options.mode = (enum talus_mode)77;
  errno = 0;
  EXPECT(fails(talus_heap_new(&options), EINVAL));
}

static void heaps(void) {
  static char buffer[200000];
  const talus_provider provider = {
      TALUS_PROVIDER_BUFFER, 0, sizeof buffer, buffer, NULL, NULL, NULL};
  const struct talus_heap_options options = {"a buffer", 0, 0, &provider, 0, TALUS_MODE_PROCESS};
  talus_heap* heap = talus_heap_new(&options);
  EXPECT(heap != NULL && strcmp(talus_heap_name(heap), "a buffer") == 0);
  EXPECT(talus_heap_delete(heap) == EINVAL);
  char* block = talus_heap_malloc(heap, 100);
  EXPECT(block >= buffer && block < buffer + sizeof buffer);
  EXPECT(talus_heap_of(block) == heap && talus_heap_contains(heap, block));
  EXPECT(!talus_heap_contains(heap, block + 16) && !talus_heap_contains(heap, &block));
  EXPECT(talus_heap_of(&block) == NULL);
  errno = 0;
  EXPECT(fails(talus_heap_malloc(heap, sizeof buffer), ENOMEM));
  EXPECT(fails(talus_heap_aligned_alloc(heap, 48, 1), EINVAL));
  const pid_t child = fork();
  if (child == 0) {
    talus_free(block);
    _exit(talus_heap_stats(heap).live_blocks == 0 ? 0 : 1);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(talus_heap_stats(heap).live_blocks == 1);
  talus_heap_clear(heap);
  EXPECT(talus_heap_stats(heap).live_blocks == 0);
  talus_heap_destroy(heap);
  talus_heap_destroy(NULL);
  const struct talus_heap_options unknown = {NULL, 0, 128, NULL, 0, TALUS_MODE_PROCESS};
  errno = 0;
  EXPECT(fails(talus_heap_new(&unknown), EINVAL));
}

/* What the files without a name take on the disk. */
static size_t bytes_of_files(void) {
  size_t bytes = 0;
  for (int descriptor = 3; descriptor < 1100; descriptor++) {
    struct stat file;
    if (fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode) || file.st_nlink != 0) continue;
    bytes += (size_t)file.st_blocks * 512;
  }
  return bytes;
}

static void files(void) {
  enum { bytes = 16 << 20 };
  for (unsigned flags = 0; flags <= TALUS_PROVIDER_GROW; flags += TALUS_PROVIDER_GROW) {
    const talus_provider provider = {TALUS_PROVIDER_FILE, flags, bytes, NULL, "/tmp", NULL, NULL};
    const struct talus_heap_options options = {"a file", 0, 0, &provider, 0, TALUS_MODE_PROCESS};
    const size_t before = bytes_of_files();
    talus_heap* heap = talus_heap_new(&options);
    EXPECT(heap != NULL);
    const size_t taken = bytes_of_files() - before;
    EXPECT(flags == 0 ? taken >= bytes : taken < bytes / 2);
    talus_heap_destroy(heap);
    EXPECT(bytes_of_files() == before);
  }
}

int main(void) {
  /* What the process inherited is not its own. */
  for (int descriptor = 3; descriptor < 1100; descriptor++) close(descriptor);
  allocates();
  resizes();
  clears();
  aligns();
  tells_sizes();
  gives_back_and_limits();
  tells_numbers();
  counts_bytes_of_threads();
  modes_of_heaps();
  heaps();
  files();
  return 0;
}
