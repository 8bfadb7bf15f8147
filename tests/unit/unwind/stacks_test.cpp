// SPDX-License-Identifier: MIT
// tests/unit/unwind/stacks: stacks of all kinds, their bounds, and frames that lie.
#include <gtest/gtest.h>

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "compared.hpp"
#include "effort.hpp"
#include "programs/shapes.hpp"

namespace talus::core {
namespace {

using test::Comparison;
using unwind::Walk;
using unwind::WalkEnd;

struct Seen {
  Walk walk;
  uintptr_t addresses[256] = {};
  unwind::StackBounds bounds;

  static void look(void* with) {
    auto& to = *static_cast<Seen*>(with);
    to.walk = test::unwinder().walk(to.bounds, to.addresses, 256);
  }
  // Calls of the kernel on the way would be one for each page.
  bool knows_own_stack() const {
    return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - bounds.low <
           bounds.high - bounds.low;
  }
};

TEST(Stacks, OfTheFirstThread) {
  Seen seen;
  test::dive(20, Seen::look, &seen);
  EXPECT_EQ(seen.walk.end, WalkEnd::outermost);
  EXPECT_GT(seen.walk.frames, 20u);
  EXPECT_TRUE(seen.knows_own_stack());
}

// Frames are ten times as large under AddressSanitizer.
constexpr size_t small_bytes = test::under_asan ? 262144 : 16384;

// A stack as small as libc allows.
TEST(Stacks, OfASmallThread) {
  struct Small {
    Seen seen;
    bool is_known = false;
    static void* run(void* with) {
      auto& small = *static_cast<Small*>(with);
      test::dive(20, Seen::look, &small.seen);
      small.is_known = small.seen.knows_own_stack();
      return nullptr;
    }
  };
  static Small small;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const size_t bytes = std::max<size_t>(small_bytes, PTHREAD_STACK_MIN);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, Small::run, &small), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  if (test::has_libc_tables) EXPECT_EQ(small.seen.walk.end, WalkEnd::outermost);
  EXPECT_GT(small.seen.walk.frames, 20u);
  EXPECT_TRUE(small.is_known);
}

// A stack of 16 KiB, as of a coroutine, between pages without access.
class Coroutine {
 public:
  static constexpr size_t bytes = small_bytes, guard = 131072, all_bytes = bytes + 2 * guard;

