// SPDX-License-Identifier: MIT
// tests/unit/unwind/compared: a walk beside libgcc's, frame by frame.
#ifndef TALUS_TESTS_UNIT_UNWIND_COMPARED_HPP
#define TALUS_TESTS_UNIT_UNWIND_COMPARED_HPP

#include <gtest/gtest.h>

#include <link.h>
#include <unwind.h>

#include <atomic>
#include <cstdio>

#include "unwind/unwinder.hpp"

// glibc has it from 2.35 on.
extern "C" __attribute__((weak)) int talus_test_find_object(
    void* code, talus::core::unwind::FoundObject* found) __asm__("_dl_find_object");
extern "C" int talus_test_list_objects(int (*visit)(talus::core::unwind::ListedObject*, size_t,
                                                    void*),
                                       void* with) __asm__("dl_iterate_phdr");

namespace talus::core::test {

namespace unwind = core::unwind;
constexpr size_t frames_max = 4096;

struct Frames {
  uintptr_t addresses[frames_max];
  unwind::Walk walk;
};

// As libgcc sees the stack of its caller, with the addresses of a walk.
inline __attribute__((noinline)) size_t walk_by_libgcc(uintptr_t* addresses, size_t count_max) {
  struct Found {
    uintptr_t* addresses;
    size_t frames, count_max;
  } found{addresses, 0, count_max};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* with) {
        auto& to = *static_cast<Found*>(with);
        if (to.frames == to.count_max) return _URC_END_OF_STACK;
        int is_exact = 0;
        const uintptr_t address = _Unwind_GetIPInfo(context, &is_exact);
        if (address != 0) to.addresses[to.frames++] = address + (is_exact != 0 ? 1 : 0);
        return _URC_NO_REASON;
      },
      &found);
  return found.frames;
}

// Where the walks of all tests of a process learn.
inline unwind::Unwinder& unwinder() {
  static unwind::Unwinder one;
  static const bool is_ready = one.begin({&talus_test_find_object, &talus_test_list_objects});
  EXPECT_TRUE(is_ready);
  return one;
}

inline unwind::StackBounds& own_bounds() {
  static thread_local unwind::StackBounds bounds;
  return bounds;
}

inline unwind::LastWalk& own_last_walk() {
  static thread_local unwind::LastWalk last;
  return last;
}

// Walks both ways, and counts. Safe in handlers of signals. A walk that recalls the last one finds
// the same.
struct Comparison {
  std::atomic<uint64_t> walks{0}, frames{0}, equal{0}, outermost{0};
  unwind::Unwinder* by = &unwinder();

  __attribute__((noinline)) void compare() {
    uintptr_t own[512], by_libgcc[512];
    const bool recalls = (walks & 1) != 0;
    const unwind::Walk walk =
        by->walk(own_bounds(), own, 512, recalls ? &own_last_walk() : nullptr);
    const size_t expected = walk_by_libgcc(by_libgcc, 512);
    // The first of libgcc is walk_by_libgcc; the first of both that stand for this function differ.
    walks++;
    frames += expected - 2;
    size_t same = 0;
    while (same + 1 < walk.frames && same + 2 < expected && own[same + 1] == by_libgcc[same + 2]) {
      same++;
    }
    equal += same;
    if (walk.end == unwind::WalkEnd::outermost) outermost++;
    if (same + 2 != expected || walk.frames + 1 != expected) note(walk, own, by_libgcc, expected);
  }
  static void look(void* with) { static_cast<Comparison*>(with)->compare(); }

  double share() const { return static_cast<double>(equal) / static_cast<double>(frames); }

 private:
  // Tells the first difference.
  void note(unwind::Walk walk, const uintptr_t* own, const uintptr_t* by_libgcc, size_t expected) {
    if (notes++ > 0) return;
    std::fprintf(stderr, "a walk ended by %d\n", static_cast<int>(walk.end));
    for (size_t i = 0; i < walk.frames + 1 || i < expected; i++) {
      std::fprintf(stderr, "  %zu: %#zx, by libgcc %#zx\n", i,
                   i >= 1 && i < walk.frames + 1 ? size_t{own[i - 1]} : 0,
                   i < expected ? size_t{by_libgcc[i]} : 0);
    }
  }
  std::atomic<int> notes{0};
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_UNWIND_COMPARED_HPP
