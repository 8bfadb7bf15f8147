// SPDX-License-Identifier: MIT
// tests/entry/replaced_operators: a program that replaces two or four of the operators.
//
// All other forms must then come to these, as [new.delete] says: a block of the program's never
// reaches Talus's heap, and no block of Talus's the program. With REPLACES_ARRAYS these are new[]
// and delete[], else new and delete. The program does the same on any allocator.
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "expect.h"

#if defined(REPLACES_ARRAYS)
#define BRACKETS []
#else
#define BRACKETS
#endif

namespace {

constexpr std::align_val_t alignment{256};

char room[1 << 22];
size_t used, taken, given;
bool is_exhausted;

bool is_mine(const void* block) {
  return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(room) < sizeof(room);
}
void* take(size_t bytes, size_t boundary) {
  if (is_exhausted) throw std::bad_alloc{};
  const uintptr_t at = reinterpret_cast<uintptr_t>(room) + used;
  used += (boundary - at % boundary) % boundary;
  char* block = room + used;
  used += bytes;
  EXPECT(used <= sizeof(room));
  taken++;
  return block;
}
void give(void* block) {
  if (block == nullptr) return;
  EXPECT(is_mine(block));
  given++;
}

}  // namespace

void* operator new BRACKETS(size_t n) { return take(n, 16); }
void* operator new BRACKETS(size_t n, std::align_val_t a) { return take(n, size_t(a)); }
void operator delete BRACKETS(void* p) noexcept { give(p); }
void operator delete BRACKETS(void* p, std::align_val_t) noexcept { give(p); }

namespace {

size_t expected;

// The next block was taken, and is given back, by the program's own functions or by others.
void* seen(void* block, bool is_own) {
  EXPECT(block != nullptr && is_mine(block) == is_own);
  expected += is_own ? 1 : 0;
  EXPECT(taken == expected);
  return block;
}

#if defined(REPLACES_ARRAYS)
constexpr bool is_one_own = false;
#else
constexpr bool is_one_own = true;
#endif
void* one(void* block) { return seen(block, is_one_own); }
void* array(void* block) { return seen(block, true); }

void all_forms(size_t n) {
  operator delete(one(operator new(n)));
  operator delete(one(operator new(n)), n);
  operator delete(one(operator new(n, std::nothrow)), std::nothrow);
  operator delete[](array(operator new[](n)));
  operator delete[](array(operator new[](n)), n);
  operator delete[](array(operator new[](n, std::nothrow)), std::nothrow);
  operator delete(one(operator new(n, alignment)), alignment);
  operator delete(one(operator new(n, alignment)), n, alignment);
  operator delete(one(operator new(n, alignment, std::nothrow)), alignment, std::nothrow);
  operator delete[](array(operator new[](n, alignment)), alignment);
  operator delete[](array(operator new[](n, alignment)), n, alignment);
  operator delete[](array(operator new[](n, alignment, std::nothrow)), alignment, std::nothrow);
  EXPECT(given == expected);
}

// What the program's new throws ends in nothrow new.
void exhausted() {
  is_exhausted = true;
  EXPECT(operator new[](100, std::nothrow) == nullptr);
  EXPECT(operator new[](100, alignment, std::nothrow) == nullptr);
  if (is_one_own) {
    EXPECT(operator new(100, std::nothrow) == nullptr);
    EXPECT(operator new(100, alignment, std::nothrow) == nullptr);
  }
  is_exhausted = false;
}

// The C++ runtime and templates call forms of their own choice.
void containers() {
  std::vector<std::string> texts;
  for (size_t i = 0; i < 300; i++) texts.push_back(std::string(i, 'x'));
  for (size_t i = 0; i < 300; i++) EXPECT(texts[i] == std::string(i, 'x'));
}

}  // namespace

int main() {
  for (int round = 0; round < 2; round++) {
    for (size_t n = 1; n < 20000; n = 3 * n + 1) all_forms(n);
    exhausted();
  }
  containers();
  EXPECT(taken == given);
  return 0;
}
