// SPDX-License-Identifier: MIT
// tests/death/checked_blocks: in the checked mode each invalid free and resize stops at once, and
// the line says what the address is.
//
// Owns: nothing. The mode begins in the child that is to die, before its first block of a class
// that no other test uses; so addresses are not known before.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "faults.hpp"
#include "api/extended.hpp"
#include "api/heaps.hpp"
#include "api/new.hpp"
#include "paths/batch.hpp"
#include "process/start.hpp"

namespace talus::core {
namespace {

using namespace test;

const std::string place = "0x[0-9a-f]+";

void begin_checked() {
  begin_classes_anew();
  options.mode = HeapMode::checked;
  checked::begin();
}

// What the kept blocks of a slab from before the mode would hide: a block of a slab with states.
void* new_block(size_t bytes) {
  for (int tries = 0; tries < 5000; tries++) {
    void* block = hide(api::malloc(bytes));
    const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
    if (!word.is_slab() || checked::slab_at(block).states != nullptr) return block;
  }
  return nullptr;
}

#define EXPECT_STOP(text, ...) \
  EXPECT_EXIT(                 \
      {                        \
        begin_checked();       \
        __VA_ARGS__;           \
        _exit(0);              \
      },                       \
      testing::KilledBySignal(SIGABRT), said_like(text))

std::string double_free_of(const char* bytes) {
  return "talus: double free of " + place + " \\(a free block of " + bytes + " bytes\\)\n";
}
std::string use_of_freed(const char* bytes, const char* call) {
  return "talus: use of the freed block " + place + " in " + call + "\\(\\) \\(a free block of " +
         bytes + " bytes\\)\n";
}

TEST(CheckedFault, DoubleFreeAtOnce) {
  EXPECT_STOP(double_free_of("64"), {
    void* block = new_block(64);
    api::free(block);
    api::free(block);
  });
  EXPECT_STOP(double_free_of("5120"), {
    void* block = new_block(5000);
    api::free(block);
    api::free(block);
  });
  EXPECT_STOP(double_free_of("40960"), {
    void* block = new_block(40960);
    api::free(block);
    api::free(block);
  });
  EXPECT_STOP(double_free_of("303104"), {
    void* block = new_block(300000);
    api::free(block);
    api::free(block);
  });
}

// The default looks at the two uppermost blocks of a list. Here others were freed since, and the
// list was flushed. Each second block stays, so that the slab does.
TEST(CheckedFault, DoubleFreeAfterManyOthers) {
  EXPECT_STOP(double_free_of("64"), {
    std::vector<void*> blocks;
    void* block = new_block(64);
    for (int i = 0; i < 20000; i++) blocks.push_back(hide(api::malloc(64)));
    api::free(block);
    for (size_t i = 0; i < blocks.size(); i += 2) api::free(blocks[i]);
    api::free(block);
  });
}

TEST(CheckedFault, DoubleFreeByAnotherThread) {
  for (const char* bytes : {"64", "5120", "40960"}) {
    EXPECT_STOP(double_free_of(bytes), {
      void* block = new_block(static_cast<size_t>(atol(bytes)));
      api::free(block);
      on_another_thread([block] { api::free(block); });
    });
    EXPECT_STOP(double_free_of(bytes), {
      void* block = new_block(static_cast<size_t>(atol(bytes)));
      on_another_thread([block] { api::free(block); });
      api::free(block);
    });
    EXPECT_STOP(double_free_of(bytes), {
      void* block = new_block(static_cast<size_t>(atol(bytes)));
      on_another_thread([block] { api::free(block); });
      on_another_thread([block] { api::free(block); });
    });
  }
}

// Two threads free each block at the same instant. A free that does not stop is found when the
// block would be given again.
TEST(CheckedFault, ConcurrentDoubleFreeNeverGivesABlockTwice) {
  EXPECT_STOP(double_free_of("64"), {
    std::atomic<int> turn{0};
    constexpr int rounds = 2000;
    std::vector<void*> blocks(rounds);
    for (void*& block : blocks) block = new_block(64);
    const auto free_each = [&](int me) {
      for (int i = 0; i < rounds; i++) {
        turn.fetch_add(1);
        while (turn.load() < 2 * (i + 1)) sched_yield();
        api::free(blocks[static_cast<size_t>(i + 0 * me)]);
      }
    };
    std::thread other([&] { free_each(1); });
    free_each(0);
    other.join();
    for (int i = 0; i < 3 * rounds; i++) hide(api::malloc(64));
  });
}

TEST(CheckedFault, ConcurrentDoubleFreeOfLargeBlocks) {
  for (const size_t bytes : {320 * kib, 3 * mib}) {
    for (int round = 0; round < thread_rounds(50); round++) {
      EXPECT_STOP("talus: (double free of|invalid pointer) " + place + " .*\n", {
        void* block = hide(api::malloc(bytes));
        at_once([&] { api::free(block); }, [&] { api::free(block); });
      });
      if (HasFailure()) return;
    }
  }
}

TEST(CheckedFault, InsideABlock) {
  for (const size_t bytes : {64u, 5000u, 40000u, 300000u}) {
    EXPECT_STOP("talus: invalid free of " + place + " \\(not the start of a block; it points 16 " +
                    "bytes into [0-9]+ bytes at " + place + "\\)\n",
                api::free(static_cast<char*>(new_block(bytes)) + 16));
  }
}

TEST(CheckedFault, NeverGiven) {
  EXPECT_STOP("talus: invalid pointer " + place +
                  " passed to free\\(\\) \\(no call returned this block of 64 bytes\\)\n",
              {
                char* block = static_cast<char*>(new_block(64));
                api::free(block + 64 * 100);
              });
  EXPECT_STOP("talus: invalid pointer " + place + " passed to free\\(\\) \\(not a block.*\n",
              api::free(hide(&place)));
}

TEST(CheckedFault, ResizeOfAFreedBlock) {
  for (const char* bytes : {"64", "5120", "40960"}) {
    EXPECT_STOP(use_of_freed(bytes, "realloc"), {
      void* block = new_block(static_cast<size_t>(atol(bytes)));
      api::free(block);
      hide(api::realloc(block, 100000));
    });
    EXPECT_STOP(use_of_freed(bytes, "realloc"), {
      void* block = new_block(static_cast<size_t>(atol(bytes)));
      on_another_thread([block] { api::free(block); });
      hide(api::expand_in_place(block, 1));
    });
  }
  EXPECT_STOP("talus: invalid pointer " + place + " passed to realloc\\(\\) \\(not a block.*\n", {
    void* block = new_block(300000);
    api::free(block);
    hide(api::realloc(block, 10));
  });
}

// These calls only ask, or write to the block before they free it.
TEST(CheckedFault, SizeOfAFreedBlock) {
  for (const char* bytes : {"64", "5120", "40960"}) {
    EXPECT_STOP(use_of_freed(bytes, "malloc_usable_size"), {
      void* block = new_block(static_cast<size_t>(atol(bytes)));
      api::free(block);
      hide(reinterpret_cast<void*>(api::malloc_usable_size(block)));
    });
    EXPECT_STOP(use_of_freed(bytes, "malloc_usable_size"), {
      void* block = new_block(static_cast<size_t>(atol(bytes)));
      on_another_thread([block] { api::free(block); });
      hide(reinterpret_cast<void*>(api::malloc_usable_size(block)));
    });
    EXPECT_STOP(use_of_freed(bytes, "recallocarray"), {
      void* block = new_block(static_cast<size_t>(atol(bytes)));
      api::free(block);
      hide(api::recallocarray(block, 1, 2, 20));
    });
    EXPECT_STOP(double_free_of(bytes), {
      char* block = static_cast<char*>(new_block(static_cast<size_t>(atol(bytes))));
      api::free(block);
      api::freezero(block, 30);
    });
  }
  EXPECT_STOP("talus: invalid pointer " + place + " passed to malloc_usable_size\\(\\) .*\n", {
    void* block = new_block(300000);
    api::free(block);
    hide(reinterpret_cast<void*>(api::malloc_usable_size(block)));
  });
  EXPECT_STOP("talus: invalid pointer " + place + " passed to malloc_usable_size\\(\\) " +
                  "\\(no call returned this block of 64 bytes\\)\n",
              {
                char* block = static_cast<char*>(new_block(64));
                hide(reinterpret_cast<void*>(api::malloc_usable_size(block + 64 * 100)));
              });
  EXPECT_STOP("talus: invalid free of " + place + " \\(not the start.*\n", {
    char* block = static_cast<char*>(new_block(64));
    hide(reinterpret_cast<void*>(api::malloc_usable_size(block + 16)));
  });
}

TEST(CheckedFault, FreeOfABlockThatMoved) {
  EXPECT_STOP(double_free_of("64"), {
    void* block = new_block(64);
    void* moved = hide(api::realloc(block, 2000));
    if (moved == block) _exit(1);
    api::free(block);
  });
}

TEST(CheckedFault, OfABatch) {
  EXPECT_STOP(double_free_of("64"), {
    void* blocks[10];
    for (void*& block : blocks) block = new_block(64);
    blocks[9] = blocks[2];
    api::free_batch(blocks, 10);
  });
}

TEST(CheckedFault, InTheChildOfAFork) {
  EXPECT_STOP(double_free_of("64"), {
    void* block = new_block(64);
    api::free(block);
    const pid_t child = fork();
    if (child == 0) api::free(block);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) abort();
  });
}

constexpr CallKind one = CallKind::one, array = CallKind::array;

TEST(CheckedFault, KindsOfCallsOnRequest) {
  const auto text = [](const char* made_by, const char* call) {
    return "talus: mismatched free of " + place + " \\(a block of [0-9]+ bytes from " + made_by +
           ", passed to " + call + "\\)\n";
  };
  for (const size_t bytes : {64u, 300000u}) {
    EXPECT_STOP(text("operator new", "free"), {
      options.check_kinds = true;
      flush_lists(own_cache());
      for (int i = 0; i < 2000; i++) hide(api::malloc(bytes));
      api::free(hide(api::new_block<one>(bytes)));
    });
    EXPECT_STOP(text("malloc", "operator delete"), {
      options.check_kinds = true;
      api::delete_block<one>(new_block(bytes));
    });
    EXPECT_STOP(text("operator new\\[\\]", "operator delete"), {
      options.check_kinds = true;
      for (int i = 0; i < 2000; i++) hide(api::malloc(bytes));
      api::delete_block<one>(hide(api::new_block<array>(bytes)));
    });
  }
}

TEST(CheckedFault, SizesOnRequest) {
  EXPECT_STOP(
      "talus: wrong size in the free of " + place + " \\(200 bytes, of a block of 64 bytes\\)\n", {
        options.check_sizes = true;
        api::free_sized(new_block(64), 200);
      });
}

// A medium block of the next class may serve, and a resize without memory keeps the block.
TEST(CheckedFault, SizesOfBlocksThatAreLargerThanUsual) {
  EXPECT_EXIT(
      {
        begin_checked();
        options.check_sizes = true;
        api::free(new_block(80000));
        void* block = new_block(58923);
        const bool is_larger = api::malloc_usable_size(block) == 81920;
        api::free_sized(block, 58923);
        _exit(is_larger ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        begin_checked();
        options.check_sizes = true;
        talus_heap_options limited{};
        limited.limit_bytes = 1 << 20;
        talus_heap* heap = api::heap_new(&limited);
        void* block = hide(api::heap_malloc(heap, 20000));
        while (api::heap_malloc(heap, 100) != nullptr) {}
        const bool stays = api::heap_realloc(heap, block, 100) == block;
        api::free_sized(block, 100);
        _exit(stays ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// What a right program does, with all that is looked at.
TEST(CheckedFault, RightCallsPass) {
  EXPECT_EXIT(
      {
        begin_checked();
        options.check_kinds = options.check_sizes = true;
        for (int i = 0; i < thread_rounds(3000); i++) {
          const size_t bytes = static_cast<size_t>(i) * 37 % 9000;
          api::free_sized(hide(api::malloc(bytes)), bytes);
          api::delete_block<one>(hide(api::new_block<one>(bytes)), bytes);
          api::delete_block<array>(hide(api::new_block<array>(bytes)), bytes);
          void* block = hide(api::calloc(1, bytes));
          block = hide(api::realloc(block, 2 * bytes + 1));
          on_another_thread([block] { api::free(block); });
          api::free(hide(api::aligned_alloc(256, bytes)));
        }
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(CheckedFault, BesideCounting) {
  EXPECT_STOP(double_free_of("64"), {
    begin_mode(counting::mode);
    void* block = new_block(64);
    api::free(block);
    api::free(block);
  });
}

}  // namespace
}  // namespace talus::core
