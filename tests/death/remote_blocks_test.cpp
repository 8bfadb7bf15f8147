// SPDX-License-Identifier: MIT
// tests/death/remote_blocks: blocks of one thread that other threads free wrongly.
//
// Owns: nothing. Such a block passes three places: the batch of the thread that frees it, the
// remote bitmap of its slab, the slab's free bitmap. A second free is met in each of them.
#include "faults.hpp"

namespace talus {
namespace {

using namespace test;

constexpr size_t bytes = 112;

class RemoteBlock : public testing::Test {
 protected:
  Heap& heap = own_heap();
  void* other = api::malloc(bytes);
  void* block = api::malloc(bytes);
  ~RemoteBlock() override {
    api::free(block);
    api::free(other);
  }
};

TEST_F(RemoteBlock, FreedTwiceInOneBatch) {
  EXPECT_FAULT(double_free_text(block, bytes), on_another_thread([&] {
                 api::free(block);
                 api::free(block);
               }));
}

TEST_F(RemoteBlock, FreedAgainAfterDelivery) {
  EXPECT_FAULT(double_free_text(block, bytes), on_another_thread([&] {
                 api::free(block);
                 flush_all(*heap_behind(*this_face));
                 api::free(block);
                 flush_all(*heap_behind(*this_face));
               }));
}

TEST_F(RemoteBlock, FreedByTwoThreads) {
  EXPECT_FAULT(double_free_text(block, bytes), {
    on_another_thread([&] { api::free(block); });
    on_another_thread([&] { api::free(block); });
  });
}

TEST_F(RemoteBlock, FreedByAnotherThreadThenByItsOwn) {
  EXPECT_FAULT(double_free_text(block, bytes), {
    on_another_thread([&] { api::free(block); });
    api::free(block);
    flush_all(heap);
  });
}

TEST_F(RemoteBlock, FreedByItsOwnThreadThenByAnother) {
  EXPECT_FAULT(double_free_text(block, bytes), {
    api::free(block);
    flush_all(heap);
    on_another_thread([&] { api::free(block); });
    flush_all(heap);
  });
}

TEST_F(RemoteBlock, FreedAgainWhenItCameHome) {
  EXPECT_FAULT(double_free_text(block, bytes), {
    on_another_thread([&] { api::free(block); });
    flush_all(heap);
    on_another_thread([&] { api::free(block); });
    flush_all(heap);
  });
}

// Said at once, by the free itself: other threads prove each pointer.
TEST_F(RemoteBlock, PointerIntoIt) {
  void* inside = hide(static_cast<char*>(block) + 32);
  EXPECT_FAULT(interior_text(inside, block, bytes),
               on_another_thread([&] { api::free(inside); }));
}

TEST_F(RemoteBlock, FreedTwiceWhileItsThreadIsGone) {
  void* orphan = nullptr;
  on_another_thread([&] { orphan = api::malloc(bytes); });
  EXPECT_FAULT(double_free_text(orphan, bytes), {
    api::free(orphan);
    api::free(orphan);
    flush_all(heap);
  });
  api::free(orphan);
}

}  // namespace
}  // namespace talus
