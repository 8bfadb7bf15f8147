// pair_constant: the loop of pair_loop.c with blocks of a constant size, compiled into the program.
//
// Owns: pairs of talus::allocate<Bytes>() and talus_free of the header-only entry point. README.md
// explains the count by callgrind: the difference of two runs is the pairs and the loop around
// them.
//
// usage: pair_constant 16|64|500|5000 COUNT
//
// SPDX-License-Identifier: MIT
#include <talus/talus.hpp>

#include <cstdlib>

namespace {

// Hides the pointer's origin from the compiler, at no cost.
void* hidden(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

template <size_t Bytes>
__attribute__((noinline)) void run_pairs(size_t count) {
  for (size_t at = 0; at < count; at++) talus_free(hidden(talus::allocate<Bytes>()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const size_t count = std::strtoul(argv[2], nullptr, 10);
  void* block = hidden(talus::allocate<64>());  // the process owns a heap before the first pair
  switch (std::atoi(argv[1])) {
    case 16:
      run_pairs<16>(count);
      break;
    case 64:
      run_pairs<64>(count);
      break;
    case 500:
      run_pairs<500>(count);
      break;
    case 5000:
      run_pairs<5000>(count);
      break;
    default:
      return 2;
  }
  talus_free(block);
  return 0;
}
