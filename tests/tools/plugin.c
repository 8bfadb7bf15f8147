/* SPDX-License-Identifier: MIT
 *
 * Owns: a library that calls malloc, for the tests of `talus check PID`.
 */

#include <stdlib.h>

void* plugin_block(void);
void* plugin_block(void) { return malloc(100); }
