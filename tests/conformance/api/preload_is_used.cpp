// The allocator under test really serves this process (the guard of the whole table).
//
// A preload that the loader ignores would let every probe pass on the libc. The first library named
// in LD_PRELOAD must define malloc, free, calloc, realloc and operator new, and the addresses that
// the program would call must lie in it. Without LD_PRELOAD there is nothing to ask.
// SPDX-License-Identifier: MIT
#include "../probe.hpp"

#include <climits>
#include <dlfcn.h>
#include <string>

namespace {

std::string real_path(const char* path) {
  char resolved[PATH_MAX];
  return realpath(path, resolved) != nullptr ? resolved : path;
}

}  // namespace

int main() {
  const char* preload = getenv("LD_PRELOAD");
  if (preload == nullptr || *preload == 0) probe::skip("no LD_PRELOAD: the libc's own allocator");
  const std::string list(preload);
  const std::string wanted = real_path(list.substr(0, list.find_first_of(": ")).c_str());
  for (const char* name : {"malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc",
                           "malloc_usable_size", "_Znwm", "_ZdlPv"}) {
    Dl_info info{};
    void* address = dlsym(RTLD_DEFAULT, name);
    const bool is_found = address != nullptr && dladdr(address, &info) != 0;
    PROBE_EXPECT(is_found && real_path(info.dli_fname) == wanted, "%s comes from %s", name,
                 is_found ? info.dli_fname : "nowhere");
  }
  return probe::verdict();
}
