// The source of the blocks of B16, B17 and Cm: the heap, or a bounded instance of Talus.
//
// Owns: the choice (--memory heap|bounded|cache), made once, so that the timed loops are the same
// code with other calls. The functions of bounded.h come from the preloaded library, as malloc
// does. "bounded" finds the thread's cache by the instance, "cache" keeps a pointer to it. The
// workload chooses the sizes of pools and caches. Must not know: what is measured.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "talus/bounded.h"
#include "workload.hpp"

namespace bench {

// The heap of malloc, one object for each thread.
struct HeapMemory {
  void* take(size_t bytes) { return bench::take(bytes); }
  void give(void* block) { bench::give(block); }
};

// A benchmark's requirements on an instance.
struct BoundedSetup {
  size_t pools;
  size_t budget_bytes;
  const size_t* capacities;  // one number for each pool
  talus_bounded_start start;
  unsigned flags = 0;  // TALUS_BOUNDED_TOUCH: no page comes later
};

// The instance of the process, and the functions of the preloaded library.
struct BoundedEntry {
  decltype(&talus_bounded_malloc) malloc;
  decltype(&talus_bounded_free) free;
  decltype(&talus_bounded_cache_malloc) cache_malloc;
  decltype(&talus_bounded_cache_free) cache_free;
  decltype(&talus_bounded_cache_new) cache_new;
  decltype(&talus_bounded_stats) stats;
  talus_bounded* instance;
  BoundedSetup setup;

  void open(const BoundedSetup& wanted) {
    decltype(&talus_bounded_new) make = nullptr;
    find(make, "talus_bounded_new");
    find(malloc, "talus_bounded_malloc");
    find(free, "talus_bounded_free");
    find(cache_malloc, "talus_bounded_cache_malloc");
    find(cache_free, "talus_bounded_cache_free");
    find(cache_new, "talus_bounded_cache_new");
    find(stats, "talus_bounded_stats");
    setup = wanted;
    talus_bounded_options options{};
    options.pools = wanted.pools;
    options.budget_bytes = wanted.budget_bytes;
    options.flags = wanted.flags;
    instance = make(&options);
    if (instance == nullptr) leave(exit_no_memory, "no bounded instance");
  }
  talus_bounded_cache* new_cache() const {
    talus_bounded_cache* cache = cache_new(instance, setup.capacities, setup.start);
    if (cache == nullptr) leave(exit_no_memory, "no cache before the bounded instance");
    return cache;
  }

 private:
  template <class Function>
  static void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    if (function == nullptr) leave(exit_wrong_arguments, "the library has no bounded instances");
  }
};
inline BoundedEntry bounded_entry;

inline void* escape(void* block) {
  __asm__ volatile("" : "+r"(block) : : "memory");
  if (block == nullptr) leave(exit_no_memory, "malloc returned null");
  return block;
}

// One for each thread, made on it. The cache ends with the thread.
struct BoundedMemory {
  BoundedMemory() { bounded_entry.new_cache(); }
  void* take(size_t bytes) { return escape(bounded_entry.malloc(bounded_entry.instance, bytes)); }
  void give(void* block) {
    __asm__ volatile("" : "+r"(block) : : "memory");
    bounded_entry.free(bounded_entry.instance, block);
  }
};
struct CacheMemory {
  talus_bounded_cache* cache = bounded_entry.new_cache();

  void* take(size_t bytes) { return escape(bounded_entry.cache_malloc(cache, bytes)); }
  void give(void* block) {
    __asm__ volatile("" : "+r"(block) : : "memory");
    bounded_entry.cache_free(cache, block);
  }
};

enum class Memory { heap, bounded, cache };

// Reads the argument, and makes the instance if it is needed.
inline Memory choose_memory(Arguments& arguments, const BoundedSetup& setup) {
  const char* name = arguments.text("memory", "heap");
  const bool is_cache = std::strcmp(name, "cache") == 0;
  if (std::strcmp(name, "heap") == 0) return Memory::heap;
  if (!is_cache && std::strcmp(name, "bounded") != 0) {
    leave(exit_wrong_arguments, "--memory: heap, bounded or cache");
  }
  bounded_entry.open(setup);
  return is_cache ? Memory::cache : Memory::bounded;
}

// Calls work.run(blocks, thread) with the chosen memory, on the thread that uses it.
template <class Work>
void run_with(Memory memory, Work& work, size_t thread) {
  if (memory == Memory::heap) {
    HeapMemory heap;
    work.run(heap, thread);
  } else if (memory == Memory::bounded) {
    BoundedMemory bounded;
    work.run(bounded, thread);
  } else {
    CacheMemory cache;
    work.run(cache, thread);
  }
}

// Reports the results of the requests; nothing for the heap.
template <class Report>
void add_bounded_counts(Memory memory, Report& result) {
  if (memory == Memory::heap) return;
  const talus_bounded_numbers numbers = bounded_entry.stats(bounded_entry.instance, SIZE_MAX);
  result.count("bounded_hits", numbers.hits);
  result.count("bounded_misses", numbers.misses);
  result.count("bounded_overflows", numbers.overflows);
  result.count("bounded_routed", numbers.routed);
}

}  // namespace bench
