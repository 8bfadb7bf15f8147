/* SPDX-License-Identifier: MIT
 * tests/doors/secure_work: says if it runs with rights from its file, and frees a stranger.
 *
 * Linked with Talus. The first line on descriptor 1 is `secure 1` or `secure 0` (AT_SECURE). Then
 * it frees a pointer that is no block: by default that ends it, unless the environment's word that
 * strangers are ignored was taken; then `ignored` follows, and status 0.
 */
#include "expect.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

static char stranger[64];

int main(void) {
  const char* answer = getauxval(AT_SECURE) != 0 ? "secure 1\n" : "secure 0\n";
  EXPECT(write(1, answer, 9) == 9);
  for (size_t i = 0; i < 2000; i++) {
    void* volatile block = malloc(i);
    EXPECT(block != NULL);
    free(block);
  }
  char* volatile pointer = stranger + 16;
  free(pointer);
  EXPECT(write(1, "ignored\n", 8) == 8);
  return 0;
}
