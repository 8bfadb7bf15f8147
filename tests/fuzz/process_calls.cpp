// SPDX-License-Identifier: MIT
// fuzz/process_calls.cpp: calls of the library that concern no block.
#include "process_calls.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>

#include "places.hpp"
#include "talus/talus.h"

namespace fuzz {
namespace {

int null_descriptor = -1;

template <size_t count>
const char* any_of(const char* const (&texts)[count], size_t used = count) {
  return texts[draw(used)];
}

const char* const option_names[] = {"decay_ms",   "retain_bytes",   "arena_bytes",
                                    "thp",        "TALUS_DECAY_MS", "limit_soft",
                                    "limit_hard", "heaps",          "nonsense"};
constexpr size_t harmless_options = 5;
const char* const option_values[] = {
    "0",      "1",     "10ms",   "1s",       "64K", "1MiB", "4M", "2MiB", "64MiB",
    "128TiB", "never", "always", "adaptive", "",    "-1",   "xx", "50%",  "999999999999999999999"};

const char* const statistic_names[] = {"heap.live_bytes",
                                       "heap.total_bytes",
                                       "space.given_bytes",
                                       "heap.listed_bytes",
                                       "thread.0.list_bytes",
                                       "thread.2.kept_bytes",
                                       "instance.0.live_bytes",
                                       "class.64.live_blocks",
                                       "space.retained_bytes",
                                       "process.minor_faults",
                                       "calls.live_bytes",
                                       "heap.remote_bytes",
                                       "space.metadata_bytes",
                                       "no.such",
                                       "instance.heap1_3.peak_bytes",
                                       "class.65.slabs",
                                       "heap.provided_live_bytes"};

void set_option(const char* name, const char* value) {
  const int answer = called([&] { return talus_set_option(name, value); });
  expect_errno_kept("talus_set_option");
  note(name, value, 0, 0, reinterpret_cast<void*>(static_cast<intptr_t>(answer)));
  if (answer != 0 && answer != EINVAL && answer != ERANGE && answer != ENOENT && answer != EPERM) {
    fail("talus_set_option answers %d", answer);
  }
}

void calm_options() {
  talus_set_option("decay_ms", "100ms");
  talus_set_option("retain_bytes", "16MiB");
  talus_set_option("arena_bytes", "4MiB");
  talus_set_option("thp", "adaptive");
}

// Frees blocks of the default heap, and raises the limit now and then.
int on_limit(size_t) {
  constexpr int nested_max = 2;
  if (this_thread == nullptr || self().handler_depth > nested_max) return 0;
  self().handler_depth++;
  if (one_in(4)) talus_set_limits(0, live_bytes.load() + 8 * mib + draw(64 * mib));
  bool has_freed = false;
  for (int i = 0; i < 20; i++) {
    Place& place = any_place();
    if (place.owner.load() != Owner::process || !place.try_lock()) continue;
    if (place.owner.load() == Owner::process) {
      check(place, "in the handler of the limit");
      void* block = place.block;
      empty(place);
      talus_free(block);
      has_freed = true;
    }
    place.unlock();
  }
  self().handler_depth--;
  return has_freed && !one_in(4) ? 1 : 0;
}

}  // namespace

void prepare_process_calls() {
  null_descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC);
  signal(SIGXFSZ, SIG_IGN);
}

void change_options() {
  self().doing = "changing options";
  const char* name = any_of(
      option_names, settings.limits ? sizeof option_names / sizeof(char*) : harmless_options);
  const char* value = any_of(option_values);
  char bytes[24];
  if (name[0] == 'l' && one_in(2)) {
    snprintf(bytes, sizeof bytes, "%zu", live_bytes.load() / 2 + draw(128 * mib));
    value = bytes;
  }
  set_option(name, value);
  char text[64];
  called([&] { return talus_get_option(name, text, sizeof text); });
  expect_errno_kept("talus_get_option");
  called([&] { return talus_option_source(name, text, 1 + draw(60)); });
  expect_errno_kept("talus_option_source");
  if (one_in(3)) {
    const int which = one_in(2) ? M_TRIM_THRESHOLD : M_MMAP_THRESHOLD;
    if (mallopt(which, one_in(3) ? -1 : static_cast<int>(draw(100 * mib))) != 1) fail("mallopt");
  }
  if (one_in(4)) calm_options();
}

void change_limits() {
  self().doing = "changing limits";
  const size_t live = live_bytes.load();
  size_t soft = 0;
  size_t hard = 0;
  switch (draw(5)) {
    case 0:
      break;
    case 1:
      hard = live + draw(16 * mib);
      break;
    case 2:
      soft = draw(live + 1);
      break;
    case 3:
      hard = draw(live + 1);
      soft = 2 * hard;
      break;
    default:
      hard = live + mib + draw(mib);
      soft = hard - draw(mib);
  }
  called([&] { talus_set_limits(soft, hard); });
  expect_errno_kept("talus_set_limits");
  note("talus_set_limits", nullptr, soft, hard, nullptr);
}

void change_limit_handler() {
  const talus_limit_handler handler = one_in(2) ? on_limit : nullptr;
  called([&] { talus_set_limit_handler(handler); });
  expect_errno_kept("talus_set_limit_handler");
}

void ask_statistics() {
  self().doing = "asking for statistics";
  constexpr uint64_t surely_negative = uint64_t{1} << 60;
  uint64_t value = 0;
  for (int i = 0; i < 3; i++) {
    const char* name = any_of(statistic_names);
    const int answer = called([&] { return talus_get(name, &value); });
    expect_errno_kept("talus_get");
    if (answer != 0 && answer != ENOENT && answer != ENODATA) fail("talus_get answers %d", answer);
    if (answer == 0 && value > surely_negative) fail("%s is negative", name);
  }
  if (one_in(12)) {
    const char* name = one_in(2) ? "resident.total_bytes" : "process.resident_bytes";
    called([&] { return talus_get(name, &value); });
    expect_errno_kept("talus_get");
  }
  if (one_in(8)) {
    const auto format = static_cast<talus_stats_format>(draw(4));
    const int answer = called([&] { return talus_stats_print(null_descriptor, format); });
    expect_errno_kept("talus_stats_print");
    if (answer != 0 && answer != EBUSY) fail("talus_stats_print answers %d", answer);
  }
  if (one_in(10) && mallinfo2().uordblks > surely_negative) fail("mallinfo2 is negative");
  if (!one_in(40)) return;
  FILE* file = fopen("/dev/null", "w");
  if (file == nullptr) return;
  malloc_info(0, file);
  fclose(file);
}

void trim() {
  self().doing = "trimming";
  const size_t bytes = draw(16 * mib);
  switch (draw(4)) {
    case 0:
      called([&] { malloc_trim(one_in(2) ? 0 : bytes / 2); });
      return;
    case 1:
      called([&] { talus_trim(one_in(2) ? 0 : bytes / 2); });
      break;
    case 2:
      called([&] { talus_release(bytes); });
      break;
    default:
      called([] { talus_trim(SIZE_MAX); });
  }
  expect_errno_kept("talus_trim or talus_release");
}

}  // namespace fuzz
