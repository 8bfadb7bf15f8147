/* SPDX-License-Identifier: MIT
 * tests/entry/expect: a check for C and C++ programs of this folder that ends them.
 *
 * Owns: the message; it is written without stdio's buffers, since malloc itself may be broken.
 */
#ifndef TALUS_TESTS_ENTRYS_EXPECT_H
#define TALUS_TESTS_ENTRYS_EXPECT_H

#include <unistd.h>

#define EXPECT_TEXT_OF(line) #line
#define EXPECT_TEXT(line) EXPECT_TEXT_OF(line)

#define EXPECT(condition)                                                                 \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      static const char text[] = __FILE__ ":" EXPECT_TEXT(__LINE__) ": " #condition "\n"; \
      if (write(2, text, sizeof text - 1) < 0) _exit(2);                                  \
      _exit(1);                                                                           \
    }                                                                                     \
  } while (0)

#endif /* TALUS_TESTS_ENTRYS_EXPECT_H */
