// witness: reports the files that a process takes malloc and free from.
//
// Owns: the proof that a preload took effect, in every measured process, including installed
// programs. It is preloaded before the allocator and exports nothing. Its constructor writes two
// lines "name path" into the file named by BENCH_WITNESS, before main() and any clock of a
// workload. The path is the kernel's, of the mapping that holds the function's code. `talus
// compare` cannot preload a witness into users' runs and reads the loader's record
// (tools/talus/compare/witness.hpp).
// Invariant: only the first process of a run writes (the file must not exist yet), so its children
// cannot. Nothing here allocates.
// A program with fixed addresses gives malloc an entry in its own jump table, which is no
// definition. The search then continues after this library, where calls really go.
//
// SPDX-License-Identifier: MIT

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { line_bytes_max = 4096 + 128, read_bytes = 4096 };

static void* definition_of(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  Dl_info place;
  ElfW(Sym)* symbol = NULL;
  if (found == NULL || dladdr1(found, &place, (void**)&symbol, RTLD_DL_SYMENT) == 0) return found;
  const int is_jump_entry = symbol != NULL && symbol->st_shndx == SHN_UNDEF;
  return is_jump_entry ? dlsym(RTLD_NEXT, name) : found;
}

// Writes "name path" if the line of /proc/self/maps covers the address.
static int tell_if_covered(int record, const char* name, uintptr_t address, const char* line) {
  unsigned long start = 0;
  unsigned long end = 0;
  const char* path = strchr(line, '/');
  if (sscanf(line, "%lx-%lx", &start, &end) != 2) return 0;
  if (address < start || address >= end) return 0;
  dprintf(record, "%s %s\n", name, path == NULL ? "(no file)" : path);
  return 1;
}

static void tell(int record, const char* name) {
  const uintptr_t address = (uintptr_t)definition_of(name);
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  char line[line_bytes_max];
  size_t used = 0;
  char part[read_bytes];
  ssize_t length = 0;
  if (maps < 0) return;
  while ((length = read(maps, part, sizeof part)) > 0) {
    for (ssize_t at = 0; at < length; at++) {
      if (part[at] != '\n') {
        if (used + 1 < sizeof line) line[used++] = part[at];
        continue;
      }
      line[used] = '\0';
      used = 0;
      if (tell_if_covered(record, name, address, line)) {
        close(maps);
        return;
      }
    }
  }
  close(maps);
}

__attribute__((constructor)) static void bear_witness(void) {
  const char* path = getenv("BENCH_WITNESS");
  if (path == NULL) return;
  const int record = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (record < 0) return;  // an earlier process of this run has written
  tell(record, "malloc");
  tell(record, "free");
  close(record);
}
