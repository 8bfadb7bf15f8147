/* SPDX-License-Identifier: MIT
 * tests/entry/preload_work: a program that does what preloaded libraries may get in the way of.
 *
 * Four threads allocate in sizes that reach the kernel; meanwhile the main thread opens files and
 * libraries, connects, reads the clock, forks, and starts itself again (which preloads anew).
 * Ends with status 0, and 3 if Talus is not in the process.   Usage: preload_work [again]
 */
#define _GNU_SOURCE
#include "expect.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static void* allocate(void* argument) {
  unsigned seed = (unsigned)(size_t)argument;
  char* blocks[64] = {0};
  for (int i = 0; i < 3000; i++) {
    seed = seed * 1103515245 + 12345;
    char** block = &blocks[seed / 65536 % 64];
    free(*block);
    const size_t bytes = i % 50 == 0 ? seed / 256 % 4000000 : seed / 256 % 5000;
    *block = i % 5 == 0 ? calloc(1, bytes + 1) : malloc(bytes + 1);
    EXPECT(*block != NULL);
    (*block)[0] = (*block)[bytes] = 1;
  }
  for (int i = 0; i < 64; i++) free(blocks[i]);
  return NULL;
}

static void call_what_is_wrapped(void) {
  const int file = open("/dev/null", O_RDONLY);
  EXPECT(file >= 0);
  void* pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(pages != MAP_FAILED);
  EXPECT(madvise(pages, 4096, MADV_DONTNEED) == 0 && munmap(pages, 4096) == 0);
  const int lonely = socket(AF_INET, SOCK_STREAM, 0);
  if (lonely >= 0) {
    struct sockaddr_in closed_port = {.sin_family = AF_INET, .sin_port = htons(1)};
    closed_port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)!connect(lonely, (struct sockaddr*)&closed_port, sizeof closed_port);
    close(lonely);
  }
  EXPECT(syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) == getpid());
  struct timespec now;
  EXPECT(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  EXPECT(close(file) == 0);
}

static void open_library(void) {
  void* library = dlopen("libm.so.6", RTLD_NOW);
  EXPECT(library != NULL && dlsym(library, "cos") != NULL);
  dlclose(library);
  EXPECT(dlopen("libthere-is-none.so", RTLD_NOW) == NULL && dlerror() != NULL);
}

static void child(char* program) {
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    allocate((void*)9);
    if (program != NULL) execl(program, program, "again", (char*)NULL);
    _exit(program == NULL ? 0 : 126);
  }
  int status = 1;
  EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int count, char** arguments) {
  if (dlsym(RTLD_DEFAULT, "talus_version") == NULL) return 3;
  pthread_t threads[4];
  for (size_t i = 0; i < 4; i++) {
    EXPECT(pthread_create(&threads[i], NULL, allocate, (void*)(i + 1)) == 0);
  }
  for (int round = 0; round < 6; round++) {
    call_what_is_wrapped();
    open_library();
    malloc_trim(0);
    child(NULL);
  }
  if (count == 1) child(arguments[0]);
  for (int i = 0; i < 4; i++) EXPECT(pthread_join(threads[i], NULL) == 0);
  return 0;
}
