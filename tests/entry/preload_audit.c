/* SPDX-License-Identifier: MIT
 * tests/entry/preload_audit: an audit library (LD_AUDIT) that watches each binding and allocates.
 *
 * The loader calls it before any other object is initialised, at each bound symbol, and with its
 * own locks held. It lives in a namespace of its own, with a C library of its own. At the end it
 * prints its counts on descriptor 1, as `audit: N objects, N bindings`. The test reads it to know
 * that the library was there.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned objects, bindings;

static void allocate_and_free(void) {
  void* volatile block = malloc(200);
  free(block);
}

unsigned la_version(unsigned version) {
  allocate_and_free();
  return version;
}

unsigned la_objopen(struct link_map* map, Lmid_t space, uintptr_t* cookie) {
  (void)map, (void)space, (void)cookie;
  __atomic_fetch_add(&objects, 1, __ATOMIC_RELAXED);
  allocate_and_free();
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned index, uintptr_t* from, uintptr_t* to,
                       unsigned* flags, const char* name) {
  (void)index, (void)from, (void)to, (void)flags, (void)name;
  __atomic_fetch_add(&bindings, 1, __ATOMIC_RELAXED);
  allocate_and_free();
  return symbol->st_value;
}

__attribute__((destructor)) static void say(void) {
  char text[64];
  const int length =
      snprintf(text, sizeof text, "audit: %u objects, %u bindings\n", objects, bindings);
  if (write(1, text, (size_t)length) < 0) _exit(1);
}
