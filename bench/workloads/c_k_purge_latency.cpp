// Complaint k: one thread returns memory, and another thread's small mallocs wait for it.
//
// Measures: the tail of the time of a 64-byte malloc while another thread frees hundreds of
// megabytes and makes the allocator return them to the system.
// Method: the releasing thread repeatedly fills 256 MB with blocks of 64 KiB to 1 MiB (one write a
// page), frees them and trims. It starts once each tenth of a second, or when it is done, so that
// fast allocators do not have more of it. Meanwhile the other thread has a request every 10 us,
// which replaces the oldest of 1000 blocks of 64 bytes. A request's time runs from its due time, so
// a stall counts for all requests that queue behind it.
// Figure: microseconds of a round's 99.9th percentile, in the median round (relative_time:
// milliseconds). The percentile of all requests together is p999_us. It depends on single
// milliseconds of other work on the machine, which delay a hundred requests: the same allocator
// shows 20 us or 30 ms. The allocator's own delays occur in each round. The median, the 99th
// percentile and the maximum are reported too. p999_quiet_us is the percentile before the releasing
// thread begins.
//
// SPDX-License-Identifier: MIT

#include <algorithm>

#include "histogram.hpp"
#include "workload.hpp"

namespace {

constexpr double rounds_default = 12;
constexpr size_t rounds_min = 9;  // the least number for a meaningful median
constexpr size_t rounds_max = 1000;
constexpr double bytes_default = 256e6;
constexpr double request_s = 10e-6;
constexpr double round_s = 0.1;  // for 10,000 requests, of which ten are the tail
constexpr double quiet_default_s = 0.5;
constexpr size_t large_min = 64 << 10;
constexpr size_t large_max = 1 << 20;
constexpr size_t large_slots = 8192;
constexpr size_t small_bytes = 64;
constexpr size_t small_slots = 1000;

// Times in ns; the error of a quantile is about six percent.
using Times = bench::Histogram<4>;

double us(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

constexpr double tail = 0.999;

// The tail of each round. Only the thread with the requests uses it.
class RoundTails {
 public:
  // `round` never decreases, and is at most rounds_max. The tail of a round with fewer than a
  // thousand requests is its maximum.
  void add(size_t round, uint64_t ns) {
    if (round != round_) end_round(round);
    current_.add(ns);
  }

  void end_round(size_t next_round) {
    if (current_.total() > 0) tails_us_[count_++] = us(current_.quantile(tail));
    current_ = Times();
    round_ = next_round;
  }

  size_t count() const { return count_; }

  // Call after the last end_round().
  double median_us() {
    if (count_ == 0) return 0;
    std::sort(tails_us_, tails_us_ + count_);
    return (tails_us_[(count_ - 1) / 2] + tails_us_[count_ / 2]) / 2;
  }

 private:
  Times current_;
  double tails_us_[rounds_max] = {};
  size_t count_ = 0;
  size_t round_ = 0;
};

struct PurgeLatency {
  size_t rounds;
  size_t bytes;
  Times requests;
  Times quiet_requests;
  RoundTails tails;
  uint64_t large_blocks = 0;
  uint64_t live_peak = 0;
  bench::Slot large[large_slots];
  bench::Slot small[small_slots];
  bench::StartGate gate;
  double quiet_s;
  std::atomic<size_t> shared_rounds_begun{0};  // 0: quiet
  std::atomic<bool> shared_is_stopped{false};

  void release_repeatedly() {
    bench::Random random(754);
    bench::sleep_s(quiet_s);
    for (size_t round = 0; round < rounds; round++) {
      const double begun_s = bench::now_s();
      shared_rounds_begun.store(round + 1, std::memory_order_relaxed);
      size_t count = 0;
      uint64_t taken = 0;
      for (; taken < bytes && count < large_slots; count++) {
        large[count].fill(large_min + random.below(large_max - large_min),
                          bench::tag_of(random.next()));
        taken += large[count].bytes;
      }
      for (size_t at = 0; at < count; at++) large[at].empty();
      bench::trim(bench::TrimTime::each_round);
      large_blocks += count;
      if (taken > live_peak) live_peak = taken;
      const double left_s = round_s - (bench::now_s() - begun_s);
      if (left_s > 0) bench::sleep_s(left_s);
    }
    shared_is_stopped.store(true, std::memory_order_release);
  }

  void serve_requests() {
    uint64_t number = 0;
    const double first_s = bench::now_s();
    while (!shared_is_stopped.load(std::memory_order_acquire)) {
      const double due_s = first_s + static_cast<double>(number) * request_s;
      while (bench::now_s() < due_s) {}
      bench::Slot& slot = small[number % small_slots];
      slot.empty();
      slot.fill(small_bytes, bench::tag_of(++number));
      const size_t round = shared_rounds_begun.load(std::memory_order_relaxed);
      const auto late_ns = static_cast<uint64_t>((bench::now_s() - due_s) * 1e9);
      if (round == 0) {
        quiet_requests.add(late_ns);
      } else {
        requests.add(late_ns);
        tails.add(round, late_ns);
      }
    }
    tails.end_round(0);
    for (bench::Slot& slot : small) slot.empty();
  }

  void operator()(size_t thread) {
    gate.wait();
    if (thread == 0) {
      release_repeatedly();
    } else {
      serve_requests();
    }
  }
};

PurgeLatency work;

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  arguments.threads(2);  // accepted for a uniform command line; the method fixes it
  const size_t rounds = bench::scaled(arguments.real("rounds", rounds_default), scale);
  work.rounds = std::min(std::max(rounds, rounds_min), rounds_max);
  work.bytes = bench::scaled(arguments.real("bytes", bytes_default), scale < 0.1 ? 0.1 : 1);
  work.quiet_s = quiet_default_s * scale;
  arguments.finish();

  bench::Team<PurgeLatency> team(2, work);
  const double start_s = work.gate.open(2);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  const double tail_us = work.tails.median_us();
  const uint64_t pairs = work.requests.total() + work.quiet_requests.total() + work.large_blocks;
  bench::Result result("Ck purge latency", 2, tail_us, "us", false, 2 * pairs, elapsed_s);
  result.number("relative_time", tail_us / 1e3);
  result.count("rounds", work.tails.count());
  result.number("p999_us", us(work.requests.quantile(tail)));
  result.number("p999_quiet_us", us(work.quiet_requests.quantile(tail)));
  result.number("p50_us", us(work.requests.quantile(0.5)));
  result.number("p99_us", us(work.requests.quantile(0.99)));
  result.number("max_us", us(work.requests.max()));
  result.count("peak_requested_bytes", work.live_peak);
  result.print();
  return 0;
}
