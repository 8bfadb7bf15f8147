// SPDX-License-Identifier: MIT
// tests/death/guarded_blocks: what is wrong with a guarded block ends the program, and the line and
// the record say which block it was.
//
// Owns: nothing. The mode begins in the child that is to die, so addresses are not known before.
#include <signal.h>
#include <unistd.h>

#include "faults.hpp"
#include "modes/guarded.hpp"
#include "process/start.hpp"

namespace talus::core {
namespace {

using namespace test;

volatile char* guarded_block(size_t bytes, bool is_at_start) {
  const size_t page = os::page_bytes();
  for (;;) {
    void* const block = hide(allocate(bytes));
    const bool begins = reinterpret_cast<uintptr_t>(block) % page == 0;
    if (guarded::guarded.pool->has(reinterpret_cast<uintptr_t>(block)) && begins == is_at_start) {
      return static_cast<volatile char*>(block);
    }
    free_block(block);
  }
}
void free_it(volatile char* block) { free_block(hide(const_cast<char*>(block))); }

void begin_guarded(bool has_report) {
  leave_no_core_file();
  own_cache();
  options.guard = 4096;
  options.guard_report = has_report;
  start_guarded();
}

#define EXPECT_GUARDED_DEATH(has_report, signal, text, ...) \
  EXPECT_EXIT(                                              \
      {                                                     \
        begin_guarded(has_report);                          \
        __VA_ARGS__;                                        \
      },                                                    \
      testing::KilledBySignal(signal), said_like(text))

class GuardedFault : public testing::Test {
 protected:
  void SetUp() override {
    if (sanitizer_handles_faults) GTEST_SKIP() << "the sanitizer handles SIGSEGV";
  }
};

const std::string address = "0x[0-9a-f]+";
const std::string stack = " at( " + address + ")+";
const std::string made = "; allocated by thread [1-9][0-9]*" + stack;
const std::string freed_by = "; freed by thread [1-9][0-9]*" + stack;

// Without the option there is no handler and no line.
TEST_F(GuardedFault, IsTheProgramsOwn) {
  EXPECT_GUARDED_DEATH(false, SIGSEGV, "", guarded_block(64, false)[64] = 1);
}
TEST_F(GuardedFault, OfAnOverrun) {
  EXPECT_GUARDED_DEATH(true, SIGSEGV,
                       "talus: fault at " + address +
                           ", 0 bytes behind the live guarded block of 64 bytes at " + address +
                           made + "\n",
                       guarded_block(64, false)[64] = 1);
}
TEST_F(GuardedFault, OfAnUnderrun) {
  EXPECT_GUARDED_DEATH(true, SIGSEGV,
                       "talus: fault at " + address +
                           ", 3 bytes before the live guarded block of 64 bytes at " + address +
                           made + "\n",
                       guarded_block(64, true)[-3] = 1);
}
TEST_F(GuardedFault, OfAUseAfterFree) {
  EXPECT_GUARDED_DEATH(true, SIGSEGV,
                       "talus: fault at " + address +
                           ", 5 bytes into the freed guarded block of 64 bytes at " + address +
                           made + freed_by + "\n",
                       volatile char* block = guarded_block(64, true);
                       free_it(block); block[5] = 1);
}
// The handler that was there before runs next.
TEST_F(GuardedFault, IsPassedOn) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, [](int) { _exit(7); });
        begin_guarded(true);
        guarded_block(64, false)[64] = 1;
      },
      testing::ExitedWithCode(7), "talus: fault at ");
}

TEST(GuardedMistake, DoubleFree) {
  EXPECT_GUARDED_DEATH(false, SIGABRT,
                       "talus: double free of " + address + " \\(a free block of 64 bytes\\)\n",
                       volatile char* block = guarded_block(64, true);
                       free_it(block); free_it(block));
}
TEST(GuardedMistake, DoubleFreeByAnotherThread) {
  EXPECT_GUARDED_DEATH(false, SIGABRT,
                       "talus: double free of " + address + " \\(a free block of 64 bytes\\)\n",
                       volatile char* block = guarded_block(64, true);
                       free_it(block); on_another_thread([block] { free_it(block); }));
}
TEST(GuardedMistake, FreeOfAnInteriorPointer) {
  EXPECT_GUARDED_DEATH(false, SIGABRT,
                       "talus: invalid free of " + address +
                           " \\(not the start of a block; it points 16 bytes into 64 bytes at " +
                           address + "\\)\n",
                       free_it(guarded_block(64, true) + 16));
}
TEST(GuardedMistake, FreeBehindTheBlock) {
  EXPECT_GUARDED_DEATH(false, SIGABRT, "talus: invalid pointer " + address + " passed to free.*\n",
                       free_it(guarded_block(64, true) + 64));
}
TEST(GuardedMistake, ReallocOfAFreedBlock) {
  EXPECT_GUARDED_DEATH(false, SIGABRT,
                       "talus: use of the freed block " + address +
                           " in realloc\\(\\) \\(a free block of 64 bytes\\)\n",
                       volatile char* block = guarded_block(64, true);
                       free_it(block); hide(reallocate(const_cast<char*>(block), 100)));
}
TEST(GuardedMistake, AWriteBehindABlockThatBeginsAtThePage) {
  EXPECT_GUARDED_DEATH(
      false, SIGABRT,
      "talus: write behind block " + address + " \\(61 bytes; found by free\\(\\)\\)\n",
      volatile char* block = guarded_block(61, true);
      block[61] = 1; free_it(block));
}
TEST(GuardedMistake, AWriteBeforeABlockThatEndsAtThePage) {
  EXPECT_GUARDED_DEATH(
      false, SIGABRT,
      "talus: write before block " + address + " \\(64 bytes; found by free\\(\\)\\)\n",
      volatile char* block = guarded_block(64, false);
      block[-1] = 1; free_it(block));
}

}  // namespace
}  // namespace talus::core
