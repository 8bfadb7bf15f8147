// SPDX-License-Identifier: MIT
// tests/entry/only_new: a program that names the operators alone.
//
// With them it has the allocator of C: a block of libc's own calls is one that delete takes.
#include <string.h>

#include <new>

#include "expect.h"

int main() {
  for (int i = 0; i < 1000; i++) {
    int* number = new int{i};
    char* copy = strdup("text");
    EXPECT(copy != nullptr && *number == i);
    operator delete(copy);
    delete number;
  }
  return 0;
}
