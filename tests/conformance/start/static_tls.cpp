// Static thread-local space: little is taken, and late libraries still find room (N15).
//
// With the allocator preloaded, libraries that need 1.0 and 1.4 KB of static TLS must load. The
// other way round, in a process without preload, the allocator itself must load with dlopen after
// such a library took its room, and serve blocks to threads. Its TLS segment may be 64 bytes.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../plugin_path.hpp"
#include "../relaunch.hpp"

#include <climits>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <string>
#include <thread>

namespace {

constexpr std::size_t tls_bytes_max = 64;
const char* const takers[] = {"tls_none.so", "tls_1000.so", "tls_1400.so"};

// Handed to the child, which runs without LD_PRELOAD.
constexpr const char* library_variable = "CONFORMANCE_LATE_LIBRARY";

bool load_taker(const char* name) {
  char path[probe::path_bytes_max];
  if (!probe::plugin_path(path, name)) return false;
  void* taker = dlopen(path, RTLD_NOW);
  if (taker == nullptr) {
    probe::fail("%s: %s", name, dlerror());
    return false;
  }
  using TlsBlock = char* (*)();
  const auto tls_block = reinterpret_cast<TlsBlock>(dlsym(taker, "tls_block"));
  tls_block()[0] = 1;
  std::thread([&] { tls_block()[0] = 2; }).join();
  return tls_block()[0] == 1;
}

using Malloc = void* (*)(std::size_t);
using Free = void (*)(void*);

void use_late(void* library) {
  const auto take = reinterpret_cast<Malloc>(dlsym(library, "malloc"));
  const auto give = reinterpret_cast<Free>(dlsym(library, "free"));
  if (take == nullptr || give == nullptr) {
    probe::fail("the library defines no malloc");
    return;
  }
  auto work = [&] {
    for (std::size_t size = 1; size < 4 * probe::mib; size += size / 4 + 1) {
      void* block = take(size);
      PROBE_EXPECT(block != nullptr, "malloc(%zu) of the late library", size);
      if (block == nullptr) continue;
      probe::fill(block, size, 1);
      PROBE_EXPECT(probe::is_filled(block, size, 1), "block of the late library");
      give(block);
    }
  };
  work();
  for (int i = 0; i < 20; ++i) std::thread(work).join();
}

int load_late(const char* taker) {
  if (!load_taker(taker)) return probe::verdict();
  const char* path = getenv(library_variable);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    probe::fail("%s after %s: %s", path, taker, dlerror());
    return probe::verdict();
  }
  use_late(library);
  // Some are meant to stay once loaded: that dlclose keeps them is their right.
  dlclose(library);
  return probe::verdict();
}

int find_tls(dl_phdr_info* info, std::size_t, void* argument) {
  auto* wanted = static_cast<std::pair<std::string, std::size_t>*>(argument);
  char resolved[PATH_MAX];
  if (realpath(info->dlpi_name, resolved) == nullptr || wanted->first != resolved) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_TLS) wanted->second = info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

void check_own_tls(const char* library) {
  std::pair<std::string, std::size_t> wanted{library, 0};
  dl_iterate_phdr(find_tls, &wanted);
  probe::figure("TLS of the library", static_cast<double>(wanted.second), "bytes");
  PROBE_EXPECT(wanted.second <= tls_bytes_max, "the library takes %zu bytes of TLS", wanted.second);
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* taker : takers) {
    if (probe::is_role(argc, argv, taker)) return load_late(taker);
  }
  // One of the two: together they are more than any libc keeps in reserve.
  PROBE_EXPECT(load_taker("tls_1400.so"), "a library with 1.4 KB of static TLS");
  const char* preload = getenv("LD_PRELOAD");
  if (preload == nullptr || *preload == 0) return probe::verdict();
  char library[PATH_MAX];
  if (realpath(preload, library) == nullptr) return probe::verdict();
  check_own_tls(library);
  setenv(library_variable, library, 1);
  unsetenv("LD_PRELOAD");
  for (const char* taker : takers) {
    probe::expect_ok(probe::relaunch(taker, 10, [] { return true; }), taker);
  }
  return probe::verdict();
}
