/* SPDX-License-Identifier: MIT
 * tests/entry/mapped_room: a program in TALUS_MODE=mapped limits its addresses itself. Blocks with
 * pages of their own leave room for ordinary ones. Preloaded with libtalus.so.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "expect.h"

int main(void) {
  const struct rlimit limit = {512u << 20, 512u << 20};
  free(malloc(1));
  EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
  for (size_t bytes = 0; bytes < (64u << 20); bytes += 64) EXPECT(malloc(64) != NULL);
  return 0;
}
