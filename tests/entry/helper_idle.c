/* SPDX-License-Identifier: MIT
 * tests/entry/helper_idle: frees 64 MiB, then does nothing for a while: what others look at
 * (helper_tools_test.py).   Usage: helper_idle MILLISECONDS
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block_count = 64, block_bytes = 1 << 20 };

int main(int argc, char** argv) {
  char* blocks[block_count];
  if (argc != 2) return 2;
  for (int i = 0; i < block_count; i++) {
    blocks[i] = malloc(block_bytes);
    if (blocks[i] == NULL) return 1;
    memset(blocks[i], 1, block_bytes);
  }
  for (int i = 0; i < block_count; i++) free(blocks[i]);
  for (int rest = atoi(argv[1]); rest > 0; rest -= 100) usleep(100000);
  return 0;
}
