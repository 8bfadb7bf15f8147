// B13, glibc simple: n allocations of one size, then n frees in the same order, for several n.
//
// Measures: the bare cost of a malloc and free pair of untouched blocks in the three situations
// that glibc distinguishes. These are the main thread of a single-threaded process, a second
// thread, and the main thread after a second thread has existed.
// Method: for n of 25, 100, 400, 1600, rounds of n pairs that make up `ops` pairs, each setting
// timed as a whole. Figures are nanoseconds per pair. The JSON has the keys of glibc's own
// benchmark. An untimed warm-up first stamps and checks every block. The timed part leaves the
// memory untouched, as in the original.
// Differs from its model: more pairs per figure, so that the whole runs for about a second.
//
// SPDX-License-Identifier: MIT

#include <sys/resource.h>

#include "workload.hpp"

namespace {

constexpr size_t batch_sizes[] = {25, 100, 400, 1600};
constexpr size_t batch_sizes_count = sizeof batch_sizes / sizeof batch_sizes[0];
constexpr size_t batch_max = 1600;
constexpr double ops_default = 6e6;

struct Setting {
  size_t block_bytes;
  size_t ops;  // pairs per figure
  uint64_t pairs_done;
  double elapsed_s;
};

void* blocks[batch_max];

double time_batches(Setting& setting, size_t batch) {
  const size_t rounds = setting.ops / batch == 0 ? 1 : setting.ops / batch;
  const double start_s = bench::now_s();
  for (size_t round = 0; round < rounds; round++) {
    for (size_t at = 0; at < batch; at++) blocks[at] = bench::take(setting.block_bytes);
    for (size_t at = 0; at < batch; at++) bench::give(blocks[at]);
  }
  const double elapsed_s = bench::now_s() - start_s;
  const uint64_t pairs = static_cast<uint64_t>(rounds) * batch;
  setting.pairs_done += pairs;
  setting.elapsed_s += elapsed_s;
  return elapsed_s * 1e9 / static_cast<double>(pairs);
}

void warm_up_and_check(const Setting& setting) {
  for (size_t round = 0; round < 16; round++) {
    for (size_t at = 0; at < batch_max; at++) {
      blocks[at] = bench::take(setting.block_bytes);
      bench::stamp(blocks[at], setting.block_bytes, bench::tag_of(at));
    }
    for (size_t at = 0; at < batch_max; at++) {
      bench::check_stamp(blocks[at], setting.block_bytes, bench::tag_of(at));
      bench::give(blocks[at]);
    }
  }
}

struct Figures {
  double main_single[batch_sizes_count];
  double main_multi[batch_sizes_count];
  double thread[batch_sizes_count];
};

struct SecondThread {
  Setting* setting;
  Figures* figures;

  void operator()(size_t) {
    warm_up_and_check(*setting);
    for (size_t at = 0; at < batch_sizes_count; at++) {
      figures->thread[at] = time_batches(*setting, batch_sizes[at]);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  arguments.threads(2);  // accepted for a uniform command line; the method fixes it at 1 + 1
  Setting setting{};
  setting.block_bytes = arguments.count("size", 16);
  setting.ops = bench::scaled(arguments.real("ops", ops_default), scale);
  arguments.finish();

  Figures figures{};
  warm_up_and_check(setting);
  for (size_t at = 0; at < batch_sizes_count; at++) {
    figures.main_single[at] = time_batches(setting, batch_sizes[at]);
  }
  SecondThread second{&setting, &figures};
  bench::Team<SecondThread> team(1, second);
  team.join();
  for (size_t at = 0; at < batch_sizes_count; at++) {
    figures.main_multi[at] = time_batches(setting, batch_sizes[at]);
  }

  const double mean_ns = setting.elapsed_s * 1e9 / static_cast<double>(setting.pairs_done);
  bench::Result result("B13 glibc simple", 2, mean_ns, "ns/pair", false, 2 * setting.pairs_done,
                       setting.elapsed_s);
  const struct {
    const char* prefix;
    const double* values;
  } groups[] = {{"main_arena_st_allocs", figures.main_single},
                {"main_arena_mt_allocs", figures.main_multi},
                {"thread_arena__allocs", figures.thread}};
  for (const auto& group : groups) {
    for (size_t at = 0; at < batch_sizes_count; at++) {
      char key[64];
      std::snprintf(key, sizeof key, "%s_%04zu_time", group.prefix, batch_sizes[at]);
      result.number(key, group.values[at]);
    }
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  result.count("malloc_block_size", setting.block_bytes);
  result.count("max_rss", static_cast<uint64_t>(usage.ru_maxrss));
  result.count("peak_requested_bytes", batch_max * setting.block_bytes);
  result.print();
  return 0;
}
