// SPDX-License-Identifier: MIT
// tests/unit/unwind/programs/loaded: a library that comes and goes. Two are built, which differ in
// the frame of one function, and so in nothing that their tables begin with.
#include <cstddef>

extern "C" __attribute__((visibility("default"))) int loaded_call(void (*act)(void*), void* with) {
  volatile char local[LOADED_BYTES];
  local[0] = 1;
  act(with);
  return local[0];
}
