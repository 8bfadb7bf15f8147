// SPDX-License-Identifier: MIT
// tests/unit/instances/instance_life: heaps of one's own come and go, are walked, counted, swept
// and forked.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "busy_threads.hpp"
#include "api/heaps.hpp"
#include "effort.hpp"
#include "reclaim/decay.hpp"
#include "modes/counting.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

size_t resident_pages() {
  FILE* file = fopen("/proc/self/statm", "r");
  size_t all = 0, resident = 0;
  EXPECT_EQ(fscanf(file, "%zu %zu", &all, &resident), 2);
  fclose(file);
  return resident;
}

void use_and_leave(talus_heap* heap, size_t seed) {
  test::Random random{seed};
  for (size_t i = 0; i < 20; i++) {
    memset(api::heap_malloc(heap, random.of_any_length(9)), 1, 1);
  }
  if (seed % 16 == 0) memset(api::heap_malloc(heap, 50000), 1, 50000);
}

TEST(InstanceLife, ManyComeAndGo) {
  constexpr size_t first_rounds = 3000;  // until all sizes have been used often enough
  const size_t rounds = first_rounds + test::rounds_of(100000);
  size_t after_some = 0;
  const size_t metadata = collect_totals().metadata;
  for (size_t round = 0; round < rounds; round++) {
    talus_heap* heap = api::heap_new(nullptr);
    ASSERT_NE(heap, nullptr);
    use_and_leave(heap, round);
    if (round % 3 == 0) api::heap_clear(heap);
    api::heap_destroy(heap);
    if (round == first_rounds) after_some = resident_pages();
  }
  EXPECT_LE(resident_pages(), after_some + 128);
  EXPECT_LE(collect_totals().metadata, metadata + mib);
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_EQ(collect_totals().instance_count, 0u);
}

