/* SPDX-License-Identifier: MIT
 *
 * Owns: a stand-in for libtalus.so. It has the note by which the command knows Talus, and a
 * constructor that prints when it is loaded into a program, if the test asks for it.
 * Must not know: how to allocate; programs under it keep the allocator they have.
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((used, section(".note.talus"), aligned(4))) static const struct {
  unsigned owner_bytes, text_bytes, type;
  char owner[8];
  char text[12];
} note = {6, 11, 1, "Talus", "7.8.9-test"};

int stand_in_number(void) { return 42; }

__attribute__((constructor)) static void say_loaded(void) {
  static const char line[] = "[stand-in loaded]\n";
  if (getenv("TALUS_TEST_SAY") != NULL && write(2, line, strlen(line)) < 0) _exit(99);
}
