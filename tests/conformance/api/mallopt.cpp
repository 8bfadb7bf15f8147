// mallopt answers 0 or 1 for the documented parameters and never disturbs live blocks (F17).
//
// Programs set M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX and M_TOP_PAD at start and go on
// whatever the answer. An unknown parameter must be survived too; its answer is free, as glibc
// itself says 1. Values that glibc documents as refused (a threshold above its maximum) are 0 or,
// where the setting has no meaning, 1.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>

namespace {

struct Setting {
  const char* name;
  int parameter;
  int value;
};

const Setting settings[] = {
    {"M_MMAP_THRESHOLD", M_MMAP_THRESHOLD, 1 << 20},
    {"M_MMAP_MAX", M_MMAP_MAX, 1000},
    {"M_TRIM_THRESHOLD", M_TRIM_THRESHOLD, 1 << 18},
    {"M_TOP_PAD", M_TOP_PAD, 1 << 16},
    {"M_ARENA_MAX", M_ARENA_MAX, 2},
    {"M_ARENA_TEST", M_ARENA_TEST, 2},
    {"M_CHECK_ACTION", M_CHECK_ACTION, 3},
    {"M_MXFAST", M_MXFAST, 64},
    {"an unknown parameter", -12345, 1},
};

}  // namespace

int main() {
  constexpr std::size_t count = 4000;
  static void* blocks[count];
  probe::Random random(3);
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = probe::opaque(malloc(16 + i));
    probe::fill(blocks[i], 16 + i, i);
  }
  for (const Setting& setting : settings) {
    const int answer = mallopt(setting.parameter, setting.value);
    PROBE_EXPECT(answer == 0 || answer == 1, "mallopt(%s) returns %d", setting.name, answer);
    for (int turn = 0; turn < 2000; ++turn) {
      const std::size_t i = random.below(count);
      PROBE_EXPECT(probe::is_filled(blocks[i], 16 + i, i), "after %s a block of %zu changed",
                   setting.name, 16 + i);
      free(blocks[i]);
      blocks[i] = probe::opaque(malloc(16 + i));
      probe::fill(blocks[i], 16 + i, i);
    }
    void* large = probe::opaque(malloc(3 * probe::mib));
    PROBE_EXPECT(large != nullptr, "3 MiB after %s", setting.name);
    free(large);
  }
  for (void* block : blocks) free(block);
  return probe::verdict();
}
