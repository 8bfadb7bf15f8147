// SPDX-License-Identifier: MIT
// tests/death/remote_blocks: blocks of one thread that other threads free wrongly.
//
// Owns: nothing. Such a block travels in a message: first with the freeing thread, then in the
// remote-free queue of its heap. No thread looks at it there. The fault is noticed when a drain
// puts the block into its slab: at a flush by a thread of its heap, at a trim, or at delivery to a
// heap without threads.
#include <unistd.h>

#include "faults.hpp"

namespace talus::core {
namespace {

using namespace test;

constexpr size_t remote_bytes = 112;

class RemoteBlock : public testing::Test {
 protected:
  ThreadCache& cache = own_cache();
  void* other = api::malloc(remote_bytes);
  void* block = api::malloc(remote_bytes);
  ~RemoteBlock() override {
    api::free(block);
    api::free(other);
  }
};

TEST_F(RemoteBlock, FreedTwiceInOneBatch) {
  EXPECT_FAULT(double_free_text(block, remote_bytes), {
    on_another_thread([&] {
      api::free(block);
      api::free(block);
    });
    flush_all(cache);
  });
}

TEST_F(RemoteBlock, FreedAgainAfterDelivery) {
  EXPECT_FAULT(double_free_text(block, remote_bytes), {
    on_another_thread([&] {
      api::free(block);
      flush_all(*cache_behind(current_context()));
      api::free(block);
      flush_all(*cache_behind(current_context()));
    });
    flush_all(cache);
  });
}

TEST_F(RemoteBlock, FreedByTwoThreads) {
  EXPECT_FAULT(double_free_text(block, remote_bytes), {
    on_another_thread([&] { api::free(block); });
    on_another_thread([&] { api::free(block); });
    flush_all(cache);
  });
}

TEST_F(RemoteBlock, FreedByAnotherThreadThenByItsOwn) {
  EXPECT_FAULT(double_free_text(block, remote_bytes), {
    on_another_thread([&] { api::free(block); });
    api::free(block);
    flush_all(cache);
  });
}

TEST_F(RemoteBlock, FreedByItsOwnThreadThenByAnother) {
  EXPECT_FAULT(double_free_text(block, remote_bytes), {
    api::free(block);
    flush_all(cache);
    on_another_thread([&] { api::free(block); });
    flush_all(cache);
  });
}

TEST_F(RemoteBlock, FreedAgainWhenItCameHome) {
  EXPECT_FAULT(double_free_text(block, remote_bytes), {
    on_another_thread([&] { api::free(block); });
    flush_all(cache);
    on_another_thread([&] { api::free(block); });
    flush_all(cache);
  });
}

TEST_F(RemoteBlock, FreedTwiceNoticedByATrimElsewhere) {
  EXPECT_FAULT(double_free_text(block, remote_bytes), {
    on_another_thread([&] {
      api::free(block);
      api::free(block);
    });
    on_another_thread([&] { purge_beyond(0); });
  });
}

TEST_F(RemoteBlock, PointerIntoIt) {
  void* inside = hide(static_cast<char*>(block) + 32);
  EXPECT_FAULT(interior_text(inside, block, remote_bytes), {
    on_another_thread([&] { api::free(inside); });
    flush_all(cache);
  });
}

TEST_F(RemoteBlock, PointerIntoItNoticedByATrimElsewhere) {
  void* inside = hide(static_cast<char*>(block) + 32);
  EXPECT_FAULT(interior_text(inside, block, remote_bytes), {
    on_another_thread([&] { api::free(inside); });
    on_another_thread([&] { purge_beyond(0); });
  });
}

// A thread that only frees it, with two others between, and a heap that does not drain: nothing is
// said, the block waits.
TEST_F(RemoteBlock, NothingIsSaidOnTheWay) {
  void* first = api::malloc(remote_bytes);
  void* second = api::malloc(remote_bytes);
  EXPECT_EXIT(
      {
        on_another_thread([&] {
          api::free(block);
          api::free(first);
          api::free(second);
          api::free(block);
          for (RemoteBatch& batch : cache_behind(current_context())->batches) {
            deliver(*cache_behind(current_context()), batch, Newest::go);
          }
          _exit(0);  // the end of the thread would bring them home
        });
      },
      testing::ExitedWithCode(0), testing::Eq(std::string()));
  api::free(second);
  api::free(first);
}

// A thread that takes none of their class collects blocks of its own heap, too.
TEST_F(RemoteBlock, FreedTwiceByAThreadOfItsHeapThatTakesNone) {
  EXPECT_FAULT(double_free_text(block, remote_bytes), {
    flush_all(cache);
    api::free(block);
    api::free(block);
    flush_all(cache);
  });
}

TEST_F(RemoteBlock, FreedTwiceWhileItsThreadIsGone) {
  void* orphan = nullptr;
  void* neighbour = nullptr;  // without it the slab would end with the first free
  on_another_thread([&] {
    orphan = api::malloc(remote_bytes);
    neighbour = api::malloc(remote_bytes);
  });
  EXPECT_FAULT(double_free_text(orphan, remote_bytes), {
    api::free(orphan);
    api::free(orphan);
    flush_all(cache);
  });
  api::free(orphan);
  api::free(neighbour);
}

// A block that another heap's thread keeps.
class ForeignBlock : public testing::Test {
 protected:
  static constexpr size_t bytes = 1024;
  ThreadCache& cache = own_cache();
  void* foreign = api::malloc(bytes);
  ~ForeignBlock() override { api::free(foreign); }

  void take_in() const {
    api::free(api::malloc(bytes));  // whose list has room now
    api::free(foreign);
  }
};

TEST_F(ForeignBlock, FreedTwiceInARow) {
  EXPECT_FAULT(double_free_text(foreign, bytes), {
    on_another_thread([&] {
      take_in();
      api::free(foreign);
    });
  });
}

TEST_F(ForeignBlock, FreedByItsOwnThread) {
  EXPECT_FAULT(double_free_text(foreign, bytes), {
    on_another_thread([&] { take_in(); });
    api::free(foreign);
    flush_all(cache);
  });
}

}  // namespace
}  // namespace talus::core
