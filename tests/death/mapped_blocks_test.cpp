// SPDX-License-Identifier: MIT
// tests/death/mapped_blocks: in the mode of mapped blocks, what touches memory beside a block or
// after its end dies there, and the last line says which block it was.
//
// Owns: nothing. The mode begins in the child that is to die, so addresses are not known before.
#include <signal.h>
#include <unistd.h>

#include "faults.hpp"
#include "paths/batch.hpp"
#include "process/start.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TALUS_TEST_OWN_SEGV 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TALUS_TEST_OWN_SEGV 0
#endif
#ifndef TALUS_TEST_OWN_SEGV
#define TALUS_TEST_OWN_SEGV 1  // else the sanitizer handles SIGSEGV itself
#endif

namespace talus::core {
namespace {

using namespace test;

const std::string at = "0x[0-9a-f]+";
const std::string thread = "thread [1-9][0-9]*";
const std::string allocated = ", allocated by " + thread;
const std::string freed = ", freed by " + thread;

volatile char* text_of(void* block) { return static_cast<volatile char*>(hide(block)); }

void begin_mode(HeapMode mode = HeapMode::mapped) {
  leave_no_core_file();
  own_cache();
  options.mode = mode;
  start_mapped();
}

#define EXPECT_DEATH_BY(signal, text, ...) \
  EXPECT_EXIT(                             \
      {                                    \
        begin_mode();                      \
        __VA_ARGS__;                       \
      },                                   \
      testing::KilledBySignal(signal), said_like(text))

class MappedFault : public testing::Test {
 protected:
  void SetUp() override {
    if (!TALUS_TEST_OWN_SEGV) GTEST_SKIP() << "the sanitizer handles SIGSEGV";
  }
};

TEST_F(MappedFault, Overrun) {
  EXPECT_DEATH_BY(SIGSEGV,
                  "talus: fault at " + at + ", 0 bytes behind the live block of 112 bytes at " +
                      at + allocated + "\n",
                  text_of(api::malloc(112))[112] = 1);
  EXPECT_DEATH_BY(SIGSEGV,
                  "talus: fault at " + at + ", 12 bytes behind the live block of 100 bytes at " +
                      at + allocated + "\n",
                  (void)text_of(api::malloc(100))[112]);
  EXPECT_DEATH_BY(SIGSEGV,
                  "talus: fault at " + at + ", 5 bytes behind the live block of 200000 bytes at " +
                      at + allocated + "\n",
                  (void)text_of(api::calloc(200000, 1))[200005]);
}

// The slot behind the newest block was never used, the one behind the first belongs to another.
TEST_F(MappedFault, OverrunByPages) {
  EXPECT_DEATH_BY(SIGSEGV,
                  "talus: fault at " + at + ", 5000 bytes behind the live block of 112 bytes at " +
                      at + allocated + "\n",
                  (void)text_of(api::malloc(112))[5112]);
  EXPECT_DEATH_BY(SIGSEGV,
                  "talus: fault at " + at + ", 5000 bytes behind the freed block of 112 bytes at " +
                      at + allocated + freed + "\n",
                  {
                    void* block = api::malloc(112);
                    hide(api::malloc(20));
                    api::free(block);
                    (void)text_of(block)[5112];
                  });
}

TEST_F(MappedFault, UnderrunByAPage) {
  EXPECT_DEATH_BY(SIGSEGV,
                  "talus: fault at " + at + ", 4200 bytes before the live block of 100 bytes at " +
                      at + allocated + "\n",
                  (void)text_of(api::malloc(100))[-4200]);
}

TEST_F(MappedFault, UnderrunWhereBlocksBeginAtAGuard) {
  EXPECT_EXIT(
      {
        begin_mode(HeapMode::mapped_underrun);
        text_of(api::malloc(100))[-1] = 1;
      },
      testing::KilledBySignal(SIGSEGV),
      said_like("talus: fault at " + at + ", 1 bytes before the live block of 100 bytes at " + at +
                allocated + "\n"));
}

TEST_F(MappedFault, UseAfterFree) {
  EXPECT_DEATH_BY(SIGSEGV,
                  "talus: fault at " + at + ", 7 bytes into the freed block of 100 bytes at " + at +
                      allocated + freed + "\n",
                  {
                    void* block = api::malloc(100);
                    on_another_thread([block] { api::free(block); });
                    text_of(block)[7] = 1;
                  });
  EXPECT_DEATH_BY(SIGSEGV,
                  "talus: fault at " + at + ", 0 bytes into the freed block of 3000000 bytes at " +
                      at + allocated + freed + "\n",
                  {
                    void* block = api::malloc(3000000);
                    api::free(api::realloc(block, 10));
                    (void)*text_of(block);
                  });
}

TEST_F(MappedFault, BlockOfNoBytes) {
  EXPECT_DEATH_BY(SIGSEGV,
                  "talus: fault at " + at + ", 0 bytes behind the live block of 0 bytes at " + at +
                      allocated + "\n",
                  (void)*text_of(api::malloc(0)));
}

TEST_F(MappedFault, OtherFaultsAreNotExplained) {
  EXPECT_DEATH_BY(SIGSEGV, "", *text_of(reinterpret_cast<void*>(8)) = 1);
  EXPECT_DEATH_BY(SIGSEGV, "", *text_of(reinterpret_cast<void*>(uintptr_t{1} << 60)) = 1);
  EXPECT_DEATH_BY(SIGSEGV, "", raise(SIGSEGV));
  EXPECT_DEATH_BY(SIGSEGV, "", kill(getpid(), SIGSEGV));
}

// --- handlers ------------------------------------------------------------------------------------

char* alternate_stack;
constexpr size_t alternate_bytes = 64 * 1024;

void end_by_42(int) { _exit(42); }
void end_if_on_alternate_stack(int, siginfo_t*, void*) {
  char here = 0;
  const bool is_there = &here >= alternate_stack && &here < alternate_stack + alternate_bytes;
  _exit(is_there ? 43 : 1);
}

void handle_on_alternate_stack() {
  alternate_stack = new char[alternate_bytes];
  const stack_t stack{alternate_stack, 0, alternate_bytes};
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = end_if_on_alternate_stack;
  sigaction(SIGSEGV, &action, nullptr);
}

TEST_F(MappedFault, TheHandlerThatWasThereComesNext) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, end_by_42);
        begin_mode();
        text_of(api::malloc(16))[16] = 1;
      },
      testing::ExitedWithCode(42), testing::ContainsRegex("^talus: fault at "));
}

