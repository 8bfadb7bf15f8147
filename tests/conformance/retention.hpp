// What the probes on retained memory share: crowds of blocks, and asking for all memory back.
//
// A crowd is a list that runs through its own blocks, so that holding them takes no memory that
// would have to be told apart from the allocator's. One thread at a time uses a crowd. Nothing here
// knows an allocator; `purge_free_memory` calls what a program would call.
// SPDX-License-Identifier: MIT
#pragma once

#include "measure.hpp"
#include "pattern.hpp"
#include "probe.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <thread>

namespace probe {

class Crowd {
 public:
  // `size` has room for the link; every page of the block is written.
  void take(std::size_t size) {
    auto* node = static_cast<Node*>(opaque(malloc(size)));
    if (node == nullptr) {
      fail("malloc(%zu) gives null after %zu MiB", size, bytes_ / mib);
      _exit(1);
    }
    fill(node + 1, size - sizeof(Node), 1);
    push(node);
    bytes_ += size;
  }

  // Mixed sizes as programs have them: mostly up to 600 bytes, some up to 40000.
  void take_mixed(Random& random, std::size_t bytes) {
    const std::size_t end = bytes_ + bytes;
    while (bytes_ < end) {
      take(random.between(sizeof(Node) + 1, random.below(9) == 0 ? 40000 : 600));
    }
  }

  void give_all() {
    while (first_ != nullptr) free(pop());
    bytes_ = 0;
  }

  std::size_t bytes() const { return bytes_; }  // as they were asked for

 private:
  struct Node {
    Node* next;
  };

  void push(Node* node) {
    node->next = first_;
    first_ = node;
  }

  Node* pop() {
    Node* node = first_;
    first_ = node->next;
    return node;
  }

  Node* first_ = nullptr;
  std::size_t bytes_ = 0;
};

// The object a function comes from, or null.
inline const void* object_of(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}

// malloc_trim, of the allocator or of libc: where the allocator has none, a program gets libc's. An
// allocator that has mallopt alone gets M_PURGE, as bionic's does.
inline void purge_free_memory() {
  constexpr int purge_parameter = -101;
  const void* allocator = object_of(reinterpret_cast<const void*>(&malloc));
  const bool has_trim = object_of(reinterpret_cast<const void*>(&malloc_trim)) == allocator;
  const bool has_mallopt = object_of(reinterpret_cast<const void*>(&mallopt)) == allocator;
  if (!has_trim && has_mallopt) mallopt(purge_parameter, 0);
  malloc_trim(0);
}

inline double percent(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// Each of `count` threads takes this much in mixed sizes, frees it and ends.
template <std::size_t count>
inline void fill_and_free(std::size_t bytes_each) {
  std::thread threads[count];
  for (std::size_t i = 0; i < count; ++i) {
    threads[i] = std::thread([i, bytes_each] {
      Random random(i + 1);
      Crowd crowd;
      crowd.take_mixed(random, bytes_each);
      crowd.give_all();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace probe
