/* SPDX-License-Identifier: MIT
 * tests/entry/first_blocks: a program that says where its first blocks lie, for random_test.py.
 *
 * Owns: nothing. One line: the addresses of a small, a medium and a large block, and of a block
 * that is as large as a huge page. Must not know: Talus. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  char text[BUFSIZ];
  setvbuf(stdout, text, _IOFBF, sizeof text);
  void* small = malloc(100);
  void* medium = malloc(50000);
  void* large = malloc(400000);
  void* huge = malloc((size_t)3 << 20);
  printf("%p %p %p %p\n", small, medium, large, huge);
  return 0;
}
