/* SPDX-License-Identifier: MIT
 * on_talus: 0 if malloc is Talus'. Blocks of another allocator are foreign to it, and it would end
 * the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <talus/talus.h>

int main(void) {
  void* const block = malloc(100);
  const int is_own = block != NULL && talus_usable_size(block) >= 100;
  free(block);
  puts(talus_version());
  return is_own ? 0 : 1;
}
