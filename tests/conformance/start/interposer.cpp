// Another preloaded library wraps mmap, munmap, madvise and open and allocates inside (N43).
//
// The probe runs itself again with that library before the allocator in LD_PRELOAD. Then it
// allocates in three threads, in sizes that reach the kernel, opens files and loads a library. A
// deadlock or endless recursion ends it; the interposer's counter shows that it was really there.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../plugin_path.hpp"
#include "../relaunch.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <thread>

namespace {

void allocate_a_lot(std::size_t seed) {
  probe::Random random(seed);
  void* blocks[64] = {};
  for (int i = 0; i < 4000; ++i) {
    void*& block = blocks[random.below(64)];
    free(block);
    const std::size_t size = i % 20 == 0 ? random.between(1, 8000000) : random.between(1, 9000);
    block = i % 3 == 0 ? calloc(1, size) : malloc(size);
    PROBE_EXPECT(block != nullptr, "malloc(%zu) gives null", size);
  }
  for (void* block : blocks) free(block);
}

int work_interposed() {
  std::thread first(allocate_a_lot, 1);
  std::thread second(allocate_a_lot, 2);
  allocate_a_lot(3);
  first.join();
  second.join();
  malloc_trim(0);
  const int file = open("/dev/null", O_RDONLY);
  PROBE_EXPECT(file >= 0, "open through the interposer");
  close(file);
  void* pages = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(pages, 4096);
  using Calls = unsigned long (*)();
  const auto calls = reinterpret_cast<Calls>(dlsym(RTLD_DEFAULT, "interposer_calls"));
  PROBE_EXPECT(calls != nullptr && calls() >= 3, "the interposer is not in the process");
  return probe::verdict();
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "interposed")) return work_interposed();
  char plugin[probe::path_bytes_max];
  if (!probe::plugin_path(plugin, "interposer.so")) return 1;
  const char* preload = getenv("LD_PRELOAD");
  char list[2 * probe::path_bytes_max];
  std::snprintf(list, sizeof(list), "%s%s%s", plugin, preload != nullptr ? ":" : "",
                preload != nullptr ? preload : "");
  setenv("LD_PRELOAD", list, 1);
  probe::expect_ok(probe::relaunch("interposed", 15, [] { return true; }), "with the interposer");
  return probe::verdict();
}
