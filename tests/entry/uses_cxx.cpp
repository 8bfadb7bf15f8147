// SPDX-License-Identifier: MIT
// tests/entry/uses_cxx: the 20 forms of new and delete are Talus's, in a C++ program.
//
// Owns: the list of forms. Each new's block must be known to talus_usable_size, which ends the
// process for blocks of anyone else; each delete must take a block of talus_malloc.
#include <talus/talus.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "expect.h"

namespace {

constexpr std::align_val_t alignment{256};

void* checked(void* block, size_t bytes) {
  EXPECT(block != nullptr && talus_usable_size(block) >= bytes);
  return block;
}

void* checked_aligned(void* block, size_t bytes) {
  EXPECT(reinterpret_cast<uintptr_t>(block) % 256 == 0);
  return checked(block, bytes);
}

void news_and_deletes(size_t n) {
  operator delete(checked(operator new(n), n));
  operator delete[](checked(operator new[](n), n));
  operator delete(checked(operator new(n, std::nothrow), n), std::nothrow);
  operator delete[](checked(operator new[](n, std::nothrow), n), std::nothrow);
  operator delete(checked(operator new(n), n), n);
  operator delete[](checked(operator new[](n), n), n);
  operator delete(checked_aligned(operator new(n, alignment), n), alignment);
  operator delete[](checked_aligned(operator new[](n, alignment), n), alignment);
  operator delete(checked_aligned(operator new(n, alignment), n), n, alignment);
  operator delete[](checked_aligned(operator new[](n, alignment), n), n, alignment);
  operator delete(checked_aligned(operator new(n, alignment, std::nothrow), n), alignment,
                  std::nothrow);
  operator delete[](checked_aligned(operator new[](n, alignment, std::nothrow), n), alignment,
                    std::nothrow);
}

void deletes_of_talus_blocks() {
  operator delete(talus_malloc(40));
  operator delete[](talus_malloc(40), size_t{40});
  operator delete(talus_aligned_alloc(256, 40), alignment);
  talus_free(operator new(40));
}

// More than there is: the volatile keeps the compiler from judging the size itself.
void no_memory() {
  const volatile size_t too_much = PTRDIFF_MAX;
  EXPECT(operator new(too_much, std::nothrow) == nullptr);
  EXPECT(operator new[](too_much, alignment, std::nothrow) == nullptr);
  int thrown = 0;
  try {
    operator delete(operator new(too_much));
  } catch (const std::bad_alloc&) {
    thrown++;
  }
  try {
    operator delete[](operator new[](too_much, alignment), alignment);
  } catch (const std::bad_alloc&) {
    thrown++;
  }
  EXPECT(thrown == 2);
}

int handler_calls = 0;
void give_up_the_second_time() {
  if (++handler_calls == 2) throw std::bad_alloc{};
}

void handlers() {
  const volatile size_t too_much = PTRDIFF_MAX;
  std::set_new_handler(give_up_the_second_time);
  EXPECT(operator new(too_much, std::nothrow) == nullptr);
  EXPECT(handler_calls == 2);
  std::set_new_handler(nullptr);
}

void library_types() {
  std::vector<std::unique_ptr<std::string>> texts;
  for (int i = 0; i < 2000; i++) {
    texts.push_back(std::make_unique<std::string>(static_cast<size_t>(i % 300), 'x'));
  }
  EXPECT(talus_usable_size(texts.data()) >= texts.size() * sizeof texts[0]);
  std::thread{[&texts] { texts.clear(); }}.join();
}

}  // namespace

int main() {
  for (const size_t n : {0, 1, 24, 300, 30000, 100000, 2000000}) news_and_deletes(n);
  deletes_of_talus_blocks();
  no_memory();
  handlers();
  library_types();
  return 0;
}
