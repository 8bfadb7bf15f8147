// B6, alloc-test: random traffic over private slots, most of it on a few slots.
//
// Measures: one thread's allocate and free in the pattern of a long-running program: small sizes
// common, large ones rare, most activity in a few places. Every byte is written and read.
// Method: slots / T slots per thread, about half of them full at the start. A step picks a slot. If
// it is full, its bytes are read and it is freed. If it is empty, it gets a block that is written
// whole.
// Size: octave k in 2 .. exponent-1, each half as likely as the one before, uniform in [2^k + 1,
// 2^(k+1)]. Slot: an 80/20 law nested six times (bucket_of below).
// Differs from its model: the bytes read must be the bytes written. SplitMix64 supplies the random
// numbers.
//
// SPDX-License-Identifier: MIT

#include "live_peak.hpp"

namespace {

constexpr size_t slots_default = size_t{1} << 18;
constexpr size_t exponent_default = 10;
constexpr double steps_default = 3e7;  // of all threads together
constexpr size_t nesting = 6;          // nesting depth of the 80/20 law
constexpr size_t buckets = nesting + 1;
constexpr size_t steps_per_sample = 4096;

struct Slot {
  unsigned char* block;
  uint32_t bytes;
  uint32_t tag;
};

// Bucket k is drawn with probability C(6,k) 0.8^(6-k) 0.2^k and covers the share
// C(6,k) 0.2^(6-k) 0.8^k of all slots: bucket 0 is tiny and hot.
class SlotPicker {
 public:
  explicit SlotPicker(size_t slots) {
    double chance_sum = 0;
    double share_sum = 0;
    double choose = 1;
    for (size_t k = 0; k < buckets; k++) {
      first_slot_[k] = static_cast<uint32_t>(share_sum * static_cast<double>(slots));
      double chance = choose;
      double share = choose;
      for (size_t factor = 0; factor < nesting; factor++) {
        chance *= factor < k ? 0.2 : 0.8;
        share *= factor < k ? 0.8 : 0.2;
      }
      chance_sum += chance;
      share_sum += share;
      chance_limit_[k] = static_cast<uint32_t>(chance_sum * 4294967295.0);
      choose = choose * static_cast<double>(nesting - k) / static_cast<double>(k + 1);
    }
    first_slot_[buckets] = static_cast<uint32_t>(slots);
    chance_limit_[buckets - 1] = UINT32_MAX;  // the sum is 1 up to rounding
  }

  size_t pick(bench::Random& random) const {
    const uint32_t chance = static_cast<uint32_t>(random.next());
    size_t k = 0;
    while (chance > chance_limit_[k]) k++;
    // An empty bucket, as with very few slots, uses its first neighbour's slot.
    const uint32_t width = first_slot_[k + 1] - first_slot_[k];
    const size_t slot = first_slot_[k] + random.below(width == 0 ? 1 : width);
    return slot < first_slot_[buckets] ? slot : first_slot_[buckets] - 1;
  }

 private:
  uint32_t chance_limit_[buckets];
  uint32_t first_slot_[buckets + 1];
};

size_t size_of_draw(bench::Random& random, size_t exponent) {
  const uint64_t draw = random.next();
  const uint64_t b = (draw & ((uint64_t{1} << (exponent - 3)) - 1)) + 1;
  const unsigned k = static_cast<unsigned>(__builtin_ctzll(b)) + 2;
  return ((draw >> 32) & ((uint64_t{1} << k) - 1)) + 1 + (uint64_t{1} << k);
}

struct AllocTest {
  size_t threads;
  size_t slots_per_thread;
  size_t steps_per_thread;
  size_t exponent;
  uint64_t seed;
  Slot* slots[bench::threads_max];
  bench::LivePeak peak;
  bench::PaddedCounter ops[bench::threads_max];
  bench::StartGate gate;

  void fill(Slot& slot, bench::Random& random) const {
    slot.bytes = static_cast<uint32_t>(size_of_draw(random, exponent));
    slot.tag = static_cast<uint32_t>(random.next() & 0xFF);
    slot.block = static_cast<unsigned char*>(bench::take(slot.bytes));
    std::memset(slot.block, static_cast<int>(slot.tag), slot.bytes);
  }

  static void empty(Slot& slot) {
    uint64_t sum = 0;
    for (uint32_t at = 0; at < slot.bytes; at++) sum += slot.block[at];
    if (sum != uint64_t{slot.tag} * slot.bytes) {
      bench::leave(bench::exit_wrong_data, "a block holds other bytes than were written");
    }
    bench::give(slot.block);
    slot.block = nullptr;
  }

  void operator()(size_t thread) {
    bench::Random random(seed + thread * 1000003);
    const SlotPicker picker(slots_per_thread);
    Slot* own = slots[thread];
    int64_t live = 0;
    int64_t done = 0;
    gate.wait();
    for (size_t at = 0; at < slots_per_thread; at++) {
      own[at].block = nullptr;
      if ((random.next() & 1) == 0) continue;
      fill(own[at], random);
      live += own[at].bytes;
      done++;
    }
    for (size_t step = 0; step < steps_per_thread; step++) {
      Slot& slot = own[picker.pick(random)];
      if (slot.block == nullptr) {
        fill(slot, random);
        live += slot.bytes;
      } else {
        live -= slot.bytes;
        empty(slot);
      }
      if (step % steps_per_sample == 0) peak.sample(thread, threads, live);
    }
    done += static_cast<int64_t>(steps_per_thread);
    for (size_t at = 0; at < slots_per_thread; at++) {
      if (own[at].block == nullptr) continue;
      empty(own[at]);
      done++;
    }
    ops[thread].set(done);
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  static AllocTest work;
  work.threads = arguments.threads(bench::cores() < 16 ? bench::cores() : 16);
  work.slots_per_thread =
      bench::scaled(static_cast<double>(arguments.count("slots", slots_default) / work.threads), 1);
  work.exponent = arguments.count("exponent", exponent_default);
  work.seed = arguments.count("seed", 41);
  const double steps = arguments.real("steps", steps_default) * scale;
  work.steps_per_thread = bench::scaled(steps / static_cast<double>(work.threads), 1);
  arguments.finish();
  if (work.exponent < 4 || work.exponent > 30) {
    bench::leave(bench::exit_wrong_arguments, "--exponent must be in 4..30");
  }
  for (size_t thread = 0; thread < work.threads; thread++) {
    work.slots[thread] = bench::take_array<Slot>(work.slots_per_thread);
  }

  bench::Team<AllocTest> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  uint64_t ops = 0;
  for (size_t thread = 0; thread < work.threads; thread++)
    ops += static_cast<uint64_t>(work.ops[thread].get());
  const uint64_t tables = work.threads * work.slots_per_thread * sizeof(Slot);
  bench::Result result("B6 alloc-test", work.threads, elapsed_s, "s", false, ops, elapsed_s);
  result.count("peak_requested_bytes", work.peak.bytes(work.threads) + tables);
  result.print();
  return 0;
}
