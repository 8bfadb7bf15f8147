// SPDX-License-Identifier: MIT
// tests/death/large_blocks: blocks of their own range that are freed or resized wrongly.
//
// Owns: nothing. A thread keeps a few freed blocks of moderate size, whose descriptors still tell
// that they are free; ranges that went back are no block of anyone's.
#include <unistd.h>

#include "faults.hpp"

namespace talus::core {
namespace {

using namespace test;

constexpr size_t kept_bytes = 320 * kib;
constexpr size_t given_bytes = 3 * mib;
static_assert(kept_bytes <= large_kept_slices * slice_bytes &&
              given_bytes > large_kept_slices * slice_bytes);

struct Large {
  void* block;
  explicit Large(size_t bytes) : block(api::malloc(bytes)) {}
  ~Large() { api::free(block); }
  void* at(size_t offset) const { return hide(static_cast<char*>(block) + offset); }
};

TEST(LargeBlock, FreedTwice) {
  const Large large{given_bytes};
  EXPECT_FAULT(foreign_text(large.block, "free"), {
    api::free(large.block);
    api::free(large.block);
  });
}

TEST(LargeBlock, FreedTwiceWhileItIsKept) {
  const Large large{kept_bytes};
  EXPECT_FAULT(double_free_text(large.block, kept_bytes), {
    api::free(large.block);
    api::free(large.block);
  });
}

TEST(LargeBlock, FreedByTwoThreads) {
  const Large large{kept_bytes};
  EXPECT_FAULT(double_free_text(large.block, kept_bytes), {
    api::free(large.block);
    on_another_thread([&] { api::free(large.block); });
  });
}

// What one thread reads of the block, the other one is just changing. Each round is a new child.
constexpr int rounds = thread_rounds(100);
const std::string either_fault = "talus: (double free of|invalid pointer) 0x[0-9a-f]+ .*\n";

TEST(LargeBlock, FreedByTwoThreadsAtOnce) {
  for (const size_t bytes : {kept_bytes, given_bytes}) {
    for (int round = 0; round < rounds; round++) {
      EXPECT_EXIT(
          {
            leave_no_core_file();
            void* block = hide(api::malloc(bytes));
            at_once([&] { api::free(block); }, [&] { api::free(block); });
          },
          testing::KilledBySignal(SIGABRT), said_like(either_fault));
      if (HasFailure()) return;
    }
  }
}

// The block moves, because another one lies behind it.
TEST(LargeBlock, FreedWhileAnotherThreadResizesIt) {
  for (const size_t bytes : {kept_bytes, given_bytes}) {
    for (int round = 0; round < rounds; round++) {
      EXPECT_EXIT(
          {
            leave_no_core_file();
            void* block = hide(api::malloc(bytes));
            at_once([&] { api::realloc(block, 20 * bytes); }, [&] { api::free(block); });
            _exit(0);  // it grew in place before the other thread freed it
          },
          [](int status) {
            return testing::KilledBySignal(SIGABRT)(status) || testing::ExitedWithCode(0)(status);
          },
          said_like(either_fault + "|"));
      if (HasFailure()) return;
    }
  }
}

TEST(LargeBlock, ResizedAfterFree) {
  const Large kept{kept_bytes};
  EXPECT_FAULT(foreign_text(kept.block, "realloc"), {
    api::free(kept.block);
    api::realloc(kept.block, 2 * kept_bytes);
  });
  EXPECT_FAULT(foreign_text(kept.block, "realloc"), {
    api::free(kept.block);
    api::realloc(kept.block, kept_bytes);  // which would stay where it is
  });
  const Large given{given_bytes};
  EXPECT_FAULT(foreign_text(given.block, "realloc"), {
    api::free(given.block);
    api::realloc(given.block, 2 * given_bytes);
  });
}

// Sizes that are asked for often are blocks of slabs (docs/decisions/0041). Their second frees are
// told, too.
constexpr size_t often_bytes = 290 * 1000;

struct Often {
  void* blocks[12];
  Often() {
    for (void*& block : blocks) block = api::malloc(often_bytes);
  }
  ~Often() {
    for (void* block : blocks) api::free(block);
  }
  void* last() const { return hide(blocks[11]); }
};

TEST(OftenAskedLargeBlock, FreedTwice) {
  const Often often;
  const std::string text = double_free_text(often.last(), api::malloc_usable_size(often.last()));
  EXPECT_FAULT(text, {
    api::free(often.last());
    api::free(often.last());
  });
  EXPECT_FAULT(text, {
    api::free(often.last());
    api::free(often.blocks[10]);
    api::free(often.blocks[9]);
    api::free(often.last());
  });
  EXPECT_FAULT(text, {
    api::free(often.last());
    on_another_thread([&] { api::free(often.last()); });
  });
  EXPECT_FAULT(text, {
    on_another_thread([&] { api::free(often.last()); });
    api::free(often.last());
  });
  EXPECT_FAULT(text, on_another_thread([&] {
                 api::free(often.last());
                 api::free(often.last());
               }));
}

TEST(OftenAskedLargeBlock, FreedByTwoThreadsAtOnce) {
  for (int round = 0; round < rounds; round++) {
    EXPECT_EXIT(
        {
          leave_no_core_file();
          const Often often;
          at_once([&] { api::free(often.last()); }, [&] { api::free(often.last()); });
        },
        testing::KilledBySignal(SIGABRT), said_like(either_fault));
    if (HasFailure()) return;
  }
}

TEST(OftenAskedLargeBlock, AskedForOrResizedAfterFree) {
  const Often often;
  const size_t usable = api::malloc_usable_size(often.last());
  // Where the block lies decides what stops it: a look at the slab, or the end of the old block.
  EXPECT_EXIT(
      {
        leave_no_core_file();
        api::free(often.last());
        api::realloc(often.last(), 100);
      },
      testing::KilledBySignal(SIGABRT),
      said_like("talus: (double free of|use of the freed block) 0x[0-9a-f]+ .*\n"));
  for (const size_t bytes : {often_bytes, usable, 2 * often_bytes}) {
    EXPECT_FAULT(freed_text(often.last(), usable, "realloc"), {
      api::free(often.last());
      api::realloc(often.last(), bytes);
    });
  }
  EXPECT_FAULT(freed_text(often.last(), usable, "malloc_usable_size"), {
    api::free(often.last());
    api::malloc_usable_size(often.last());
  });
}

TEST(OftenAskedLargeBlock, PointerIntoIt) {
  const Often often;
  const size_t usable = api::malloc_usable_size(often.last());
  for (const size_t offset : {size_t{16}, size_t{2048}, 64 * kib}) {
    void* inside = static_cast<char*>(often.last()) + offset;
    EXPECT_FAULT(interior_text(inside, often.last(), usable), api::free(inside));
  }
}

TEST(LargeBlock, OldPlaceFreedAfterAMove) {
  const Large large{given_bytes};
  EXPECT_FAULT(foreign_text(large.block, "free"), {
    const Large neighbour{given_bytes};
    void* moved = api::realloc(large.block, 64 * given_bytes);
    ASSERT_NE(moved, large.block) << "it grew in place";
    api::free(large.block);
  });
}

TEST(LargeBlock, PointerIntoItsStart) {
  const Large large{given_bytes};
  EXPECT_FAULT(interior_text(large.at(16), large.block, given_bytes), api::free(large.at(16)));
}

TEST(LargeBlock, PointerIntoItsEnd) {
  const Large large{given_bytes};
  void* inside = large.at(given_bytes - 8);
  EXPECT_FAULT(interior_text(inside, large.block, given_bytes), api::free(inside));
}

// Also by sizes for which a live block would stay where it is.
TEST(LargeBlock, PointerIntoItResized) {
  const Large large{given_bytes};
  for (const size_t offset : {size_t{16}, size_t{4096}, given_bytes - 8}) {
    void* inside = large.at(offset);
    EXPECT_FAULT(interior_text(inside, large.block, given_bytes),
                 api::realloc(inside, given_bytes));
    EXPECT_FAULT(interior_text(inside, large.block, given_bytes), api::realloc(inside, 100));
  }
  void* middle = large.at(mib);
  EXPECT_FAULT(foreign_text(middle, "realloc"), api::realloc(middle, given_bytes));
}

// Only the ends of a range are in the page map, so the middle has no owner there.
TEST(LargeBlock, PointerIntoItsMiddle) {
  const Large large{given_bytes};
  void* inside = large.at(mib);
  EXPECT_FAULT(foreign_text(inside, "free"), api::free(inside));
}

TEST(LargeBlock, UsableSizeOfAFreedBlock) {
  const Large kept{kept_bytes};
  EXPECT_FAULT(foreign_text(kept.block, "malloc_usable_size"), {
    api::free(kept.block);
    api::malloc_usable_size(kept.block);
  });
}

}  // namespace
}  // namespace talus::core
