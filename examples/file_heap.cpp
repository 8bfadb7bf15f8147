// SPDX-License-Identifier: MIT
// examples/file_heap: a container whose memory lies in a file. A large one need not fit in memory:
// the kernel writes it to that file and never swaps it.
#include <cstdio>
#include <cstdlib>
#include <talus/heap.hpp>
#include <vector>

int main() {
  const char* directory = std::getenv("TMPDIR");
  talus::heap heap = talus::heap::in_file(directory != nullptr ? directory : "/tmp", 64 << 20);
  std::vector<int, talus::heap_allocator<int>> numbers{heap};
  for (int i = 0; i < 1000000; i++) numbers.push_back(i);
  std::printf("%zu numbers, %zu bytes of the file in use\n", numbers.size(),
              heap.stats().slab_bytes);
  return heap.contains(numbers.data()) && numbers.back() == 999999 ? 0 : 1;
}
