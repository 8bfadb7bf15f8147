// SPDX-License-Identifier: MIT
// tests/entry/opens_operators: a C++ program that opens the shared library and takes its operators.
//
// The program's own operators are its C++ runtime's, which stands before the library: what is asked
// of the library by its handle stays in its heap, whichever forms meet.
// Usage: opens_operators LIBRARY
#include <dlfcn.h>

#include <initializer_list>

#include "expect.h"

namespace {

void* library;

template <typename Function>
Function* found(const char* name) {
  void* address = dlsym(library, name);
  EXPECT(address != nullptr);
  return reinterpret_cast<Function*>(address);
}

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 2);
  void* volatile block_of_runtime = operator new(100);
  library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  EXPECT(library != nullptr);
  const auto usable_size = found<size_t(const void*)>("talus_usable_size");
  const auto delete_one = found<void(void*)>("_ZdlPv");
  const auto delete_sized = found<void(void*, size_t)>("_ZdlPvm");
  const auto delete_array = found<void(void*)>("_ZdaPv");
  const auto delete_sized_array = found<void(void*, size_t)>("_ZdaPvm");
  for (const char* name : {"_Znwm", "_Znam"}) {
    const auto take = found<void*(size_t)>(name);
    for (size_t n = 1; n < 200000; n = 3 * n + 1) {
      for (int form = 0; form < 4; form++) {
        void* block = take(n);
        EXPECT(block != nullptr && usable_size(block) >= n);
        if (form == 0) delete_one(block);
        if (form == 1) delete_sized(block, n);
        if (form == 2) delete_array(block);
        if (form == 3) delete_sized_array(block, n);
      }
    }
  }
  operator delete(block_of_runtime);
  return 0;
}
