// warm_memory: makes sure that the kernel's next free memory is backed by the host.
//
// A virtual machine tells its host which pages have been free for some seconds, and the host takes
// them away. The next program that touches them also waits for the host, several times longer than
// for a page fault. The order of runs and the allocators' requests decide which program that is:
// large pages are free for longest. So before each run enough memory is touched once and returned
// to the kernel, which then has it ready for every allocator alike.
// It is static, so that no preloaded library takes part.
//
// usage: warm_memory MIB      touches this much, or half of the free memory if that is less
// exit:  0; 1 if there was no memory, 2 if the argument is not a number.
//
// SPDX-License-Identifier: MIT

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

enum { page_bytes_min = 4096 };

int main(int argc, char** argv) {
  char* end = NULL;
  unsigned long long mib = argc == 2 ? strtoull(argv[1], &end, 10) : 0;
  if (end == NULL || *end != '\0' || end == argv[1]) {
    fputs("usage: warm_memory MIB\n", stderr);
    return 2;
  }
  struct sysinfo about;
  if (sysinfo(&about) != 0) return 1;
  unsigned long long bytes = mib << 20;
  const unsigned long long half_free = (unsigned long long)about.freeram * about.mem_unit / 2;
  if (bytes > half_free) bytes = half_free;
  if (bytes == 0) return 0;
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  madvise(memory, bytes, MADV_HUGEPAGE);  // fewer faults; works without huge pages too
  for (unsigned long long at = 0; at < bytes; at += page_bytes_min) {
    ((volatile char*)memory)[at] = 1;
  }
  return 0;  // the exit frees the memory
}
