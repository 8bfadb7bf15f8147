/* SPDX-License-Identifier: MIT
 * tests/entry/only_strdup: a program that names no function of any allocator.
 *
 * Only libc allocates, in its own calls, so that a linker finds no reason to take anything from an
 * archive; entry_test.py sees whether the options of Talus act. Blocks are not freed.
 */
#include "expect.h"

#include <string.h>

int main(void) {
  for (int i = 0; i < 2000; i++) EXPECT(strdup("text") != NULL);
  return 0;
}
