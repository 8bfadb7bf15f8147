// Addresses reserved and core dumps stay small (N45): 64 MiB above the libc, 1.3 times resident.
//
// The child without the preload tells how many addresses the program takes on the libc's own
// allocator after one malloc; this process may have 64 MiB more. The core is estimated from smaps
// as the kernel writes it: mappings without a file that were ever written, unless marked "do not
// dump", at full length. 50 MiB are in use meanwhile.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace {

constexpr std::size_t extra_max = 64 * probe::mib;
constexpr int shared_file = 200;

std::size_t after_one_malloc() {
  void* block = probe::opaque(malloc(100));
  const std::size_t bytes = probe::virtual_bytes();
  free(block);
  return bytes;
}

int tell_parent() {
  const std::size_t bytes = after_one_malloc();
  return pwrite(shared_file, &bytes, sizeof(bytes), 0) == sizeof(bytes) ? 0 : 1;
}

std::size_t bytes_on_libc() {
  const int file = memfd_create("answer", 0);
  dup2(file, shared_file);
  close(file);
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "LD_PRELOAD=", 11) != 0) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  probe::expect_ok(probe::relaunch(
                       "tell", 10, [] { return true; }, environment.data()),
                   "the program on the libc's allocator");
  std::size_t bytes = 0;
  if (pread(shared_file, &bytes, sizeof(bytes), 0) != sizeof(bytes)) bytes = 0;
  close(shared_file);
  return bytes;
}

// Sums the mappings that a core would hold at full length.
class CoreEstimate {
 public:
  void read_line(const char* line) {
    char* end = nullptr;
    const std::size_t from = std::strtoull(line, &end, 16);
    if (end != line && *end == '-') {
      size_ = std::strtoull(end + 1, nullptr, 16) - from;
      written_ = 0;
    } else if (std::strncmp(line, "Anonymous:", 10) == 0) {
      written_ = std::strtoull(line + 10, nullptr, 10);
    } else if (std::strncmp(line, "VmFlags:", 8) == 0) {
      if (written_ != 0 && std::strstr(line, " dd") == nullptr) total_ += size_;
    }
  }
  std::size_t total() const { return total_; }

 private:
  std::size_t size_ = 0;
  std::size_t written_ = 0;
  std::size_t total_ = 0;
};

void check_core() {
  std::vector<void*> blocks(50 * 1024);
  for (void*& block : blocks) {
    block = probe::opaque(malloc(1000));
    probe::fill(block, 1000, 1);
  }
  CoreEstimate core;
  probe::for_each_line("/proc/self/smaps", [&](const char* line) { core.read_line(line); });
  const std::size_t resident = probe::resident_bytes();
  PROBE_EXPECT(core.total() <= resident / 10 * 13, "a core of %zu KiB, resident %zu KiB",
               core.total() / 1024, resident / 1024);
  probe::figure("core", static_cast<double>(core.total()) / static_cast<double>(resident),
                "x resident");
  for (void* block : blocks) free(block);
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "tell")) return tell_parent();
  const std::size_t here = after_one_malloc();
  const std::size_t there = bytes_on_libc();
  PROBE_EXPECT(here <= there + extra_max, "VmSize %zu KiB, on the libc's allocator %zu KiB",
               here / 1024, there / 1024);
  probe::figure("VmSize above libc", probe::to_mib(probe::saturating_difference(here, there)),
                "MiB");
  check_core();
  return probe::verdict();
}
