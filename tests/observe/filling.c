// SPDX-License-Identifier: MIT
// tests/observe/filling: a program whose heap is full of blocks of many sizes.
//
// It answers a letter once it has written 192 MiB of them: 's' small ones, 'm' medium ones.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { all_bytes = 192 << 20 };

static void fill(size_t least, size_t most) {
  uint64_t random = 88172645463325252u;
  for (size_t made = 0; made < all_bytes;) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    const size_t bytes = least + random % (most - least);
    void* const block = malloc(bytes);
    if (block == NULL) abort();
    memset(block, 1, bytes);
    made += bytes;
  }
}

int main(void) {
  puts("ready");
  fflush(stdout);
  for (int letter = 0; (letter = getchar()) != EOF;) {
    letter == 's' ? fill(16, 1000) : fill(66000, 200000);
    puts("done");
    fflush(stdout);
  }
}
