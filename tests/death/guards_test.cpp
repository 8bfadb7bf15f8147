// SPDX-License-Identifier: MIT
// tests/death/guards: writes beside slabs, large blocks and metadata die where guard_pages is on.
//
// Owns: nothing. The option is set in the child that is to die, so addresses are not known before.
// Blocks that the thread kept from tests before have no guards, so they go first.
#include <unistd.h>

#include <unordered_map>
#include <vector>

#include "faults.hpp"
#include "os/guards.hpp"
#include "reclaim/caches.hpp"

namespace talus::core {
namespace {

using namespace test;

// Fails, unless the statement is the last one of the child.
#define EXPECT_SEGV(...)            \
  EXPECT_EXIT(                      \
      {                             \
        leave_no_core_file();       \
        own_cache();                \
        flush_own_cache();          \
        options.guard_pages = true; \
        __VA_ARGS__;                \
        _exit(0);                   \
      },                            \
      testing::KilledBySignal(SIGSEGV), said(""))

class GuardFault : public testing::Test {
 protected:
  void SetUp() override {
    if (sanitizer_handles_faults) GTEST_SKIP() << "the sanitizer handles SIGSEGV";
  }
};

volatile char* chars_of(void* block) { return static_cast<volatile char*>(hide(block)); }

// The last block of a slab that began with the option.
volatile char* last_block(size_t bytes) {
  for (int tries = 0; tries < 20000; tries++) {
    void* block = hide(api::malloc(bytes));
    const Slab& slab = prove_slab(block, "test");
    if (!slab.has_guard) continue;
    const uintptr_t last = slab.base + size_t{slab.block_count - 1} * slab.block_bytes;
    return chars_of(reinterpret_cast<void*>(last));
  }
  _exit(1);
}

TEST_F(GuardFault, BehindTheLastBlockOfASlab) {
  for (const size_t bytes : {16, 64, 1000, 4096, 16384, 32768, 65536, 100000, 262144}) {
    EXPECT_SEGV({
      volatile char* block = last_block(bytes);
      const size_t block_bytes = size_class_row(class_of(bytes)).block_bytes;
      for (size_t i = 0; i < block_bytes; i++) block[i] = 1;
      // To the end of the last block's page.
      for (size_t i = block_bytes; i < block_bytes + os::page_bytes(); i++) block[i] = 1;
    });
  }
}

TEST_F(GuardFault, BehindALargeBlock) {
  for (const size_t bytes : {300000, 320 * 1024, 4 << 20}) {
    EXPECT_SEGV({
      volatile char* block = chars_of(api::malloc(bytes));
      const size_t usable = api::malloc_usable_size(const_cast<char*>(block));
      block[0] = block[usable - 1] = 1;
      block[usable] = 1;
    });
  }
}

TEST_F(GuardFault, BeforeALargeBlock) {
  for (const size_t bytes : {300000, 320 * 1024, 4 << 20}) {
    EXPECT_SEGV({ chars_of(api::malloc(bytes))[-1] = 1; });
  }
}

TEST_F(GuardFault, BesideALargeBlockThatWasResized) {
  for (const size_t bytes : {320 * 1024, 4 << 20}) {
    for (const size_t later : {bytes * 2, bytes - bytes / 8, bytes + 1}) {
      EXPECT_SEGV({
        volatile char* block = chars_of(api::realloc(hide(api::malloc(bytes)), later));
        const size_t usable = api::malloc_usable_size(const_cast<char*>(block));
        for (size_t i = 0; i < usable; i++) block[i] = 1;
        block[usable] = 1;
      });
    }
  }
}

TEST_F(GuardFault, BesideALargeBlockThatIsAligned) {
  EXPECT_SEGV({
    volatile char* block = chars_of(api::aligned_alloc(2 * mib, 2 * mib));
    if (reinterpret_cast<uintptr_t>(block) % (2 * mib) != 0) _exit(1);
    block[2 * mib - 1] = 1;
    block[2 * mib] = 1;
  });
}

TEST_F(GuardFault, BeforeMetadata) {
  EXPECT_SEGV({
    Held held{space.lock()};
    const MetadataChunk* before = space.newest_metadata(held);
    const MetadataChunk* chunk = before;
    while (chunk == before) {
      if (space.take_metadata(held, 4096) == nullptr) _exit(1);
      chunk = space.newest_metadata(held);
    }
    chars_of(const_cast<MetadataChunk*>(chunk))[-1] = 1;
  });
}

// Ranges that go back are whole again: no guard is left in them.
TEST_F(GuardFault, NothingOfAFreedRangeStaysGuarded) {
  EXPECT_EXIT(
      {
        own_cache();
        options.guard_pages = true;
        for (int round = 0; round < 200; round++) {
          void* blocks[64];
          for (size_t i = 0; i < 64; i++) {
            const size_t most = i % 8 == 0 ? 3 * mib : 90000;
            const size_t bytes = (i * 7919 + static_cast<size_t>(round) * 104729) % most;
            blocks[i] = hide(api::malloc(bytes));
            fill_bytes(blocks[i], 1, bytes);
          }
          for (void* block : blocks) api::free(block);
        }
        flush_all(own_cache());
        return_unused(*own_cache().heap);
        options.guard_pages = false;
        Held held{space.lock()};
        // Each dirty range is taken and filled.
        for (int i = 0; i < 1000; i++) {
          const Range range = space.take(held, 1);
          if (range.base == 0 || range.zeroed == Zeroed::yes) break;
          fill_bytes(reinterpret_cast<void*>(range.base), 1, slice_bytes);
        }
        _exit(space.is_sound() && guards.missing_count() == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), testing::Eq(""));
}

// Random blocks come and go in waves. Returns how often a slice had blocks of two classes.
size_t count_mixed_slices() {
  std::unordered_map<uintptr_t, size_t> classes;
  std::vector<void*> blocks;
  size_t mixed = 0;
  uint64_t random = 1;
  for (int call = 0; call < 1'000'000; call++) {
    random = mix_bits(random + 1);
    if (call % 20000 == 19999) {  // all slabs end
      for (void* block : blocks) api::free(block);
      blocks.clear();
      flush_all(own_cache());
      return_unused(*own_cache().heap);
    } else if (random % 5 < 2 && !blocks.empty()) {
      void*& block = blocks[random / 8 % blocks.size()];
      api::free(block);
      block = blocks.back();
      blocks.pop_back();
    } else {
      // Another size for each wave, and a few of all sizes.
      const size_t wave = static_cast<size_t>(call) / 20000 * 97 % 4000 + 1;
      const size_t bytes = random % 16 == 0 ? random / 64 % (200 * kib) : wave;
      void* block = hide(api::malloc(bytes));
      const Slab& slab = prove_slab(block, "test");
      const uintptr_t slice = round_down(reinterpret_cast<uintptr_t>(block), slice_bytes);
      const size_t found = index_of(slab.class_id);
      if (classes.emplace(slice, found).first->second != found) mixed++;
      blocks.push_back(block);
    }
  }
  Held held{space.lock()};
  return space.is_sound() ? mixed : SIZE_MAX;
}

TEST(KeptClasses, AStalePointerMeetsNoOtherClass) {
  EXPECT_EXIT(
      {
        options.keep_classes = true;
        own_cache();
        _exit(count_mixed_slices() == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), testing::Eq(""));
  EXPECT_EXIT(
      {
        own_cache();
        _exit(count_mixed_slices() == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(1), testing::Eq(""))
      << "without the option";
}

}  // namespace
}  // namespace talus::core
