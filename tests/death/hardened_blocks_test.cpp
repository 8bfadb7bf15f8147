// SPDX-License-Identifier: MIT
// tests/death/hardened_blocks: in the hardened mode a write behind a block, a write to a freed one
// and a free of another size stop the process, and the line says where.
//
// Owns: nothing. The mode begins in the child that is to die, as in checked_blocks_test.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "hardened_mode.hpp"
#include "api/extended.hpp"
#include "api/heaps.hpp"
#include "api/new.hpp"
#include "process/start.hpp"

namespace talus::core {
namespace {

using namespace test;

std::string write_behind_text(const char* call = "free") {
  return "talus: write behind block " + place_text + " \\((a place of )?[0-9]+ bytes; found by " +
         call + "\\(\\)\\)\n";
}
std::string write_after_free_text(size_t offset, size_t bytes) {
  return "talus: write after free in block " + place_text + " \\(byte " + std::to_string(offset) +
         " of a place of " + std::to_string(bytes) + " bytes\\)\n";
}

// The requests that leave no byte, one byte and many bytes before the trailer.
const size_t any_sizes[] = {1,    8,    24,   25,   40,    64,    100,   1000,
                            4000, 4088, 4089, 5000, 32760, 40000, 262136};

TEST(HardenedFault, OneByteBehindAnyRequest) {
  for (const size_t bytes : any_sizes) {
    for (const char byte : {'\0', 'A', '\x7f'}) {
      EXPECT_HARD_STOP(write_behind_text(), {
        char* block = hard_block(bytes);
        block[bytes] = byte;
        api::free(block);
      }) << bytes;
    }
  }
}
TEST(HardenedFault, TheLastByteOfTheTrailer) {
  for (const size_t bytes : {24u, 1000u, 40000u}) {
    EXPECT_HARD_STOP(write_behind_text(), {
      char* block = hard_block(bytes);
      const Slab& slab = checked::slab_at(block);
      block[slab.block_bytes - 1] ^= 1;
      api::free(block);
    });
  }
}
// No change of one bit of a trailer makes another one.
TEST(HardenedFault, EachBitOfATrailerCounts) {
  EXPECT_HARD_PASS({
    for (const size_t bytes : {24u, 100u, 5000u}) {
      char* block = hard_block(bytes);
      const size_t block_bytes = checked::slab_at(block).block_bytes;
      for (size_t bit = 0; bit < 64; bit++) {
        char& changed = block[block_bytes - trailer_bytes + bit / 8];
        changed = static_cast<char>(changed ^ (1 << bit % 8));
        const size_t read = Trailer::read(block, block_bytes);
        const bool is_found =
            read == block_bytes || !Trailer::is_canary_whole(block, block_bytes, read);
        if (!is_found) _exit(static_cast<int>(1 + bit));
        changed = static_cast<char>(changed ^ (1 << bit % 8));
      }
      if (Trailer::read(block, block_bytes) != bytes) _exit(100);
    }
  });
}

TEST(HardenedFault, ByEachCallThatAllocates) {
  using Make = void* (*)(size_t);
  const Make makes[] = {
      api::malloc,
      [](size_t bytes) { return api::calloc(1, bytes); },
      [](size_t bytes) { return api::aligned_alloc(64, bytes); },
      [](size_t bytes) { return api::memalign(4096, bytes); },
      [](size_t bytes) { return api::memalign_at(64, 16, bytes); },
      [](size_t bytes) { return api::new_block<CallKind::one>(bytes); },
      [](size_t bytes) { return api::realloc(hard_block(10), bytes); },
      [](size_t bytes) { return api::realloc(hard_block(bytes + 5), bytes); },
      [](size_t bytes) {
        void* blocks[3];
        api::malloc_batch(bytes, 3, blocks);
        return blocks[1];
      },
  };
  for (const Make make : makes) {
    for (const size_t bytes : {24u, 60u, 3000u, 20000u}) {
      EXPECT_HARD_STOP(write_behind_text() + "|talus: write at .* 0 bytes behind the block.*\n", {
        char* block = static_cast<char*>(protected_by(make, bytes));
        if (api::malloc_usable_size(block) != bytes) _exit(1);
        block[bytes] = 'A';
        api::free(block);
      });
    }
  }
}

TEST(HardenedFault, FoundByEachCallThatLooks) {
  for (const size_t bytes : {24u, 60u, 5000u, 40000u}) {
    EXPECT_HARD_STOP(write_behind_text("realloc"), {
      char* block = hard_block(bytes);
      block[bytes] = 'A';
      hide(api::realloc(block, bytes - 1));
    });
    EXPECT_HARD_STOP(write_behind_text("realloc"), {
      char* block = hard_block(bytes);
      block[bytes] = 'A';
      hide(api::realloc(block, 10 * bytes));
    });
    EXPECT_HARD_STOP(write_behind_text("malloc_usable_size"), {
      char* block = hard_block(bytes);
      block[bytes] = 'A';
      api::malloc_usable_size(block);
    });
    EXPECT_HARD_STOP(write_behind_text(), {
      char* block = hard_block(bytes);
      block[bytes] = 'A';
      on_another_thread([block] { api::free(block); });
    });
  }
}

TEST(HardenedFault, InTheChildOfAFork) {
  EXPECT_HARD_STOP(write_behind_text(), {
    char* block = hard_block(64);
    const pid_t child = fork();
    if (child == 0) {
      block[64] = 'A';
      api::free(block);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) abort();
  });
}

// The quarantine gives a block back when others come; then lists and slabs give it out.
void use_again(size_t bytes) {
  for (int i = 0; i < 6000; i++) api::free(hide(api::malloc(bytes)));
  for (int i = 0; i < 3000; i++) hide(api::malloc(bytes));
}
TEST(HardenedFault, WriteAfterFree) {
  struct Case {
    size_t bytes, block_bytes, offset;
  };
  for (const Case& now :
       {Case{24, 32, 8}, Case{60, 80, 79}, Case{5000, 5120, 5000}, Case{40000, 40960, 0}}) {
    EXPECT_HARD_STOP(write_after_free_text(now.offset, now.block_bytes), {
      char* block = hard_block(now.bytes);
      api::free(block);
      block[now.offset] = 1;
      use_again(now.bytes);
    });
    if (now.bytes > small_bytes_max) continue;  // its slab ends with it
    EXPECT_HARD_STOP(write_after_free_text(now.offset, now.block_bytes), {
      char* block = hard_block(now.bytes);
      on_another_thread([block] { api::free(block); });
      block[now.offset] = 1;
      use_again(now.bytes);
    });
    EXPECT_HARD_STOP(write_after_free_text(now.offset, now.block_bytes), {
      begin_mode(counting::mode);
      char* block = hard_block(now.bytes);
      api::free(block);
      block[now.offset] = 1;
      use_again(now.bytes);
    });
  }
}

// A slab without blocks keeps the states of its places, so no write to them is forgotten.
TEST(HardenedFault, WriteAfterFreeInASlabWithoutBlocks) {
  constexpr size_t count = 300;  // in several slabs
  for (const size_t written : {size_t{0}, count / 2, count - 1}) {
    EXPECT_HARD_STOP(write_after_free_text(8, 1024), {
      std::vector<char*> blocks;
      for (size_t i = 0; i < count; i++) blocks.push_back(hard_block(1000));
      for (char* block : blocks) api::free(block);
      flush_modes(own_cache());
      flush_lists(own_cache());
      if (!checked::slab_at(blocks[written]).is_empty()) _exit(1);
      blocks[written][8] = 1;
      for (size_t i = 0; i < count; i++) hide(api::malloc(1000));
    });
  }
}

// Where no call takes the block again, the end of the thread tells.
TEST(HardenedFault, WriteAfterFreeAtTheEndOfAThread) {
  EXPECT_HARD_STOP("talus: write after free in block .*\n", on_another_thread([] {
                     char* block = hard_block(64);
                     api::free(block);
                     block[3] = 1;
                   }));
  EXPECT_HARD_STOP("talus: write after free in block .*\n", {
    char* block = hard_block(64);
    api::free(block);
    block[3] = 1;
    hardened::prove_waiting();
  });
}
TEST(HardenedFault, DoubleFreeWhileTheBlockWaits) {
  EXPECT_HARD_STOP("talus: double free of .*\n", {
    void* block = hard_block(64);
    api::free(block);
    for (int i = 0; i < 1000; i++) api::free(hide(api::malloc(64)));
    api::free(block);
  });
}
TEST(HardenedFault, OfAnInstance) {
  for (const size_t bytes : {24u, 60u, 3000u}) {
    EXPECT_HARD_STOP(write_behind_text(), {
      talus_heap* heap = api::heap_new(nullptr);
      char* block = static_cast<char*>(hide(api::heap_malloc(heap, bytes)));
      block[bytes] = 'A';
      api::heap_free(heap, block);
    });
    EXPECT_HARD_STOP("talus: write after free in block .*\n", {
      talus_heap* heap = api::heap_new(nullptr);
      char* block = static_cast<char*>(hide(api::heap_malloc(heap, bytes)));
      api::heap_free(heap, block);
      block[8] = 'A';
      for (int i = 0; i < 100; i++) hide(api::heap_malloc(heap, bytes));
    });
  }
}

TEST(HardenedFault, FreedBlocksReadAsZero) {
  EXPECT_HARD_PASS({
    for (const size_t bytes : any_sizes) {
      char* block = hard_block(bytes);
      memset(block, 'A', bytes);
      api::free(block);
      for (size_t i = 0; i < bytes; i++) {
        if (block[i] != 0) _exit(1);
      }
    }
  });
}

TEST(HardenedFault, BesideALargeBlockAndAfterItsFree) {
  if (sanitizer_handles_faults) GTEST_SKIP() << "the sanitizer handles SIGSEGV";
  EXPECT_HARD_FAULT({
    char* block = hard_block(300 * 1024);
    block[300 * 1024] = 1;
  });
  EXPECT_HARD_FAULT({
    char* block = hard_block(300000);
    block[-1] = 1;
  });
  EXPECT_HARD_FAULT({
    char* block = hard_block(300000);
    api::free(block);
    block[5] = 1;
  });
}

TEST(HardenedFault, OfALargeBlock) {
  EXPECT_HARD_STOP(
      "talus: write at " + place_text + ", 0 bytes behind the block of 300000 bytes.*\n", {
        char* block = hard_block(300000);
        block[300000] = 'A';
        api::free(block);
      });
  EXPECT_HARD_STOP("talus: double free of " + place_text + " \\(a freed block of 300000 bytes.*\n",
                   {
                     char* block = hard_block(300000);
                     api::free(block);
                     api::free(block);
                   });
}

// A block that has moved once has room behind it.
char* grown_block(size_t bytes) {
  return static_cast<char*>(hide(api::realloc(hard_block(bytes - 100), bytes)));
}
TEST(HardenedFault, ALargeBlockThatGrowsByLittle) {
  const std::string found = "talus: write at " + place_text + ", 3 bytes behind the block of ";
  EXPECT_HARD_STOP(found + "300000 bytes.*\n", {
    char* block = grown_block(300000);
    block[300003] = 'A';
    hide(api::realloc(block, 300008));
  });
  EXPECT_HARD_STOP(found + "299900 bytes.*\n", {
    char* block = grown_block(300000);
    if (!hardened::stays_on_page(block, 299900)) _exit(1);
    block[299903] = 'A';
    api::free(block);
  });
  EXPECT_HARD_PASS({
    char* block = grown_block(300000);
    int stayed = 0;
    for (size_t bytes = 300000; bytes < 310000; bytes += 8) {
      const bool stays = hardened::stays_on_page(block, bytes + 8);
      stayed += stays;
      if (!stays) block = static_cast<char*>(hide(api::realloc(block, bytes + 8)));
      for (size_t i = 0; i < 8; i++) {
        if (block[bytes + i] != 0) _exit(1);
      }
      memset(block + bytes, 1, 8);
    }
    if (stayed < 1200) _exit(2);
    api::free(block);
  });
}

TEST(HardenedFault, AWrongFreeAsWhenChecked) {
  for (const char* bytes : {"32", "5120", "40960"}) {
    const std::string text =
        "talus: double free of " + place_text + " \\(a free block of " + bytes + " bytes\\)\n";
    EXPECT_HARD_STOP(text, {
      char* block = hard_block(static_cast<size_t>(atol(bytes)) - 8);
      api::free(block);
      api::free(block);
    });
    EXPECT_HARD_STOP(text, {
      char* block = hard_block(static_cast<size_t>(atol(bytes)) - 8);
      on_another_thread([block] { api::free(block); });
      api::free(block);
    });
  }
  EXPECT_HARD_STOP("talus: invalid free of .*", api::free(hard_block(64) + 16));
  EXPECT_HARD_STOP("talus: use of the freed block .* in realloc\\(\\).*", {
    char* block = hard_block(64);
    api::free(block);
    hide(api::realloc(block, 1000));
  });
  EXPECT_HARD_STOP("talus: use of the freed block .* in malloc_usable_size\\(\\).*", {
    char* block = hard_block(64);
    api::free(block);
    api::malloc_usable_size(block);
  });
}

TEST(HardenedFault, ASizeThatWasNotRequested) {
  const auto text = [](const char* said, const char* bytes) {
    return "talus: wrong size in the free of " + place_text + " \\(" + said +
           " bytes, of a block of " + bytes + " bytes\\)\n";
  };
  EXPECT_HARD_STOP(text("63", "64"), api::free_sized(hard_block(64), 63));
  EXPECT_HARD_STOP(text("20", "5000"), api::delete_block<CallKind::one>(hard_block(5000), 20));
  EXPECT_HARD_STOP(text("20", "300000"), api::delete_block<CallKind::one>(hard_block(300000), 20));
}

TEST(HardenedFault, BehindASizeThatWasGivenInPlace) {
  EXPECT_HARD_STOP(write_behind_text() + "|talus: write at .* bytes behind the block.*\n", {
    char* block = static_cast<char*>(hide(api::memalign_at(4096, 32, 900)));
    if (api::expand_in_place(block, 200) != block) _exit(1);
    block[200] = 'A';
    api::free(block);
  });
}

}  // namespace
}  // namespace talus::core
