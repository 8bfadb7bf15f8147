// SPDX-License-Identifier: MIT
// fuzz/at_rest.cpp: the shadow beside the heap's statistics, at rest and at the end.
#include "at_rest.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <initializer_list>

#include "bounded.hpp"
#include "default_heap.hpp"
#include "instances.hpp"
#include "refusals.hpp"
#include "talus/talus.h"

namespace fuzz {
namespace {

// What libc and the program itself allocate beside the places: stacks, streams, exceptions.
constexpr long drift_max = 64 * kib;
constexpr long drift_min = -64 * long{kib};
constexpr long uncounted_max = 300000;  // of calls that were made before they were counted
constexpr size_t resident_drift_max = 24 * mib;
constexpr size_t waiting_max = 256 * kib;  // of a thread, in hardened mode (kinds.py)

struct Range {
  uintptr_t start;
  size_t bytes;
};
Range* ranges;  // for all places

long live_at_start;
long calls_at_start;
size_t resident_at_start;

long statistic(const char* name) {
  uint64_t value = 0;
  return talus_get(name, &value) == 0 ? static_cast<long>(value) : -1;
}

// Heap sort: it allocates nothing.
void sift_down(size_t at, size_t count) {
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && ranges[child + 1].start > ranges[child].start) child++;
    if (ranges[child].start <= ranges[at].start) return;
    const Range range = ranges[at];
    ranges[at] = ranges[child];
    ranges[child] = range;
    at = child;
  }
}
void sort_ranges(size_t count) {
  for (size_t i = count / 2; i-- > 0;) sift_down(i, count);
  for (size_t left = count; left > 1; left--) {
    const Range range = ranges[0];
    ranges[0] = ranges[left - 1];
    ranges[left - 1] = range;
    sift_down(0, left - 1);
  }
}

void expect_no_overlap(size_t count) {
  sort_ranges(count);
  for (size_t i = 0; i + 1 < count; i++) {
    if (ranges[i].start + ranges[i].bytes <= ranges[i + 1].start) continue;
    fail("blocks overlap: %zx of %zu bytes and %zx", ranges[i].start, ranges[i].bytes,
         ranges[i + 1].start);
  }
}

// What the statistics of the default heap count, and what they may.
struct Shadow {
  size_t sure = 0;
  size_t unsure = 0;
  bool has_lost = false;  // places of threads that are not in this process
};

void add_place(Shadow& shadow, const Place& place) {
  const Owner owner = place.owner.load();
  const int number = place.number.load();
  bool is_counted = owner == Owner::process && !place.was_provided;
  bool is_pooled = false;
  if (owner == Owner::instance) is_counted = !instances[number].has_provider;
  if (owner == Owner::bounded) {
    is_pooled = talus_bounded_pool_of(bounded_instances[number].handle, place.block) >= 0;
    is_counted = !is_pooled;
  }
  if (is_counted) {
    shadow.sure += place.usable;
  } else if (!is_pooled) {
    shadow.unsure += place.usable;
  }
}

Shadow check_places() {
  Shadow shadow;
  size_t count = 0;
  for (size_t i = 0; i < settings.places; i++) {
    const Place& place = places[i];
    if (place.lock.load() == Place::lost) shadow.has_lost = true;
    if (place.lock.load() == Place::lost || place.owner.load() == Owner::none) continue;
    check(place, "at rest");
    ranges[count++] = {reinterpret_cast<uintptr_t>(place.block), place.usable};
    add_place(shadow, place);
  }
  for (Thread& thread : threads) {
    for (void* block : thread.signal_blocks) shadow.sure += talus_usable_size(block);
  }
  for (const Instance& instance : instances) shadow.unsure += instance.buffer.block_bytes;
  expect_no_overlap(count);
  return shadow;
}

// The helper may move memory from one part to another while they are read, so they are read again.
template <size_t count>
void expect_sum(const char* whole, const char* const (&parts)[count]) {
  for (int tries = 0; tries < 20; tries++) {
    const long before = statistic(whole);
    long sum = 0;
    for (const char* part : parts) sum += statistic(part);
    if (before == statistic(whole) && before == sum) return;
    usleep(1000);
  }
  fail("the parts of %s", whole);
}

void check_sums() {
  static constexpr const char* heap_parts[] = {"heap.live_small_bytes", "heap.live_large_bytes",
                                               "heap.listed_bytes",     "heap.remote_bytes",
                                               "heap.free_bytes",       "heap.slab_end_bytes",
                                               "heap.kept_bytes",       "heap.large_end_bytes"};
  static constexpr const char* space_parts[] = {"space.given_bytes", "space.retained_bytes",
                                                "space.purging_bytes", "space.clean_bytes"};
  expect_sum("heap.total_bytes", heap_parts);
  expect_sum("space.reserved_bytes", space_parts);
}

