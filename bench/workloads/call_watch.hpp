// The time of single calls, and what delayed the long ones.
//
// Owns: the processor's clock with its calibrated cost, one watch for each thread, and the sum of
// all watches. A long call is explained by what the kernel counted for the thread during that call:
// a preemption, a wait, or a page fault. Else it has no explanation.
// Method: reading the kernel's counts at each call would take longer than the call. So they are
// read after a call of at least notice_ns, and before a call that begins that long after the last
// one. A fault or a switch takes longer than notice_ns, so no count of one call falls to another.
// Beside each pair of calls a stretch of work without an allocator is timed in the same way. It
// shows the machine's share: interrupts, and time that a hypervisor gives to others.
// Invariant: nothing here allocates. Percentiles leave out preempted calls, whose number is told.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>

#include "histogram.hpp"
#include "workload.hpp"

namespace bench {

#if defined(__x86_64__)
// No instruction of the call moves before begin or behind end.
inline uint64_t ticks_at_begin() {
  uint32_t low, high;
  __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
  return (uint64_t{high} << 32) | low;
}
inline uint64_t ticks_at_end() {
  uint32_t low, high;
  __asm__ volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high) : : "rcx", "memory");
  return (uint64_t{high} << 32) | low;
}
#elif defined(__aarch64__)
inline uint64_t ticks_at_begin() {
  uint64_t ticks;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
  return ticks;
}
inline uint64_t ticks_at_end() { return ticks_at_begin(); }
#else
inline uint64_t ticks_at_begin() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}
inline uint64_t ticks_at_end() { return ticks_at_begin(); }
#endif

inline constexpr double notice_ns = 250;
inline constexpr double frame_limit_ns = 5e3;
inline constexpr double long_ns = 100e3;

// How the ticks relate to time. Set once, before the threads begin.
struct TickClock {
  double ns_per_tick = 1;
  uint64_t overhead = 0;  // of a begin and an end with nothing between them
  uint64_t notice = 0;
  uint64_t frame_limit = 0;
  uint64_t long_limit = 0;

  void calibrate() {
    constexpr double span_s = 0.02;
    const double begun_s = now_s();
    const uint64_t begun = ticks_at_begin();
    double ended_s = begun_s;
    while (ended_s - begun_s < span_s) ended_s = now_s();
    ns_per_tick = (ended_s - begun_s) * 1e9 / static_cast<double>(ticks_at_end() - begun);
    overhead = UINT64_MAX;
    for (int left = 20000; left > 0; left--) {
      const uint64_t begin = ticks_at_begin();
      const uint64_t took = ticks_at_end() - begin;
      if (took < overhead) overhead = took;
    }
    notice = of_ns(notice_ns);
    frame_limit = of_ns(frame_limit_ns);
    long_limit = of_ns(long_ns);
  }
  uint64_t of_ns(double ns) const { return static_cast<uint64_t>(ns / ns_per_tick); }
  double ns(uint64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick; }
};
inline TickClock tick_clock;

enum class Cause { preempted, waited, faulted, none };
inline constexpr size_t causes = 4;
inline constexpr const char* cause_names[causes] = {"preempted", "waited", "faulted",
                                                    "unexplained"};

enum class Call { take, give, no_call };
inline constexpr size_t call_kinds = 3;
inline constexpr const char* call_names[call_kinds] = {"malloc", "free", "machine"};

// All calls of one kind.
struct CallTimes {
  Histogram<5> ticks;  // without the preempted ones
  uint64_t worst[causes] = {};
  uint64_t above_frame_limit[causes] = {};
  uint64_t above_long_limit[causes] = {};

  void add(uint64_t took, Cause cause) {
    if (cause != Cause::preempted) ticks.add(took);
    const auto at = static_cast<size_t>(cause);
    if (took > worst[at]) worst[at] = took;
    if (took > tick_clock.frame_limit) above_frame_limit[at]++;
    if (took > tick_clock.long_limit) above_long_limit[at]++;
  }

  void add_all(const CallTimes& other) {
    ticks.add_all(other.ticks);
    for (size_t at = 0; at < causes; at++) {
      if (other.worst[at] > worst[at]) worst[at] = other.worst[at];
      above_frame_limit[at] += other.above_frame_limit[at];
      above_long_limit[at] += other.above_long_limit[at];
    }
  }
};

