// SPDX-License-Identifier: MIT
//
// Purges one page of this command and reads it.

#include "kernel_answers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace talus::tool {
namespace {

// Also true if no page can be mapped.
bool is_purge_true() {
  const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* const page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (page == MAP_FAILED) return true;
  auto& mark = *static_cast<volatile char*>(page);
  mark = 1;
  const bool is_true = ::madvise(page, bytes, MADV_DONTNEED) != 0 || mark == 0;
  ::munmap(page, bytes);
  return is_true;
}

}  // namespace

void print_kernel_answers() {
  if (is_purge_true()) return;
  fmt::print(
      "note: MADV_DONTNEED succeeds but clears nothing here (an emulator or a sandbox), so Talus "
      "purges no memory\n");
}

}  // namespace talus::tool