// What heap.live_bytes may have beside the blocks of the program. A hardened block is smaller than
// its place, and the places of freed ones that wait count.
long places_beside(size_t live) {
  if (!settings.hardened) return 0;
  const size_t waiting = (settings.threads + 2) * waiting_max;
  return static_cast<long>(waiting + live);
}

void check_live(const Shadow& shadow) {
  const long difference =
      statistic("heap.live_bytes") - live_at_start - static_cast<long>(shadow.sure);
  const long beside = static_cast<long>(shadow.unsure) + places_beside(shadow.sure);
  if (difference >= drift_min && difference <= beside + drift_max) return;
  fail("heap.live_bytes is off by %ld: %zu are live, and maybe %zu", difference, shadow.sure,
       shadow.unsure);
}

}  // namespace

ProcessMemory read_memory() {
  char text[128];
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return {};
  text[length] = 0;
  char* end = nullptr;
  const size_t pages = strtoull(text, &end, 10);
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return {pages * page_bytes, strtoull(end, nullptr, 10) * page_bytes};
}

bool prepare_rest_checks() {
  void* memory = mmap(nullptr, sizeof(Range) * settings.places, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return false;
  ranges = static_cast<Range*>(memory);
  talus_trim(0);
  live_at_start = statistic("heap.live_bytes");
  calls_at_start = statistic("calls.live_bytes");
  resident_at_start = read_memory().resident_bytes;
  return true;
}

void check_at_rest(bool is_exact) {
  self().doing = "checking all at rest";
  const Shadow shadow = check_places();
  for (int i = 0; i < instance_count; i++) check_instance(i);
  for (int i = 0; i < bounded_count; i++) check_bounded(i);
  // Blocks of mapped modes are not in these statistics.
  if (!is_exact || shadow.has_lost || settings.mapped) return;
  check_sums();
  check_live(shadow);
}

void free_all() {
  self().doing = "freeing all";
  for (size_t i = 0; i < settings.places; i++) {
    Place& place = places[i];
    if (place.owner.load() == Owner::none || !place.wait_and_lock()) continue;
    if (place.owner.load() == Owner::bounded) {
      free_in_bounded(place);
    } else if (place.owner.load() != Owner::none) {
      free_any(place, Frees::by_any_call);
    }
    place.unlock();
  }
  for (int i = 0; i < instance_count; i++) end_instance(i, End::by_destroy);
  for (int i = 0; i < bounded_count; i++) {
    for (int tries = 0; tries < 50; tries++) end_bounded(i);  // which it does mostly
  }
  for (Thread& thread : threads) {  // which all stand still, or are not in this process
    for (void*& block : thread.signal_blocks) {
      free(block);
      block = nullptr;
    }
  }
}

void check_emptied(bool is_exact) {
  self().doing = "checking that nothing is left";
  if (!is_exact || settings.mapped) return;
  const long difference = statistic("heap.live_bytes") - live_at_start;
  if (difference < drift_min || difference > drift_max + places_beside(0)) {
    fail("heap.live_bytes is off by %ld after all was freed", difference);
  }
}

void check_ended(size_t resident_before_free) {
  check_emptied(true);
  if (live_bytes.load() != 0) fail("the shadow still has %zu bytes", live_bytes.load());
  for (const char* name :
       {"heap.instances", "heap.provided_live_bytes", "heap.provided_total_bytes"}) {
    if (statistic(name) != 0) fail("%s is %ld at the end", name, statistic(name));
  }
  const long calls = statistic("calls.live_bytes");
  if (calls >= 0 && labs(calls - calls_at_start) > drift_max + uncounted_max) {
    fail("calls.live_bytes is %ld at the end, was %ld", calls, calls_at_start);
  }
  talus_trim(0);
  usleep(20000);
  talus_trim(0);
  const size_t resident = read_memory().resident_bytes;
  const long total = statistic("heap.total_bytes");
  const long given = statistic("space.given_bytes");
  say("resident %zu KiB at first, %zu with all blocks, %zu at the end; %ld bytes live beside them",
      resident_at_start / kib, resident_before_free / kib, resident / kib,
      statistic("heap.live_bytes") - live_at_start);
  if (settings.refusals) return;  // which cost memory
  // Guarded blocks lie beside address space.
  const bool is_right = settings.guarded ? total >= given : total == given;
  if (!is_right && !settings.mapped) {
    fail("heap.total_bytes is %ld at the end, space.given_bytes %ld", total, given);
  }
  if (settings.resident && resident > resident_at_start + resident_drift_max) {
    fail("%zu bytes stay resident", resident - resident_at_start);
  }
}

}  // namespace fuzz
