// B4, mstress: threads of one iteration grow private heaps and exchange blocks.
//
// Measures: a mixture of short-lived and retained blocks, growing arrays, blocks that change
// threads, and heaps whose thread ends while others still use its blocks.
// Method: each iteration has T new threads, the first of them main itself. Thread t may allocate
// 100 * load * (t mod 8 + 1) blocks and retains half as many more. A step allocates 2^(r mod 5)
// words into an array that grows by realloc, or 2^(r mod 7) words to retain until the end. Two
// steps in three free an own block, one in four exchanges a block with a shared table of 1000
// slots. One block in fifty is 100 to 10000 times larger. After an iteration each shared slot is
// freed with an even chance, after the last one all are. Figure: elapsed time.
// Differs from its model: each word holds (words left XOR a cookie of this block), not a cookie of
// all blocks, so that a second owner is noticed. The cookie is in the pointer's unused bits.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t shared_slots = 1000;
constexpr size_t load_default = 50;
constexpr size_t iterations_default = 100;
constexpr size_t array_growth = 100000;
constexpr size_t words_max = 64 * 10000;
constexpr unsigned address_bits = 48;
constexpr uint64_t address_mask = (uint64_t{1} << address_bits) - 1;

// A pointer and its block's cookie seed above it; zero: no block.
using Held = uint64_t;

uint64_t cookie_of(Held held) { return bench::tag_of(held >> address_bits) * uint64_t{0xbf58477}; }
uint64_t* words_of(Held held) { return reinterpret_cast<uint64_t*>(held & address_mask); }

struct Threads {
  size_t threads;
  size_t load;
  size_t iteration;
  std::atomic<Held> shared_slot[shared_slots];
  bench::PaddedCounter ops[bench::threads_max];
  bench::PaddedCounter
      live_bytes[bench::threads_max];  // one may be negative: blocks change threads
  bench::PaddedCounter peak_bytes;     // of thread 0, which samples all threads
};

Threads work;

class Life {
 public:
  explicit Life(size_t thread)
      : thread_(thread),
        random_((work.iteration << 20) + 43 * (thread + 1)),
        live_bytes_(work.live_bytes[thread].get()) {}

  void run() {
    size_t to_allocate = 100 * work.load * (thread_ % 8 + 1);
    size_t to_retain = to_allocate / 2;
    retained_ = bench::take_array<Held>(to_retain);
    live_bytes_ += static_cast<int64_t>(to_retain * sizeof(Held));
    while (to_allocate > 0 || to_retain > 0) {
      if (to_retain == 0 || (to_allocate > 0 && has_chance(50))) {
        to_allocate--;
        if (used_ == capacity_) grow();
        array_[used_++] = take(size_t{1} << random_.below(5));
      } else {
        to_retain--;
        retained_[retained_count_++] = take(size_t{1} << random_.below(7));
      }
      if (has_chance(66) && used_ > 0) give_at(random_.below(used_));
      if (has_chance(25) && used_ > 0) trade(random_.below(used_));
      if (to_allocate % 512 == 0) sample();
    }
    for (size_t at = 0; at < retained_count_; at++) give(retained_[at]);
    for (size_t at = 0; at < used_; at++) give_at(at);
    bench::give(retained_);
    bench::give(array_);
    live_bytes_ -= static_cast<int64_t>((retained_count_ + capacity_) * sizeof(Held));
    finish();
  }

  void give(Held held) {
    if (held == 0) return;
    uint64_t* words = words_of(held);
    const uint64_t cookie = cookie_of(held);
    const uint64_t count = words[0] ^ cookie;
    bool is_intact = count >= 1 && count <= words_max;
    for (uint64_t at = 0; is_intact && at < count; at++) {
      is_intact = (words[at] ^ cookie) == count - at;
    }
    if (!is_intact) bench::leave(bench::exit_wrong_data, "a word lost its value: blocks overlap");
    bench::give(words);
    live_bytes_ -= static_cast<int64_t>(count * sizeof(uint64_t));
    ops_++;
  }

  // At most, not below: the model's chance of 1 is two percent.
  bool has_chance(unsigned percent) { return random_.below(100) <= percent; }
  void finish() {
    sample();
    work.ops[thread_].add(ops_);
  }

 private:
  void sample() {
    work.live_bytes[thread_].set(live_bytes_);
    if (thread_ != 0) return;
    int64_t sum = 0;
    for (size_t other = 0; other < work.threads; other++) sum += work.live_bytes[other].get();
    if (sum > work.peak_bytes.get()) work.peak_bytes.set(sum);
  }

  Held take(size_t words) {
    if (has_chance(1)) words *= has_chance(1) ? 10000 : has_chance(10) ? 1000 : 100;
    auto* block = static_cast<uint64_t*>(bench::take(words * sizeof(uint64_t)));
    const uint64_t address = reinterpret_cast<uint64_t>(block);
    if ((address & ~address_mask) != 0) {
      bench::leave(bench::exit_wrong_arguments, "addresses above 48 bits are not supported");
    }
    const Held held = address | (random_.next() << address_bits);
    const uint64_t cookie = cookie_of(held);
    for (size_t at = 0; at < words; at++) block[at] = (words - at) ^ cookie;
    live_bytes_ += static_cast<int64_t>(words * sizeof(uint64_t));
    ops_++;
    return held;
  }

  void grow() {
    capacity_ += array_growth;
    live_bytes_ += static_cast<int64_t>(array_growth * sizeof(Held));
    array_ = static_cast<Held*>(bench::resize(array_, capacity_ * sizeof(Held)));
    ops_++;
  }

  void give_at(size_t at) {
    give(array_[at]);
    array_[at] = 0;
  }

  void trade(size_t at) {
    std::atomic<Held>& slot = work.shared_slot[random_.below(shared_slots)];
    array_[at] = slot.exchange(array_[at], std::memory_order_acq_rel);
  }

  size_t thread_;
  bench::Random random_;
  Held* array_ = nullptr;
  size_t used_ = 0;
  size_t capacity_ = 0;
  Held* retained_ = nullptr;
  size_t retained_count_ = 0;
  int64_t live_bytes_;
  int64_t ops_ = 0;
};

struct Iteration {
  void operator()(size_t index) { Life(index + 1).run(); }  // thread 0 is main
};

void clear_shared(size_t percent, bench::Random& random) {
  Life life(0);
  for (auto& slot : work.shared_slot) {
    if (random.below(100) < percent) life.give(slot.exchange(0));
  }
  life.finish();
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  work.threads = arguments.threads(bench::cores());
  work.load = arguments.count("load", load_default);
  const size_t iterations =
      bench::scaled(static_cast<double>(arguments.count("iterations", iterations_default)), scale);
  arguments.finish();

  bench::Random random(77);
  const double start_s = bench::now_s();
  for (work.iteration = 0; work.iteration < iterations; work.iteration++) {
    Iteration others;
    bench::Team<Iteration> team(work.threads - 1, others);
    Life(0).run();
    team.join();
    clear_shared(work.iteration + 1 == iterations ? 100 : 50, random);
  }
  const double elapsed_s = bench::now_s() - start_s;

  uint64_t ops = 0;
  for (size_t thread = 0; thread < work.threads; thread++)
    ops += static_cast<uint64_t>(work.ops[thread].get());
  bench::Result result("B4 mstress", work.threads, elapsed_s, "s", false, ops, elapsed_s);
  result.count("iterations", iterations);
  result.count("peak_requested_bytes", static_cast<uint64_t>(work.peak_bytes.get()));
  result.print();
  return 0;
}
