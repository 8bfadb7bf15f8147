// SPDX-License-Identifier: MIT
// tests/observe/tagged: a program that profiles itself, and says for what it allocates.
//
// Owns: the truth: bytes held by tag. Then it waits for its input to end.
#include <stdio.h>
#include <stdlib.h>
#include <talus/profile.h>

static void* kept[400000];
static int kept_count = 0;

__attribute__((noinline, noclone)) static void hold(int blocks, size_t bytes) {
  for (int i = 0; i < blocks; i++) kept[kept_count++] = malloc(bytes);
}

int main(void) {
  if (talus_profile_start(0) == 0 || talus_profile_start(16 * 1024) != 0) return 1;
  hold(50000, 200);  // 10 MB without a tag
  talus_tag_push("request");
  hold(100000, 200);  // 20 MB
  talus_tag_push("image");
  hold(40000, 1000);  // 40 MB, by the innermost
  talus_tag_pop();
  hold(50000, 200);  // 10 MB of the outer one again
  talus_tag_pop();
  talus_tag_pop();  // without a push
  talus_tag_push("a name that is longer than a tag may be");
  hold(15000, 1000);  // 15 MB
  talus_tag_pop();
  talus_profile_stop();
  hold(50000, 200);  // not sampled
  puts("ready");
  fflush(stdout);
  return getchar() == EOF ? 0 : 1;
}
