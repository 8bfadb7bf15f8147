// SPDX-License-Identifier: MIT
// tests/entry/level: two libraries, each with a copy of Talus, and a program that has a type of
// theirs: LEVEL_NAME is defined where it is a library, as the name of what that exports.
//
// The type has a container in it. Compiled as docs/api.md says, with -fvisibility=hidden, its
// functions are each library's own, as the heap behind them is; without, the loader would make them
// one.
#if defined(LEVEL_NAME)
#include <talus/talus.hpp>

#include <vector>

struct Level {
  void add(int count) {
    for (int i = 0; i < count; i++) cells.push_back(i);
  }
  std::vector<int, talus::allocator<int>> cells;
};

extern "C" __attribute__((visibility("default"))) bool LEVEL_NAME() {
  Level level;
  level.cells.reserve(3);  // in this library, wherever `add` is
  level.add(100);
  return talus_usable_size(level.cells.data()) >= 100 * sizeof(int);
}
#else
extern "C" bool first_level();
extern "C" bool second_level();
int main() { return first_level() && second_level() ? 0 : 1; }
#endif
