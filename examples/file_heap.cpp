// SPDX-License-Identifier: MIT
// examples/file_heap: a container whose memory lies in a file, so that a large one need not fit in
// memory, and what is written to it is never swapped but goes to that disk.
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
