// SPDX-License-Identifier: MIT
// examples/containers: containers of the standard library on the heap of Talus.
//
// Linked with the library, plain containers use Talus as well, since operator new is Talus.
// talus::allocator says so in the type, and tells containers how much room a block has.
#include <cstdio>
#include <map>
#include <string>
#include <talus/talus.hpp>
#include <vector>

using Text = std::basic_string<char, std::char_traits<char>, talus::allocator<char>>;
template <typename T>
using List = std::vector<T, talus::allocator<T>>;
template <typename Key, typename Value>
using Map = std::map<Key, Value, std::less<Key>, talus::allocator<std::pair<const Key, Value>>>;

struct alignas(64) Line {
  float values[16] = {};
};

int main() {
  Map<Text, List<int>> places;
  const char* const words[] = {"the", "house", "on", "the", "hill", "on", "the", "rock"};
  int place = 0;
  for (const char* word : words) places[word].push_back(place++);
  for (const auto& [word, at] : places) std::printf("%s: %zu\n", word.c_str(), at.size());
  if (places.size() != 5 || places["the"].size() != 3) return 1;

  List<Line> lines(100);  // each at a cache line
  if (reinterpret_cast<std::uintptr_t>(lines.data()) % 64 != 0) return 1;

  // How many bytes a buffer of 1000 really has.
  talus::allocator<char> chars;
  const auto room = chars.allocate_at_least(1000);
  std::printf("room for %zu\n", room.count);
  chars.deallocate(room.ptr, room.count);
  return room.count >= 1000 ? 0 : 1;
}
