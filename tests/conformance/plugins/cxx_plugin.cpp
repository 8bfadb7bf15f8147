// A C++ plugin for a C program: new, delete, exceptions and the new handler from inside a library
// that was loaded with RTLD_LOCAL.
//
// Returns null when all went well, otherwise a sentence. It must not know which allocator runs; it
// is called on one thread and unloaded afterwards, so nothing of it may stay registered.
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <string>

namespace {

int handler_calls;

void give_up_at_once() {
  ++handler_calls;
  std::set_new_handler(nullptr);
}

[[noreturn]] void give_up_loudly() {
  ++handler_calls;
  throw std::bad_alloc();
}

std::size_t impossible() {
  volatile std::size_t size = static_cast<std::size_t>(PTRDIFF_MAX) - 64;
  return size;
}

bool throws_bad_alloc() {
  try {
    void* block = ::operator new(impossible());
    ::operator delete(block);
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

// What the handler throws ends in nothrow new.
bool ends_in_nothrow_new() {
  const auto aligned = static_cast<std::align_val_t>(128);
  std::set_new_handler(give_up_loudly);
  handler_calls = 0;
  bool is_null = false;
  try {
    is_null = ::operator new(impossible(), std::nothrow) ==
              nullptr&& ::operator new[](impossible(), std::nothrow) ==
              nullptr&& ::operator new(impossible(), aligned, std::nothrow) ==
              nullptr&& ::operator new[](impossible(), aligned, std::nothrow) == nullptr;
  } catch (const std::bad_alloc&) {}
  std::set_new_handler(nullptr);
  return is_null && handler_calls == 4;
}

}  // namespace

extern "C" const char* run_cxx_plugin() {
  std::map<std::string, std::string> words;
  for (std::size_t i = 0; i < 2000; ++i) words[std::to_string(i)] = std::string(i, 'x');
  if (words.size() != 2000 || words["1999"].size() != 1999) return "a map lost its contents";
  words.clear();
  if (!throws_bad_alloc()) return "new of an impossible size throws nothing";
  handler_calls = 0;
  std::set_new_handler(give_up_at_once);
  if (!throws_bad_alloc()) return "new with a handler throws nothing";
  if (handler_calls != 1) return "the new handler was not called once";
  if (::operator new(impossible(), std::nothrow) != nullptr) return "nothrow new gives a block";
  if (!ends_in_nothrow_new()) return "nothrow new with a handler that throws does not give null";
  return nullptr;
}
