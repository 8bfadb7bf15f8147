// SPDX-License-Identifier: MIT
// tests/observe/inlined: blocks of functions that the compiler inlines, also of a template.
//
// Owns: the lines on which they are called; the test searches for the marks.
#include <cstdio>
#include <cstdlib>
#include <new>

namespace shop {

void* volatile kept;

[[gnu::always_inline]] inline void fill_box(int bytes) {
  kept = ::operator new(static_cast<size_t>(bytes));  // mark: innermost
}
template <typename Goods>
struct Store {
  [[gnu::always_inline]] void open(int bytes) {
    for (int i = 0; i < 20000; i++) fill_box(bytes);  // mark: middle
  }
};
[[gnu::noinline, gnu::noclone]] void trade(Store<long>& store) {
  store.open(1000);  // mark: outer
  asm volatile("" : : : "memory");
}

}  // namespace shop

int main() {
  shop::Store<long> store;
  shop::trade(store);
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {}
  return 0;
}
