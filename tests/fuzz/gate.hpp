// SPDX-License-Identifier: MIT
// fuzz/gate: the users of a heap at this moment, so that it ends only when it has none.
//
// Owns: one word with the number of users, the number of threads that only free blocks, and two
// bits. Threads may free while a heap is deleted and its blocks live on. The bits: a thread has it
// alone; it is being deleted. No thread waits here: a thread that may not enter does something
// else.
// Called on: any thread.
#ifndef TALUS_TESTS_FUZZ_GATE_HPP
#define TALUS_TESTS_FUZZ_GATE_HPP

#include <stdint.h>

#include <atomic>

namespace fuzz {

class Gate {
 public:
  bool try_use() { return try_add(one_user, alone | deleting); }
  void end_use() { word_.fetch_sub(one_user); }
  bool try_free() { return try_add(one_freer, alone); }
  void end_free() { word_.fetch_sub(one_freer); }
  bool try_have_alone() {
    uint64_t no_user = 0;
    return word_.compare_exchange_strong(no_user, alone);
  }
  bool try_delete() { return try_add(deleting, alone | deleting | users); }
  void end_delete() { word_.fetch_and(~deleting); }
  // By the thread that has it alone; and in the child of a fork, where its users do not exist.
  void open() { word_.store(0); }
  void close_for_ever() { word_.store(alone); }

 private:
  static constexpr uint64_t one_user = 1;
  static constexpr uint64_t one_freer = uint64_t{1} << 20;
  static constexpr uint64_t users = one_freer - 1;
  static constexpr uint64_t deleting = uint64_t{1} << 61;
  static constexpr uint64_t alone = uint64_t{1} << 62;

  bool try_add(uint64_t what, uint64_t refused_by) {
    uint64_t word = word_.load();
    do {
      if (word & refused_by) return false;
    } while (!word_.compare_exchange_weak(word, word + what));
    return true;
  }

  std::atomic<uint64_t> word_{0};
};

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_GATE_HPP