TEST_F(MappedFault, RunsOnTheAlternateStack) {
  EXPECT_EXIT(
      {
        handle_on_alternate_stack();
        begin_mode();
        text_of(api::malloc(16))[16] = 1;
      },
      testing::ExitedWithCode(43), testing::ContainsRegex("^talus: fault at "));
}

TEST_F(MappedFault, ALaterHandlerReplacesIt) {
  EXPECT_EXIT(
      {
        begin_mode();
        signal(SIGSEGV, end_by_42);
        forget_faults();  // which leaves a handler that is not Talus' own
        text_of(api::malloc(16))[16] = 1;
      },
      testing::ExitedWithCode(42), testing::Eq(""));
}

TEST_F(MappedFault, IsGoneBeforeTheCodeIs) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, end_by_42);
        begin_mode();
        forget_faults();
        text_of(api::malloc(16))[16] = 1;
      },
      testing::ExitedWithCode(42), testing::Eq(""));
}

TEST_F(MappedFault, AnIgnoredSignalStaysIgnored) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_IGN);
        begin_mode();
        raise(SIGSEGV);
        _exit(44);
      },
      testing::ExitedWithCode(44), testing::Eq(""));
}

// --- what is noticed when a block is freed -------------------------------------------------------

TEST(MappedBlock, FreedTwice) {
  EXPECT_DEATH_BY(SIGABRT,
                  "talus: double free of " + at + " \\(a freed block of 100 bytes at " + at +
                      allocated + freed + "\\)\n",
                  {
                    void* block = api::malloc(100);
                    api::free(block);
                    on_another_thread([block] { api::free(block); });
                  });
  EXPECT_DEATH_BY(SIGABRT, "talus: double free of .*", {
    void* blocks[2];
    blocks[0] = blocks[1] = api::malloc(100000);
    free_many(blocks, 2);
  });
  // The mode that counts asks for the size first.
  EXPECT_DEATH_BY(SIGABRT, "talus: double free of .*", {
    core::begin_mode(counting::mode);
    void* block = api::malloc(100);
    api::free(block);
    api::free(block);
  });
}

TEST(MappedBlock, UsedInACallAfterFree) {
  for (const bool is_realloc : {true, false}) {
    const std::string call = is_realloc ? "realloc" : "malloc_usable_size";
    EXPECT_DEATH_BY(SIGABRT,
                    "talus: invalid pointer " + at + " passed to " + call +
                        "\\(\\) \\(a freed block of 100 bytes at " + at + allocated + freed +
                        "\\)\n",
                    {
                      void* block = hide(api::malloc(100));
                      api::free(block);
                      is_realloc ? api::realloc(block, 5) : nullptr;
                      api::malloc_usable_size(block);
                    });
  }
}

TEST(MappedBlock, FreedInItsMiddle) {
  EXPECT_DEATH_BY(SIGABRT,
                  "talus: invalid free of " + at +
                      " \\(not the start of a block; it points 16 "
                      "bytes into 100 bytes at " +
                      at + "\\)\n",
                  api::free(hide(static_cast<char*>(api::malloc(100)) + 16)));
  EXPECT_DEATH_BY(SIGABRT, "talus: invalid pointer " + at + " passed to free.*",
                  api::free(hide(static_cast<char*>(api::malloc(100)) - 16)));
}

TEST(MappedBlock, WrittenBehindOrBeforeWherePagesAllowIt) {
  const std::string noticed =
      ", allocated by " + thread + "; noticed when freed by " + thread + "\n";
  const std::string block = " the block of 100 bytes at " + at;
  EXPECT_DEATH_BY(SIGABRT, "talus: write at " + at + ", 3 bytes behind" + block + noticed, {
    volatile char* text = text_of(api::malloc(100));
    text[103] = 'x';
    api::free(hide(const_cast<char*>(text)));
  });
  EXPECT_DEATH_BY(SIGABRT, "talus: write at " + at + ", 2 bytes before" + block + noticed, {
    volatile char* text = text_of(api::malloc(100));
    text[-2] = 'x';
    text[-30] = 'x';
    api::free(api::realloc(hide(const_cast<char*>(text)), 200));
  });
}

}  // namespace
}  // namespace talus::core
