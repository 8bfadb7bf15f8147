/* SPDX-License-Identifier: MIT
 * tests/entry/checked_work: frees a block twice, with others freed between. By default this passes.
 *
 * Prints "passed" if nothing stops it. Then it leaves at once, because its heap is not whole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void* volatile blocks[8];

int main(void) {
  for (int i = 0; i < 8; i++) blocks[i] = malloc(64);
  for (int i = 0; i < 7; i++) free(blocks[i]);
  free(blocks[0]);
  if (write(1, "passed\n", 7) != 7) _exit(1);
  _exit(0);
}