  Coroutine() {
    void* memory = mmap(nullptr, all_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    at_ = static_cast<char*>(memory);
    mprotect(at_ + guard, bytes, PROT_READ | PROT_WRITE);
  }
  ~Coroutine() { munmap(at_, all_bytes); }
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  char* bottom() { return at_ + guard; }
  bool has(uintptr_t address) const {
    return address - reinterpret_cast<uintptr_t>(at_) < all_bytes;
  }
  void run(void (*act)()) {
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = bottom();
    inside_.uc_stack.ss_size = bytes;
    inside_.uc_link = &outside_;
    makecontext(&inside_, act, 0);
    swapcontext(&outside_, &inside_);
  }

 private:
  char* at_;
  ucontext_t inside_, outside_;
};

Seen* seen_inside = nullptr;
Comparison* compared_inside = nullptr;

TEST(Stacks, OfCoroutines) {
  Seen seen;
  Comparison comparison;
  seen_inside = &seen;
  compared_inside = &comparison;
  for (int round = 0; round < 50; round++) {
    Coroutine coroutine;
    coroutine.run([] {
      test::dive(10, Seen::look, seen_inside);
      test::dive(10, Comparison::look, compared_inside);
    });
    EXPECT_NE(seen.walk.end, WalkEnd::bad_stack);
    EXPECT_GT(seen.walk.frames, 10u);
    EXPECT_FALSE(coroutine.has(seen.bounds.low) && seen.bounds.high != 0) << "not the thread's own";
    test::dive(10, Seen::look, &seen);
    EXPECT_EQ(seen.walk.end, WalkEnd::outermost);
    EXPECT_TRUE(seen.knows_own_stack());
  }
  EXPECT_EQ(comparison.equal, comparison.frames);
}

// Functions whose tables say what is not so. Each calls act(with).
extern "C" void talus_test_liar_far(void (*act)(void*), void* with);
extern "C" void talus_test_liar_loop(void (*act)(void*), void* with);
extern "C" void talus_test_liar_odd(void (*act)(void*), void* with);
extern "C" void talus_test_untold(void (*act)(void*), void* with);
// How each processor saves the return address, what tables say of that, and the call and return.
#if defined(__x86_64__)
#define TALUS_TEST_BEFORE "subq $8, %rsp\n"
#define TALUS_TEST_TOLD ""
#define TALUS_TEST_REST "movq %rdi, %rax\nmovq %rsi, %rdi\ncall *%rax\naddq $8, %rsp\nret\n"
#elif defined(__aarch64__)
#define TALUS_TEST_BEFORE "stp x29, x30, [sp, -16]!\n"
#define TALUS_TEST_TOLD ".cfi_offset 30, -8\n.cfi_offset 29, -16\n"
#define TALUS_TEST_REST "mov x2, x0\nmov x0, x1\nblr x2\nldp x29, x30, [sp], 16\nret\n"
#elif defined(__riscv)
#define TALUS_TEST_BEFORE "addi sp, sp, -16\nsd ra, 8(sp)\n"
#define TALUS_TEST_TOLD ".cfi_offset ra, -8\n"
#define TALUS_TEST_REST "mv t0, a0\nmv a0, a1\njalr t0\nld ra, 8(sp)\naddi sp, sp, 16\nret\n"
#elif defined(__powerpc64__)
#define TALUS_TEST_BEFORE "mflr 0\nstd 0, 16(1)\nstdu 1, -32(1)\n"
#define TALUS_TEST_TOLD ".cfi_offset 65, 16\n"
#define TALUS_TEST_REST                 \
  "mtctr 3\nmr 12, 3\nmr 3, 4\nbctrl\n" \
  "addi 1, 1, 32\nld 0, 16(1)\nmtlr 0\nblr\n"
#elif defined(__s390x__)
#define TALUS_TEST_BEFORE "stmg %r14, %r15, 112(%r15)\naghi %r15, -160\n"
#define TALUS_TEST_TOLD ".cfi_offset %r14, -48\n.cfi_offset %r15, -40\n"
#define TALUS_TEST_REST \
  "lgr %r1, %r2\nlgr %r2, %r3\nbasr %r14, %r1\nlmg %r14, %r15, 272(%r15)\nbr %r14\n"
#endif
#define TALUS_TEST_FUNCTION(name, cfi)                                                 \
  asm(".text\n.type " #name ", %function\n" #name                                      \
      ":\n.cfi_startproc\n" TALUS_TEST_BEFORE TALUS_TEST_TOLD cfi "\n" TALUS_TEST_REST \
      ".cfi_endproc\n")
asm(".text\n.type talus_test_untold, %function\ntalus_test_untold:\n" TALUS_TEST_BEFORE
        TALUS_TEST_REST);
TALUS_TEST_FUNCTION(talus_test_liar_far, ".cfi_def_cfa_offset 65536");
TALUS_TEST_FUNCTION(talus_test_liar_loop, ".cfi_def_cfa_offset 0");
TALUS_TEST_FUNCTION(talus_test_liar_odd, ".cfi_def_cfa_offset 17");

template <auto Liar>
Walk walk_past() {
  static Seen seen;
  seen = Seen{};
  Coroutine coroutine;
  coroutine.run([] { Liar(Seen::look, &seen); });
  return seen.walk;
}

TEST(Stacks, TablesThatLieEndTheWalk) {
  EXPECT_EQ(walk_past<talus_test_liar_far>().end, WalkEnd::bad_stack) << "beyond the stack";
  EXPECT_EQ(walk_past<talus_test_liar_loop>().end, WalkEnd::bad_stack) << "no way up";
  EXPECT_EQ(walk_past<talus_test_liar_odd>().end, WalkEnd::no_rule) << "no whole words";
  const Walk walk = walk_past<talus_test_untold>();
  EXPECT_EQ(walk.end, WalkEnd::no_rule) << "code without tables";
  EXPECT_EQ(walk.frames, 2u);
}

// Code that no module has, as a just-in-time compiler makes it.
TEST(Stacks, CodeOfNoModuleEndsTheWalk) {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::memcpy(page, reinterpret_cast<const void*>(&talus_test_untold), 64);
  ASSERT_EQ(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
  __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + 64);
  Seen seen;
  reinterpret_cast<decltype(&talus_test_untold)>(page)(Seen::look, &seen);
  EXPECT_EQ(seen.walk.end, WalkEnd::no_module);
  ASSERT_EQ(seen.walk.frames, 2u);
  EXPECT_EQ(seen.addresses[1] & ~uintptr_t{4095}, reinterpret_cast<uintptr_t>(page));
  munmap(page, 4096);
}

// Signals come between any two instructions: in libc, in the kernel's image, in prologues.
Comparison* of_timer = nullptr;
TEST(Stacks, SignalsAtAnyInstruction) {
  Comparison comparison;
  of_timer = &comparison;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {
    const int error = errno;
    of_timer->compare();
    errno = error;
  };
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGPROF, &action, &before), 0);
  itimerval often{{0, 1000}, {0, 1000}}, never{};
  ASSERT_EQ(setitimer(ITIMER_PROF, &often, nullptr), 0);
  const clock_t end = clock() + CLOCKS_PER_SEC / 3;
  uint64_t sum = 0;
  while (clock() < end) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    char text[100];
    sum += static_cast<uint64_t>(std::snprintf(text, sizeof text, "%ld", now.tv_nsec));
    test::dive(
        5, [](void*) {}, nullptr);
  }
  setitimer(ITIMER_PROF, &never, nullptr);
  sigaction(SIGPROF, &before, nullptr);
  EXPECT_GT(sum, 0u);
  EXPECT_GT(comparison.walks, 5u);
  EXPECT_GE(comparison.share(), 0.99) << comparison.equal << " of " << comparison.frames;
}

#if defined(__x86_64__)
// The same after each instruction.
TEST(Stacks, OneInstructionAfterAnother) {
  Comparison comparison;
  of_timer = &comparison;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { of_timer->compare(); };
  ASSERT_EQ(sigaction(SIGTRAP, &action, &before), 0);
  constexpr uint64_t trap_flag = 0x100;
  asm volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "r"(trap_flag) : "memory", "cc");
  char text[100];
  std::snprintf(text, sizeof text, "%d %s %g", 4711, "words", 1.5);
  test::dive(
      3, [](void*) {}, nullptr);
  asm volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" : : "r"(~trap_flag) : "memory", "cc");
  sigaction(SIGTRAP, &before, nullptr);
  if (comparison.walks < 100) GTEST_SKIP() << "the kernel lets no program step";
  EXPECT_GE(comparison.share(), 0.99) << comparison.equal << " of " << comparison.frames;
}
#endif

}  // namespace
}  // namespace talus::core
