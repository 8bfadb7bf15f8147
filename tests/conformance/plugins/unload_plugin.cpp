// A library with thread_local objects that allocate, unloaded while threads that used it live.
//
// take_in_plugin gives a block of the given size, filled from the size as seed, to be freed by the
// caller after the library is gone. Called from several threads at once.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct PerThread {
  std::vector<std::string> lines = std::vector<std::string>(200, std::string(60, 'p'));
  ~PerThread() {
    for (std::string& line : lines) line += "destroyed late";
  }
};

thread_local PerThread per_thread;

std::vector<std::string> shared_words(500, std::string(80, 's'));

}  // namespace

extern "C" void* take_in_plugin(std::size_t size) {
  per_thread.lines.emplace_back(size, 'x');
  void* block = std::malloc(size);
  if (block != nullptr && shared_words.size() == 500) probe::fill(block, size, size);
  return block;
}
