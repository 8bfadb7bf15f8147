// SPDX-License-Identifier: MIT
// fuzz/bounded.cpp: pools, caches and fallbacks that refuse.
#include "bounded.hpp"

#include "sizes.hpp"

namespace fuzz {

Bounded bounded_instances[bounded_count];

namespace {

std::atomic<uint64_t> fallback_calls;

bool fallback_refuses() { return mix_bits(fallback_calls++) % 40 == 0; }
void* fallback_allocate(void*, size_t bytes, size_t alignment) {
  return fallback_refuses() ? nullptr : talus_aligned_alloc(alignment, bytes);
}
void fallback_free(void*, void* block) { talus_free(block); }
void* fallback_resize(void*, void* block, size_t bytes, size_t alignment) {
  return fallback_refuses() ? nullptr : talus_aligned_realloc(block, alignment, bytes);
}
size_t fallback_usable_size(void*, const void* block) { return talus_usable_size(block); }
const talus_bounded_fallback fallback = {fallback_allocate, fallback_free, fallback_resize,
                                         fallback_usable_size, nullptr};

// This thread's; null: it has none, or its instance is gone.
talus_bounded_cache* own_cache(int number) {
  const Thread::Cache& cache = self().caches[number];
  return cache.generation == bounded_instances[number].generation ? cache.cache : nullptr;
}

void make_alone(Bounded& bounded) {
  self().doing = "talus_bounded_new";
  size_t budgets[TALUS_BOUNDED_POOLS_MAX];
  talus_bounded_options options{};
  options.pools = bounded.pools = 1 + draw(TALUS_BOUNDED_POOLS_MAX);
  options.budget_bytes = draw(one_in(3) ? 4 * mib : 200000);
  if (one_in(2)) {
    for (size_t i = 0; i < options.pools; i++) budgets[i] = one_in(5) ? 0 : draw(300000);
    options.budgets = budgets;
  }
  bounded.has_fallback = one_in(2);
  if (bounded.has_fallback) options.fallback = &fallback;
  if (one_in(6)) options.flags = TALUS_BOUNDED_TOUCH;
  bounded.handle = called([&] { return talus_bounded_new(&options); });
  note("talus_bounded_new", nullptr, options.pools, options.budget_bytes, bounded.handle);
  bounded.generation++;
  bounded.is_uncertain = false;
  if (bounded.handle == nullptr) {
    if (self().error != ENOMEM || !settings.may_fail) fail("talus_bounded_new fails");
    return;
  }
  expect_errno_kept("talus_bounded_new");
  bounded.is_alive.store(true);
}

void end_alone(Bounded& bounded, int number) {
  self().doing = "talus_bounded_destroy";
  check_bounded(number);
  if (one_in(3)) return;
  each_place_of(Owner::bounded, number, [&](Place& place) {
    if (one_in(4)) check(place, "before its bounded instance ends");
    if (talus_bounded_pool_of(bounded.handle, place.block) >= 0) return empty(place);
    place.number.store(-1);  // the fallback's blocks stay
    place.owner.store(Owner::process);
  });
  called([&] { talus_bounded_destroy(bounded.handle); });
  expect_errno_kept("talus_bounded_destroy");
  note("talus_bounded_destroy", bounded.handle, 0, 0, nullptr);
  bounded.generation++;
  bounded.is_alive.store(false);
}

void make_cache(const Bounded& bounded, int number, bool has_one) {
  size_t capacities[TALUS_BOUNDED_POOLS_MAX];
  for (size_t& capacity : capacities) capacity = one_in(4) ? 0 : draw(300);
  const size_t* chosen = one_in(2) ? capacities : nullptr;
  const auto start = static_cast<talus_bounded_start>(draw(3));
  talus_bounded_cache* cache =
      called([&] { return talus_bounded_cache_new(bounded.handle, chosen, start); });
  const bool is_short = cache == nullptr && self().error == ENOMEM && settings.may_fail;
  if (is_short) return;
  if (has_one) {
    if (cache != nullptr || self().error != EEXIST) fail("a thread has two caches");
    return;
  }
  if (cache == nullptr) fail("talus_bounded_cache_new fails");
  expect_errno_kept("talus_bounded_cache_new");
  self().caches[number] = {cache, bounded.generation};
}

void check_pool(const Bounded& bounded, size_t pool, size_t live) {
  const talus_bounded_numbers numbers =
      called([&] { return talus_bounded_stats(bounded.handle, pool); });
  expect_errno_kept("talus_bounded_stats");
  const size_t used = numbers.live_blocks + numbers.cached_blocks;
  if (numbers.live_blocks != live || used > numbers.blocks || numbers.peak_blocks < used ||
      numbers.peak_blocks > numbers.blocks) {
    fail("pool %zu of %zu blocks says %zu live, %zu cached, %zu at its peak; %zu are live", pool,
         numbers.blocks, numbers.live_blocks, numbers.cached_blocks, numbers.peak_blocks, live);
  }
}

}  // namespace

void make_bounded(int number) {
  Bounded& bounded = bounded_instances[number];
  if (bounded.is_alive.load() || !bounded.gate.try_have_alone()) return;
  if (!bounded.is_alive.load()) make_alone(bounded);
  bounded.gate.open();
}

void end_bounded(int number) {
  Bounded& bounded = bounded_instances[number];
  if (!bounded.is_alive.load() || !bounded.gate.try_have_alone()) return;
  if (bounded.is_alive.load()) end_alone(bounded, number);
  bounded.gate.open();
}

void check_bounded(int number) {
  const Bounded& bounded = bounded_instances[number];
  if (!bounded.is_alive.load() || bounded.is_uncertain) return;
  size_t live[TALUS_BOUNDED_POOLS_MAX] = {};
  size_t all_live = 0;
  each_place_of(Owner::bounded, number, [&](const Place& place) {
    const int pool = called([&] { return talus_bounded_pool_of(bounded.handle, place.block); });
    expect_errno_kept("talus_bounded_pool_of");
    if (pool < 0) return;
    const auto index = static_cast<size_t>(pool);
    if (index >= bounded.pools || talus_bounded_pool_bytes(index) != place.usable) {
      fail("%p of %zu bytes is in pool %d", place.block, place.usable, pool);
    }
    live[index]++;
    all_live++;
  });
  for (size_t pool = 0; pool < bounded.pools; pool++) check_pool(bounded, pool, live[pool]);
  const size_t sum = talus_bounded_stats(bounded.handle, SIZE_MAX).live_blocks;
  if (sum != all_live) fail("all pools say %zu are live, it is %zu", sum, all_live);
}

void change_cache(int number) {
  use_bounded(number, [number](const Bounded& bounded) {
    self().doing = "making or ending a cache";
    talus_bounded_cache* cache = own_cache(number);
    if (cache == nullptr || one_in(2)) return make_cache(bounded, number, cache != nullptr);
    called([&] { talus_bounded_cache_destroy(cache); });
    expect_errno_kept("talus_bounded_cache_destroy");
    self().caches[number].cache = nullptr;
  });
}

void end_caches() {
  for (int number = 0; number < bounded_count; number++) {
    if (one_in(2)) continue;  // it ends with the thread
    use_bounded(number, [number](const Bounded&) {
      if (own_cache(number) != nullptr) talus_bounded_cache_destroy(own_cache(number));
    });
  }
  for (Thread::Cache& cache : self().caches) cache = {};
}

void allocate_in_bounded(Place& place, int number) {
  const Bounded& bounded = bounded_instances[number];
  talus_bounded_cache* cache = own_cache(number);
  Given given;
  given.bytes = one_in(20) ? draw_size() : draw(one_in(3) ? 40000 : 2000);
  const size_t which = draw(7);
  if (which == 0) {
    given.call = "talus_bounded_calloc";
    given.zero_bytes = given.bytes;
    given.block = called([&] { return talus_bounded_calloc(bounded.handle, 1, given.bytes); });
  } else if (which == 1) {
    given.call = "talus_bounded_aligned_alloc";
    given.alignment = size_t{1} << draw(14);
    given.block = called(
        [&] { return talus_bounded_aligned_alloc(bounded.handle, given.alignment, given.bytes); });
  } else if (which < 4 && cache != nullptr) {
    given.call = "talus_bounded_cache_malloc";
    given.block = called([&] { return talus_bounded_cache_malloc(cache, given.bytes); });
  } else {
    given.call = "talus_bounded_malloc";
    given.block = called([&] { return talus_bounded_malloc(bounded.handle, given.bytes); });
  }
  note(given.call, bounded.handle, given.bytes, given.alignment, given.block);
  if (given.block == nullptr) return expect_refusal(given, Owner::bounded, number);
  expect_errno_kept(given.call);
  settle(place, given, Owner::bounded, number);
}

void free_in_bounded(Place& place) {
  const int number = place.number.load();
  talus_bounded* handle = bounded_instances[number].handle;
  talus_bounded_cache* cache = own_cache(number);
  if (place.contents.bytes < 64 * kib || one_in(3)) check(place, "before it is freed");
  const char* call = "talus_bounded_free";
  if (cache != nullptr && one_in(2)) {
    call = "talus_bounded_cache_free";
    called([&] { talus_bounded_cache_free(cache, place.block); });
  } else if (one_in(8)) {
    call = "talus_bounded_realloc";
    const void* block = called([&] { return talus_bounded_realloc(handle, place.block, 0); });
    if (block != nullptr) fail("%s to 0 bytes gives %p", call, block);
  } else {
    called([&] { talus_bounded_free(handle, place.block); });
  }
  note(call, place.block, place.bytes, 0, nullptr);
  expect_errno_kept(call);
  empty(place);
}

void resize_in_bounded(Place& place) {
  const int number = place.number.load();
  talus_bounded* handle = bounded_instances[number].handle;
  check(place, "before it is resized");
  Given given;
  given.bytes = draw_new_size(place.bytes, place.usable);
  if (one_in(4)) {
    given.call = "talus_bounded_aligned_realloc";
    given.alignment = size_t{1} << draw(14);
    given.block = called([&] {
      return talus_bounded_aligned_realloc(handle, place.block, given.alignment, given.bytes);
    });
  } else {
    given.call = "talus_bounded_realloc";
    given.block = called([&] { return talus_bounded_realloc(handle, place.block, given.bytes); });
  }
  note(given.call, place.block, given.bytes, given.alignment, given.block);
  if (given.block == nullptr) {
    expect_refusal(given, Owner::bounded, number);
    return expect_block_stays(place, given.call);
  }
  expect_errno_kept(given.call);
  check_at(place, given.block, given.bytes, given.call);
  settle(place, given, Owner::bounded, number);
}

}  // namespace fuzz
