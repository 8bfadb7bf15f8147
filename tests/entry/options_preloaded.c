/* SPDX-License-Identifier: MIT
 * tests/entry/options_preloaded: a program that knows nothing of Talus but the name of the text
 * with its options. The preloaded library finds it if the program exports it.
 */
#include <stdlib.h>

const char talus_options[] = "decay_ms=5s;no_such_option=1";

int main(void) {
  free(malloc(100));
  return 0;
}
