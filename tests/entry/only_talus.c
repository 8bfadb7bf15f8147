/* SPDX-License-Identifier: MIT
 * tests/entry/only_talus: a program that names functions of Talus's own alone.
 *
 * talus_* and malloc share one heap also where the program does not name malloc: libc resizes and
 * frees blocks of talus_malloc, and talus_free takes what libc gives.
 */
#define _GNU_SOURCE
#include <talus/talus.h>

#include <stdio.h>
#include <string.h>

#include "expect.h"

int main(void) {
  for (int i = 0; i < 1000; i++) {
    char* copy = strdup("text");
    EXPECT(copy != NULL && talus_usable_size(copy) >= 5);
    talus_free(copy);
  }
  FILE* file = tmpfile();
  EXPECT(file != NULL && fputs("a line of more than a few letters\n", file) >= 0);
  rewind(file);
  size_t bytes = 10;
  char* line = (char*)talus_malloc(bytes);
  EXPECT(getline(&line, &bytes, file) == 34 && talus_usable_size(line) >= bytes);
  talus_free(line);
  fclose(file);
  return 0;
}
