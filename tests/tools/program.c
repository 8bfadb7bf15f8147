/* SPDX-License-Identifier: MIT
 *
 * Owns: the program that the tests of `talus check` look at. Each way to compile it differs: linked
 * with Talus, opening it late, carrying it inside, bringing options along, hiding its environment,
 * or without it. It says "ready", then waits until its input ends, so that a test can look at it
 * alive.
 */

#define _GNU_SOURCE
#include <stdio.h>

#ifdef PROGRAM_IS_PHP
int zend_startup_module(void);
int zend_startup_module(void) { return 0; }
#endif
#ifdef PROGRAM_NEEDS_TALUS
int stand_in_number(void);
#endif
#if defined(PROGRAM_OPENS_TALUS) || defined(PROGRAM_OPENS_DEEP)
#include <dlfcn.h>
#endif

#ifdef PROGRAM_ALLOCATES
#include <stdlib.h>
#endif

#ifdef PROGRAM_OVERWRITES_ENVIRONMENT
#include <string.h>
extern char** environ;
#endif

#ifdef PROGRAM_HAS_OPTIONS
const char talus_options[] = "decay_ms=7s";
#endif

int main(int argc, char** argv) {
#ifdef PROGRAM_OVERWRITES_ENVIRONMENT
  for (char** variable = environ; *variable != NULL; ++variable) {
    memset(*variable, 0, strlen(*variable));
  }
#endif
#ifdef PROGRAM_NEEDS_TALUS
  if (stand_in_number() != 42) return 3;
#endif
#ifdef PROGRAM_OPENS_TALUS
  if (argc > 1 && dlopen(argv[1], RTLD_NOW) == NULL) return 4;
#endif
#ifdef PROGRAM_OPENS_DEEP
  for (int i = 1; i < argc; ++i) {
    if (dlopen(argv[i], RTLD_NOW | RTLD_DEEPBIND) == NULL) return 5;
  }
#endif
#ifdef PROGRAM_ALLOCATES
  free(malloc(5000));
#endif
  (void)argc;
  (void)argv;
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {}
  return 0;
}
