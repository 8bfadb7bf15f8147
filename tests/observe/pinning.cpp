// SPDX-License-Identifier: MIT
// tests/observe/pinning: a program in which blocks of one function keep pages with nothing else.
//
// Owns: the truth. It answers letters with the bytes that are resident: 'p' purges all free memory,
// 'f' frees what pins. Then it waits for its input to end.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int pins = 10000, blocks_a_pin = 32;
constexpr size_t pin_bytes = 250, dense_bytes = 490;

std::vector<void*> pinning, between, dense;

// Pages are resident once they are written.
void* written(void* block, size_t bytes) {
  if (block == nullptr) std::abort();
  std::memset(block, 1, bytes);
  return block;
}
void tell_resident() {
  long size = 0, pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &size, &pages) != 2) std::abort();
  std::fclose(file);
  std::printf("%ld\n", pages * sysconf(_SC_PAGESIZE));
  std::fflush(stdout);
}

}  // namespace

#define TALUS_SITE extern "C" __attribute__((noinline, noclone))
TALUS_SITE void* pin_page() {
  return written(std::malloc(pin_bytes), pin_bytes);
}  // one in two pages
TALUS_SITE void* fill_between() { return written(std::malloc(pin_bytes), pin_bytes); }
TALUS_SITE void hold_dense() {  // 20 MB
  for (int i = 0; i < 40000; i++) dense.push_back(written(std::malloc(dense_bytes), dense_bytes));
}

int main() {
  pinning.reserve(pins);
  between.reserve(pins * blocks_a_pin);
  dense.reserve(40000);
  for (int i = 0; i < pins; i++) {
    pinning.push_back(pin_page());
    for (int j = 1; j < blocks_a_pin; j++) between.push_back(fill_between());
  }
  hold_dense();
  for (void* const block : between) std::free(block);
  std::puts("ready");
  std::fflush(stdout);
  int letter = 0;
  while ((letter = std::getchar()) != EOF) {
    if (letter == 'p') malloc_trim(0);
    if (letter == 'f') {
      for (void* const block : pinning) std::free(block);
      pinning.clear();
    }
    tell_resident();
  }
  return 0;
}
