// malloc_stats writes to stderr, not stdout, and what it writes follows the heap (N29, F17).
//
// The text is free, but it must change once 64 MiB are in use; a library that leaves the call to
// the libc prints the same empty heap twice. Both descriptors are redirected into files for it.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace {

struct Output {
  std::string to_stdout;
  std::string to_stderr;
};

std::string content_of(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), ' ');
  if (pread(file, &text[0], text.size(), 0) < 0) text.clear();
  return text;
}

Output capture() {
  std::fflush(nullptr);
  const int files[2] = {memfd_create("stdout", 0), memfd_create("stderr", 0)};
  const int kept[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
  dup2(files[0], STDOUT_FILENO);
  dup2(files[1], STDERR_FILENO);
  malloc_stats();
  std::fflush(nullptr);
  dup2(kept[0], STDOUT_FILENO);
  dup2(kept[1], STDERR_FILENO);
  Output output{content_of(files[0]), content_of(files[1])};
  for (const int file : {files[0], files[1], kept[0], kept[1]}) close(file);
  return output;
}

}  // namespace

int main() {
  const Output before = capture();
  std::vector<void*> blocks(64 * 1024);
  for (void*& block : blocks) {
    block = probe::opaque(malloc(1024));
    probe::fill(block, 1024, 1);
  }
  const Output after = capture();
  PROBE_EXPECT(!before.to_stderr.empty() && !after.to_stderr.empty(), "nothing on stderr");
  PROBE_EXPECT(before.to_stdout.empty() && after.to_stdout.empty(), "something on stdout");
  PROBE_EXPECT(before.to_stderr != after.to_stderr, "64 MiB more change nothing in the text");
  for (void* block : blocks) free(block);
  return probe::verdict();
}
