// SPDX-License-Identifier: MIT
// fuzz/instances: heaps of one's own: made, used, walked, cleared, destroyed and deleted.
//
// Owns: a row for each heap with its gate, and what is expected of it by where its memory is from.
// Called on: any thread.
#ifndef TALUS_TESTS_FUZZ_INSTANCES_HPP
#define TALUS_TESTS_FUZZ_INSTANCES_HPP

#include "gate.hpp"
#include "places.hpp"
#include "provider.hpp"

namespace fuzz {

constexpr int instance_count = 12;

enum class Memory : int {
  plain,         // as the default heap's
  limited,       // the same, up to a limit
  own_pages,     // TALUS_HEAP_OWN_PAGES
  kernel_bytes,  // a number of the kernel's pages
  buffer,
  preallocated,
  file,
  callbacks,
  node,  // of the machine
  count
};

struct Instance {
  Gate gate;
  std::atomic<bool> is_alive{false};

  // Constant from talus_heap_new to the end.
  talus_heap* handle = nullptr;
  Memory memory = Memory::plain;
  size_t limit_bytes = 0;
  bool has_provider = false;  // or pages of its own
  bool falls_back = false;    // to the kernel's memory
  bool may_fail = false;
  char name[40] = {};
  Buffer buffer;
  CalledRange range;

  // Other threads used it at the fork that made this process: what lies in it is not known.
  bool is_uncertain = false;
};

extern Instance instances[instance_count];
extern std::atomic<uint64_t> instance_total;

// Does nothing where there is one already, or a thread uses it.
void make_instance(int number);
void allocate_in_instance(Place& place, int number);
enum class End { by_clear, by_destroy, by_delete };
void end_instance(int number, End how);
// It is alone with this thread: its blocks, its statistics and its walk agree with the shadow.
void check_instance(int number);
// The same, if no thread uses it now.
void try_check_instance(int number);
// While others use it; the visitor frees some of its blocks.
void walk_instance(int number);

// Runs the body with the gate entered, if the heap is there.
template <typename Body>
inline void use_instance(int number, Body body) {
  Instance& instance = instances[number];
  if (!instance.is_alive.load() || !instance.gate.try_use()) return;
  if (instance.is_alive.load()) body(instance);
  instance.gate.end_use();
}

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_INSTANCES_HPP