class CallWatch {
 public:
  // For the thread that uses the watch from now on. Threads may use it one after the other.
  void begin() {
    catch_up();
    last_end_ = ticks_at_end();
  }

  // Drops what was timed so far, as a warm-up.
  void forget() {
    for (CallTimes& times : times_) times = CallTimes();
  }

  // The ticks of body(), without the clock's own.
  template <class Body>
  uint64_t time(Call kind, Body&& body) {
    uint64_t begin = ticks_at_begin();
    if (begin - last_end_ > tick_clock.notice) {
      catch_up();
      begin = ticks_at_begin();
    }
    body();
    last_end_ = ticks_at_end();
    const uint64_t whole = last_end_ - begin;
    const uint64_t took = whole > tick_clock.overhead ? whole - tick_clock.overhead : 0;
    Cause cause = Cause::none;
    if (whole > tick_clock.notice) {
      cause = catch_up();
      last_end_ = ticks_at_end();
    }
    times_[static_cast<size_t>(kind)].add(took, cause);
    return took;
  }

  template <class Blocks>
  void* take(Blocks& blocks, size_t bytes) {
    void* block = nullptr;
    last_call_ = time(Call::take, [&] { block = blocks.take(bytes); });
    return block;
  }

  template <class Blocks>
  void give(Blocks& blocks, void* block) {
    last_call_ = time(Call::give, [&] { blocks.give(block); });
  }

  // A stretch about as long as a call.
  void take_nothing() {
    time(Call::no_call, [] {
      uint64_t value = 1;
      for (int left = 12; left > 0; left--) {
        value *= 0x9E3779B97F4A7C15u;
        __asm__ volatile("" : "+r"(value));
      }
    });
  }

  uint64_t last_call() const { return last_call_; }
  const CallTimes& of(size_t kind) const { return times_[kind]; }

 private:
  Cause catch_up() {
    rusage now;
    if (getrusage(RUSAGE_THREAD, &now) != 0) return Cause::none;
    const Cause cause = now.ru_nivcsw != seen_.ru_nivcsw ? Cause::preempted
                        : now.ru_nvcsw != seen_.ru_nvcsw ? Cause::waited
                        : now.ru_minflt != seen_.ru_minflt || now.ru_majflt != seen_.ru_majflt
                            ? Cause::faulted
                            : Cause::none;
    seen_ = now;
    return cause;
  }

  CallTimes times_[call_kinds];
  rusage seen_ = {};
  uint64_t last_end_ = 0;
  uint64_t last_call_ = 0;
};

// Reports all watches, and returns the 99.99th percentile of malloc and free together in ns.
class WatchReport {
 public:
  void add(const CallWatch& watch) {
    for (size_t kind = 0; kind < call_kinds; kind++) times_[kind].add_all(watch.of(kind));
  }

  double tail_ns() const {
    static Histogram<5> both;
    both = times_[0].ticks;
    both.add_all(times_[1].ticks);
    return tick_clock.ns(both.quantile(0.9999));
  }

  uint64_t calls() const { return times_[0].ticks.total() + times_[1].ticks.total(); }

  template <class Report>
  void print_to(Report& result) const {
    result.number("clock_ns", tick_clock.ns(tick_clock.overhead));
    for (size_t kind = 0; kind < call_kinds; kind++) {
      const CallTimes& times = times_[kind];
      const auto named = [&](const char* format, const char* name, auto value) {
        char text[64];
        std::snprintf(text, sizeof text, format, call_names[kind], name);
        result.number(text, static_cast<double>(value));
      };
      constexpr struct {
        const char* name;
        double share;
      } quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999}};
      for (const auto& one : quantiles) {
        named("%s_%s_ns", one.name, tick_clock.ns(times.ticks.quantile(one.share)));
      }
      for (size_t at = 0; at < causes; at++) {
        named("%s_worst_%s_ns", cause_names[at], tick_clock.ns(times.worst[at]));
        named("%s_above_5us_%s", cause_names[at], times.above_frame_limit[at]);
        named("%s_above_100us_%s", cause_names[at], times.above_long_limit[at]);
      }
    }
  }

 private:
  CallTimes times_[call_kinds];
};

}  // namespace bench
