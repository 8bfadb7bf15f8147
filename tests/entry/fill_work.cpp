// SPDX-License-Identifier: MIT
// tests/entry/fill_work: a program that says which bytes its blocks hold, for fill_test.py.
//
// One line each for the main thread, another thread and the child of a fork:
//
//     new=a5 behind=a5 zeroed=00 grown=a5 freed=5a
//
// A byte that differs within a block is "mixed". With FILL_BY_HEADER, Talus is included and its own
// names are called; otherwise the program knows only the C library's. Must not know: the options.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef FILL_BY_HEADER
#include <talus/talus.hpp>
static void* get(size_t bytes) { return talus_malloc(bytes); }
static void* get_zeroed(size_t bytes) { return talus_calloc(1, bytes); }
static void* get_aligned(size_t bytes) { return talus_aligned_alloc(4096, bytes); }
static void* resize(void* block, size_t bytes) { return talus_realloc(block, bytes); }
static void give(void* block) { talus_free(block); }
static size_t usable(void* block) { return talus_usable_size(block); }
static void* get_new(size_t bytes) { return get(bytes); }
static void give_new(void* block) { give(block); }
static size_t zeroed_bytes(void* block, size_t) { return usable(block); }  // talus.h says so
#else
#include <malloc.h>
#include <stdlib.h>

#include <new>
static void* get(size_t bytes) { return malloc(bytes); }
static void* get_zeroed(size_t bytes) { return calloc(1, bytes); }
static void* get_aligned(size_t bytes) { return aligned_alloc(4096, bytes); }
static void* resize(void* block, size_t bytes) { return realloc(block, bytes); }
static void give(void* block) { free(block); }
static size_t usable(void* block) { return malloc_usable_size(block); }
static void* get_new(size_t bytes) { return ::operator new(bytes); }
static void give_new(void* block) { ::operator delete(block); }
static size_t zeroed_bytes(void*, size_t bytes) { return bytes; }
#endif

namespace {

constexpr int own_byte = 0x77;  // what the program writes
// The pages of larger blocks may go back to the kernel when they are freed.
constexpr size_t sizes[] = {1, 24, 100, 3000, 5000, 100000, 300000};

// The one byte that all places of a kind held; -1: none yet, -2: they differ.
struct Seen {
  int byte = -1;

  void look(const void* block, size_t from, size_t to) {
    const auto* at = static_cast<const volatile unsigned char*>(block);
    for (size_t i = from; i < to; i++) {
      if (byte == -1) byte = at[i];
      if (byte != at[i]) byte = -2;
    }
  }
  void put(const char* name) const {
    if (byte < 0) {
      printf("%s=%s ", name, byte == -1 ? "none" : "mixed");
    } else {
      printf("%s=%02x ", name, static_cast<unsigned>(byte));
    }
  }
};

struct Report {
  Seen fresh, behind, zeroed, grown, freed;
  bool is_kept = true;

  void use_up(void* block, void (*end)(void*)) {
    const size_t bytes = usable(block);
    memset(block, own_byte, bytes);
    end(block);
    freed.look(block, 0, bytes);
  }
  void take(void* block, size_t bytes, void (*end)(void*)) {
    fresh.look(block, 0, bytes);
    behind.look(block, bytes, usable(block));
    use_up(block, end);
  }
  void run() {
    for (const size_t bytes : sizes) {
      take(get(bytes), bytes, give);
      take(get_aligned(bytes), bytes, give);
      take(get_new(bytes), bytes, give_new);
      void* block = get_zeroed(bytes);
      const size_t zeros = zeroed_bytes(block, bytes);
      zeroed.look(block, 0, zeros);
      behind.look(block, zeros, usable(block));
      use_up(block, give);
      block = get(bytes);
      const size_t kept = usable(block);
      memset(block, own_byte, kept);
      block = resize(block, kept + kept / 2 + 40);
      Seen seen;
      seen.look(block, 0, kept);
      is_kept &= seen.byte == own_byte;
      grown.look(block, kept, usable(block));
      use_up(block, give);
    }
    fresh.put("new");
    behind.put("behind");
    zeroed.put("zeroed");
    grown.put("grown");
    freed.put("freed");
    printf("%s\n", is_kept ? "kept" : "lost");
    fflush(stdout);
  }
};

void* run_report(void*) {
  Report report;
  report.run();
  return nullptr;
}

}  // namespace

int main() {
  run_report(nullptr);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run_report, nullptr) != 0) return 2;
  pthread_join(thread, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    run_report(nullptr);
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 3;
}