TEST(InstanceLife, ManyLiveAtOnceAndHandlesAreNeverTheSame) {
  std::set<talus_heap*> handles;
  for (int round = 0; round < 3; round++) {
    std::vector<talus_heap*> heaps;
    for (size_t i = 0; i < 500; i++) {
      heaps.push_back(api::heap_new(nullptr));
      EXPECT_TRUE(handles.insert(heaps.back()).second);
      use_and_leave(heaps.back(), i);
    }
    EXPECT_EQ(collect_totals().instance_count, 500u);
    for (talus_heap* heap : heaps) api::heap_destroy(heap);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(InstanceLife, IdsEndSomewhere) {
  std::vector<uintptr_t> handles;
  for (uintptr_t handle = 0; (handle = make_instance({})) != 0;) handles.push_back(handle);
  EXPECT_EQ(handles.size(), instance_id_max - heap_count_max + 1);
  for (const uintptr_t handle : handles) destroy_instance(handle, "test");
  const uintptr_t again = make_instance({});
  EXPECT_NE(again, 0u);
  destroy_instance(again, "test");
}

struct Seen {
  std::map<void*, size_t> blocks;
  size_t areas = 0;
  uintptr_t last = 0;
  bool frees = false;
};
int see(const talus_heap_area* area, void* block, void* context) {
  auto& seen = *static_cast<Seen*>(context);
  if (block == nullptr) {
    seen.areas++;
    EXPECT_GT(reinterpret_cast<uintptr_t>(area->base), seen.last);
    seen.last = reinterpret_cast<uintptr_t>(area->base);
    EXPECT_GT(area->live_blocks, 0u);
    EXPECT_LE(area->live_blocks, area->blocks);
    return 0;
  }
  EXPECT_TRUE(seen.blocks.emplace(block, area->block_bytes).second);
  if (seen.frees) api::free(block);
  return 0;
}

TEST(InstanceLife, AWalkSeesExactlyTheLiveBlocks) {
  talus_heap* heap = api::heap_new(nullptr);
  test::Random random{test::seed_of("InstanceLife.Walk")};
  std::map<void*, size_t> live;
  for (size_t i = 0; i < 20000; i++) {
    void* block = api::heap_malloc(heap, random.of_any_length(i % 20 == 0 ? 17 : 12));
    live[block] = usable_size(block);
    if (i % 3 == 0) {
      auto found = live.lower_bound(block);
      api::free(found->first);
      live.erase(found);
    }
  }
  purge_beyond(0);  // some slabs are partly_purged then
  for (int i = 0; i < 3; i++) {
    void* block = api::heap_malloc(heap, 300);
    live[block] = usable_size(block);
  }
  Seen seen;
  EXPECT_EQ(api::heap_walk(heap, see, &seen), 0);
  EXPECT_EQ(seen.blocks, live);
  const talus_heap_numbers numbers = api::heap_stats(heap);
  EXPECT_EQ(numbers.live_blocks, live.size());
  size_t bytes = 0;
  for (const auto& block : live) bytes += block.second;
  EXPECT_EQ(numbers.live_bytes, bytes);
  EXPECT_LE(seen.areas, numbers.slabs + numbers.large_blocks);
  // An answer ends it; a visitor may free what it sees.
  const auto fifth = [](const talus_heap_area*, void*, void* calls) {
    return ++*static_cast<int*>(calls) == 5 ? 77 : 0;
  };
  int calls = 0;
  EXPECT_EQ(api::heap_walk(heap, fifth, &calls), 77);
  EXPECT_EQ(calls, 5);
  Seen again;
  again.frees = true;
  api::heap_walk(heap, see, &again);
  EXPECT_EQ(again.blocks, live);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
  api::heap_destroy(heap);
}

// What the program holds and what the totals say; no other heap has the instances' slabs.
TEST(InstanceLife, TotalsCountThemAndNoThreadAdopts) {
  talus_heap* heap = api::heap_new(nullptr);
  void* held = api::heap_malloc(heap, 3000);
  void* large = api::heap_malloc(heap, 100000);
  EXPECT_EQ(test::live_bytes(), usable_size(held) + usable_size(large));
  const size_t slab_bytes = api::heap_stats(heap).slab_bytes;
  test::on_threads(8, [&](size_t) {
    std::vector<void*> blocks;
    for (size_t i = 0; i < 500; i++) {
      blocks.push_back(api::malloc(3000));
      EXPECT_EQ(api::heap_of(blocks.back()), nullptr);
    }
    for (void* block : blocks) api::free(block);
  });
  // Nor does it take slabs of others, whose blocks would go with it.
  for (int i = 0; i < 500; i++) api::heap_malloc(heap, 3000);
  void* others = api::malloc(3000);
  EXPECT_GT(api::heap_stats(heap).slab_bytes, slab_bytes);
  api::heap_destroy(heap);
  EXPECT_EQ(api::heap_of(others), nullptr);
  EXPECT_EQ(test::live_bytes(), usable_size(others));
  api::free(others);
}

TEST(InstanceLife, FreePagesGoBack) {
  talus_heap* heap = api::heap_new(nullptr);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 40000; i++) {
    blocks.push_back(api::heap_malloc(heap, 500));
    memset(blocks.back(), 1, 500);
  }
  const size_t before = resident_pages();
  for (size_t i = 0; i < blocks.size(); i++) {
    if (i % 1000 != 0) api::free(blocks[i]);
  }
  EXPECT_GT(purge_beyond(0), 10 * mib);
  EXPECT_LT(resident_pages(), before - 2500);
  api::heap_destroy(heap);
}

// An instance that rests while the helper looks keeps nothing ready, and its pages go back.
TEST(InstanceLife, TheHelperDecays) {
  talus_heap* heap = api::heap_new(nullptr);
  void* block = api::heap_malloc(heap, 16);
  const Instance& inside = *slot_of_handle(api::handle_in(heap), "test").heap;
  const size_t index = index_of(class_of(16));
  EXPECT_NE(inside.ready[index].count, 0u);
  DecayTally tally;
  decay_once(1, tally);
  decay_once(1, tally);
  EXPECT_EQ(inside.ready[index].count, 0u);
  EXPECT_TRUE(api::heap_contains(heap, block));
  api::heap_destroy(heap);
}

// While slabs' pages are being given back, heaps are walked, cleared and end.
TEST(InstanceLife, EndsWhileOthersTrim) {
  Atomic<bool> stop;
  std::thread trimmer([&] {
    while (!stop.load_relaxed()) purge_beyond(0);
  });
  for (size_t round = 0; round < test::rounds_of(300) + 10; round++) {
    talus_heap* heap = api::heap_new(nullptr);
    std::vector<void*> blocks;
    for (size_t i = 0; i < 2000; i++) blocks.push_back(api::heap_malloc(heap, 700));
    for (size_t i = 0; i < 2000; i++) {
      if (i % 10 != 0) api::free(blocks[i]);
    }
    if (round % 3 == 0) api::heap_clear(heap);
    Seen seen;
    api::heap_walk(heap, see, &seen);
    EXPECT_EQ(seen.blocks.size(), round % 3 == 0 ? 0u : 200u);
    if (round % 3 != 2) {
      api::heap_destroy(heap);
    } else {
      EXPECT_EQ(api::heap_delete(heap), 0);
      for (size_t i = 0; i < 2000; i += 10) api::free(blocks[i]);
    }
  }
  stop.store_relaxed(true);
  trimmer.join();
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A slab whose pages are being given back is in no list: the end of its heap waits for it.
TEST(InstanceLife, AnEndWaitsForPurges) {
  talus_heap* heap = api::heap_new(nullptr);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 200; i++) blocks.push_back(api::heap_malloc(heap, 1024));
  for (size_t i = 1; i < 200; i++) api::free(blocks[i]);
  Instance& inside = *slot_of_handle(api::handle_in(heap), "test").heap;
  Atomic<bool> has_ended;
  HoleBatch batch;
  registry.decaying.lock();
  {
    Held held{lock_of(inside)};
    for (SlabBins& bins : inside.available) {
      for (SlabList& bin : bins.bins) {
        size_t looks = 0;
        collect_slabs(inside, bin, SlabAge::any, batch, looks);
      }
    }
  }
  ASSERT_NE(batch.count, 0u);
  std::thread ender([&] {
    api::heap_destroy(heap);
    has_ended.store_relaxed(true);
  });
  wait_us(20000);
  EXPECT_FALSE(has_ended.load_relaxed());
  {
    Held held{lock_of(inside)};
    slabs_purging_to_partly_purged(inside, batch);
  }
  registry.decaying.unlock();
  ender.join();
  EXPECT_EQ(test::live_bytes(), 0u);
}

// The child finds no instance in the middle of a change.
TEST(InstanceLife, AForkWaitsForTheThreadsInside) {
  process_starts();
  talus_heap* heap = api::heap_new(nullptr);
  Atomic<int> stage;
  std::thread changer([&] {
    const Inside inside{api::handle_in(heap), "test"};
    stage.store_release(1);
    wait_us(30000);
    stage.store_release(2);
  });
  while (stage.load_acquire() == 0) os::System::sleep_us(100);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const int seen = stage.load_relaxed();
    api::heap_destroy(heap);
    _exit(seen);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  changer.join();
  api::heap_destroy(heap);
}

// needs N10: at any moment of threads that work on instances.
TEST(InstanceLife, ForksWhileThreadsUseThem) {
  process_starts();
  talus_heap* shared = api::heap_new(nullptr);
  std::vector<void*> parents;
  for (size_t i = 0; i < 300; i++) {
    parents.push_back(api::heap_malloc(shared, 10 + i));
    test::fill_pattern(parents.back(), 10 + i, i);
  }
  test::BusyThreads others(3, [shared](size_t self) {
    return [shared, random = test::Random{self}]() mutable {
      talus_heap* own = api::heap_new(nullptr);
      use_and_leave(own, random.next());
      void* block = api::heap_malloc(shared, random.of_any_length(17));
      api::heap_destroy(own);
      api::free(block);
    };
  });
  for (size_t round = 0; round < test::rounds_of(100) + 4; round++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      for (size_t i = 0; i < parents.size(); i++) {
        if (!test::has_pattern(parents[i], 10 + i, i)) _exit(1);
        api::heap_free(shared, parents[i]);
      }
      talus_heap* own = api::heap_new(nullptr);
      use_and_leave(own, round);
      use_and_leave(shared, round);
      api::heap_destroy(shared);
      api::heap_destroy(own);
      _exit(test::space_is_sound() ? 0 : 2);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << round;
  }
  others.end();
  EXPECT_EQ(api::heap_stats(shared).live_blocks, parents.size());
  api::heap_destroy(shared);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Blocks that end with their heap are freed, too, as far as the counting mode is concerned.
TEST(InstanceLife, ModesAreTold) {
  test::on_threads(1, [](size_t) {
    test::own_cache();
    begin_mode(counting::mode);
    const counting::Counts before = counting::collect();
    talus_heap* heap = api::heap_new(nullptr);
    for (size_t i = 0; i < 100; i++) api::heap_malloc(heap, 1000);
    void* block = api::heap_realloc(heap, api::heap_calloc(heap, 1, 70000), 200000);
    EXPECT_EQ(api::heap_of(block), heap);
    api::heap_free(heap, api::heap_malloc(heap, 10));
    const counting::Counts full = counting::collect();
    EXPECT_GE(full.live_bytes - before.live_bytes, 300000);
    EXPECT_GE(full.allocation_sum - before.allocation_sum, 102u);
    api::heap_clear(heap);
    EXPECT_EQ(counting::collect().live_bytes, before.live_bytes);
    api::heap_malloc(heap, 50);
    api::heap_destroy(heap);
    EXPECT_EQ(counting::collect().live_bytes, before.live_bytes);
    const counting::Counts after = counting::collect();
    EXPECT_EQ(after.allocation_sum - before.allocation_sum, after.frees - before.frees);
    switch_off(counting::mode);
  });
}

}  // namespace
}  // namespace talus::core
