// B20, survey: linked lists of numbers, with one small block for each number.
//
// Measures: the allocator as programs with node containers use it: blocks of one small size, freed
// in the order of allocation.
// Method: --mode single: repeats {a list of 100 numbers, a copy of it, both destroyed}; --mode
// multi: the same in T threads, which share the work; --mode owner: lists of 3e6 numbers, each
// built by one thread and destroyed by another. Figure: nanoseconds per node.
// Differs from its model: more rounds; each list is read through and checked once. The lists'
// allocator calls malloc and free, without an operator new between them.
//
// SPDX-License-Identifier: MIT

#include <list>

#include "workload.hpp"

namespace {

constexpr size_t short_list = 100;
constexpr double rounds_default = 300000;  // of all threads; the model has 30000 in each
constexpr size_t long_list = 3000000;
constexpr double long_lists_default = 10;

template <class Element>
struct PlainMalloc {
  using value_type = Element;

  PlainMalloc() = default;
  template <class Other>
  explicit PlainMalloc(const PlainMalloc<Other>&) {}

  Element* allocate(size_t count) { return bench::take_array<Element>(count); }
  void deallocate(Element* block, size_t) { bench::give(block); }
  bool operator==(const PlainMalloc&) const { return true; }
  bool operator!=(const PlainMalloc&) const { return false; }
};

using List = std::list<uint32_t, PlainMalloc<uint32_t>>;

// Reads exactly the expected number of nodes: a broken list may have no end.
void check(const List& list, size_t count, uint32_t first) {
  auto at = list.begin();
  bool is_intact = list.size() == count;
  for (size_t index = 0; is_intact && index < count; index++, at++)
    is_intact = at != list.end() && *at == first + index;
  if (!is_intact || at != list.end()) {
    bench::leave(bench::exit_wrong_data, "a list lost its numbers: nodes overlap");
  }
}

void fill(List& list, size_t count, uint32_t first) {
  for (size_t index = 0; index < count; index++)
    list.push_back(static_cast<uint32_t>(first + index));
}

struct ShortLists {
  size_t rounds;
  bench::StartGate gate;

  void operator()(size_t thread) {
    bench::Random random(thread);
    gate.wait();
    for (size_t round = 0; round < rounds; round++) {
      const uint32_t first = static_cast<uint32_t>(random.next());
      List list;
      fill(list, short_list, first);
      check(list, short_list, first);
      const List copy(list);
      check(copy, short_list, first);
    }
  }
};

// Thread 0 builds, thread 1 destroys. The list itself is here and has one owner at a time.
struct Owners {
  size_t rounds;
  size_t length;
  List list;
  pthread_barrier_t handed_over;
  bench::StartGate gate;

  void operator()(size_t thread) {
    gate.wait();
    for (size_t round = 0; round < rounds; round++) {
      const uint32_t first = static_cast<uint32_t>(round * 17);
      if (thread == 0) fill(list, length, first);
      pthread_barrier_wait(&handed_over);
      if (thread == 1) {
        check(list, length, first);
        list.clear();
      }
      pthread_barrier_wait(&handed_over);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const char* mode = arguments.text("mode", "single");
  const bool is_owner = std::strcmp(mode, "owner") == 0;
  const bool is_single = std::strcmp(mode, "single") == 0;
  const size_t threads = arguments.threads(is_owner ? 2 : is_single ? 1 : 4);
  const double rounds = arguments.real("rounds", rounds_default) * scale;
  const double long_lists = arguments.real("long-lists", long_lists_default) * scale;
  arguments.finish();
  if (!is_owner && !is_single && std::strcmp(mode, "multi") != 0) {
    bench::leave(bench::exit_wrong_arguments, "--mode must be single, multi or owner");
  }
  if (is_owner ? threads != 2 : is_single && threads != 1) {
    bench::leave(bench::exit_wrong_arguments, "single has one thread, owner has two");
  }

  double elapsed_s = 0;
  uint64_t nodes = 0;
  uint64_t nodes_live = 0;
  if (is_owner) {
    static Owners work;
    work.rounds = bench::scaled(long_lists, 1);
    // Less work than one whole list means a shorter list.
    work.length = bench::scaled(long_list, long_lists < 1 ? long_lists : 1);
    pthread_barrier_init(&work.handed_over, nullptr, 2);
    bench::Team<Owners> team(2, work);
    const double start_s = work.gate.open(2);
    team.join();
    elapsed_s = bench::now_s() - start_s;
    nodes = uint64_t{work.rounds} * work.length;
    nodes_live = work.length;
  } else {
    static ShortLists work;
    work.rounds = bench::scaled(rounds / static_cast<double>(threads), 1);
    bench::Team<ShortLists> team(threads, work);
    const double start_s = work.gate.open(threads);
    team.join();
    elapsed_s = bench::now_s() - start_s;
    nodes_live = 2 * short_list * threads;
    nodes = work.rounds * nodes_live;
  }
  bench::Result result("B20 list survey", threads, elapsed_s * 1e9 / static_cast<double>(nodes),
                       "ns/node", false, 2 * nodes, elapsed_s);
  result.count("peak_requested_bytes", nodes_live * (2 * sizeof(void*) + sizeof(uint64_t)));
  result.print();
  return 0;
}
