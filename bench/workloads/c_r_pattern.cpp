// Complaint r: a program whose parameters are drawn at random, to find what no row measures.
//
// Measures: processor time and peak memory of one pattern. `python3 -m bench.cliffs` compares the
// allocators on many, and tells where one is far behind the best.
// Method: --seed N draws the number of threads, the order of allocations and frees, the sizes, the
// bytes that are live, and how much of a block is written. The same seed is the same pattern on
// each machine, but for the number of steps, which --scale multiplies. Figure: nanoseconds a step.
// The result names the pattern, so that a finding can become a row.
//
// SPDX-License-Identifier: MIT

#include <cmath>

#include "workload.hpp"

namespace {

enum class Order {
  replace,
  fifo,
  lifo,
  batch,
  waves,
  phases,
  pass_on,
  shared,
  grow,
  resize,
  zeroed,
  aligned
};
constexpr const char* order_names[] = {"replace", "fifo",   "lifo", "batch",  "waves",  "phases",
                                       "pass on", "shared", "grow", "resize", "zeroed", "aligned"};
constexpr size_t order_count = sizeof order_names / sizeof order_names[0];

enum class Sizes { one, uniform, logarithmic, few };
constexpr const char* size_names[] = {"one size", "uniform", "logarithmic", "few sizes"};

constexpr size_t few_max = 8;
constexpr size_t slots_max = 2'000'000;
constexpr size_t bytes_min = 16, bytes_max = 8 << 20;
constexpr size_t passed_on_max = 1024;
constexpr double budget_ns = 2.5e8;  // of all threads, by the estimate below

// What a seed stands for.
struct Pattern {
  size_t threads = 1;
  Order order{};
  Sizes sizes{};
  bool is_written = false;  // all of each block; else a byte of each page
  size_t least = 0, most = 0;
  size_t few[few_max] = {};
  size_t few_count = 0;
  size_t live_bytes = 0;

  size_t size(bench::Random& random) const {
    switch (sizes) {
      case Sizes::one:
        return least;
      case Sizes::uniform:
        return least + random.below(most - least + 1);
      case Sizes::logarithmic:
        return logarithmic(random);
      case Sizes::few:
        return few[random.below(few_count)];
    }
    return least;
  }
  size_t logarithmic(bench::Random& random) const {
    const double span = std::log2(static_cast<double>(most) / static_cast<double>(least));
    const double part = random.below(1 << 20) / static_cast<double>(1 << 20);
    return static_cast<size_t>(static_cast<double>(least) * std::exp2(span * part));
  }
  double mean_size() const {
    constexpr int draws = 2000;
    bench::Random random(99);
    double sum = 0;
    for (int i = 0; i < draws; i++) sum += static_cast<double>(size(random));
    return sum / draws;
  }
  // A rough guess, which makes all patterns take about as long.
  double step_ns() const {
    const double mean = mean_size();
    const double clearing = order == Order::zeroed ? mean / 8 : 0;
    const double fresh = mean > 32768 ? mean / 16 : 0;
    return 30 + (is_written ? mean / 8 : mean / 4096 * 30) + clearing + fresh;
  }
  size_t slots() const {
    const double wanted =
        static_cast<double>(live_bytes) / mean_size() / static_cast<double>(threads);
    return wanted < 1 ? 1 : wanted > slots_max ? slots_max : static_cast<size_t>(wanted);
  }
};

double draw(bench::Random& random, double from, double to) {
  return from + (to - from) * random.below(1 << 20) / static_cast<double>(1 << 20);
}

Pattern pattern_of(uint64_t seed) {
  constexpr size_t thread_counts[] = {1, 1, 1, 2, 2, 4, 8};
  bench::Random random(seed);
  Pattern drawn;
  drawn.threads = thread_counts[random.below(sizeof thread_counts / sizeof thread_counts[0])];
  drawn.order = static_cast<Order>(random.below(order_count));
  drawn.sizes = static_cast<Sizes>(random.below(4));
  drawn.is_written = random.below(2) != 0;
  const double exponent = draw(random, 4, 20), span = draw(random, 0, 6);
  drawn.least = static_cast<size_t>(std::exp2(exponent));
  drawn.most = static_cast<size_t>(std::exp2(exponent + span));
  if (drawn.least < bytes_min) drawn.least = bytes_min;
  if (drawn.most > bytes_max) drawn.most = bytes_max;
  if (drawn.most < drawn.least) drawn.most = drawn.least;
  drawn.few_count = 1 + random.below(few_max);
  for (size_t i = 0; i < drawn.few_count; i++) drawn.few[i] = drawn.logarithmic(random);
  drawn.live_bytes = static_cast<size_t>(std::exp2(draw(random, 16, 27.5)));
  return drawn;
}

// A block that changes hands tells its size and its tag itself.
struct Mark {
  uint32_t bytes;
  uint32_t tag;
};
static_assert(sizeof(Mark) < bytes_min, "a block holds a mark and a last byte");

struct Work {
  Pattern pattern;
  size_t slots_each = 0, steps_each = 0;
  std::atomic<Mark*>* shared_table = nullptr;  // a part for each thread
  bench::StartGate gate;

  void write(void* block, size_t bytes) const {
    if (pattern.is_written) std::memset(block, 0xA7, bytes);
  }
  void fill(bench::Slot& slot, size_t bytes, bench::Random& random) const {
    slot.bytes = static_cast<uint32_t>(bytes);
    slot.tag = bench::tag_of(random.next());
    if (pattern.order == Order::zeroed) {
      slot.block = bench::take_zeroed(bytes);
    } else if (pattern.order == Order::aligned) {
      slot.block = bench::take_aligned(size_t{16} << random.below(7), bytes);
    } else {
      slot.block = bench::take(bytes);
    }
    write(slot.block, bytes);
    bench::stamp(slot.block, bytes, slot.tag);
  }
  void resize(bench::Slot& slot, size_t bytes, uint32_t tag) const {
    if (slot.block != nullptr) {
      const size_t kept = slot.bytes < bytes ? slot.bytes : bytes;
      bench::check_stamp(slot.block, slot.bytes, slot.tag);
      slot.block = bench::resize(slot.block, bytes);
      const bool is_same =
          kept <= sizeof slot.tag || std::memcmp(slot.block, &slot.tag, sizeof slot.tag) == 0;
      if (!is_same) bench::leave(bench::exit_wrong_data, "a resized block lost its contents");
    } else {
      slot.block = bench::take(bytes);
    }
    slot.bytes = static_cast<uint32_t>(bytes);
    slot.tag = tag;
    write(slot.block, bytes);
    bench::stamp(slot.block, bytes, tag);
  }

  Mark* make_marked(bench::Random& random) const {
    const size_t bytes = pattern.size(random);
    auto* mark = static_cast<Mark*>(bench::take(bytes));
    write(mark, bytes);
    *mark = {static_cast<uint32_t>(bytes), bench::tag_of(random.next())};
    reinterpret_cast<unsigned char*>(mark)[bytes - 1] = static_cast<unsigned char>(mark->tag >> 16);
    return mark;
  }
  static void end_marked(Mark* mark) {
    if (mark == nullptr) return;
    const auto* data = reinterpret_cast<const unsigned char*>(mark);
    if (data[mark->bytes - 1] != static_cast<unsigned char>(mark->tag >> 16)) {
      bench::leave(bench::exit_wrong_data, "a block lost its mark: blocks overlap");
    }
    bench::give(mark);
  }

  void operator()(size_t thread) {
    bench::Random random(thread + 71);
    auto* slots = bench::take_array<bench::Slot>(slots_each);
    for (size_t at = 0; at < slots_each; at++) slots[at] = {};
    gate.wait();
    switch (pattern.order) {
      case Order::lifo:
        run_lifo(slots, random);
        break;
      case Order::batch:
        run_batches(slots, random);
        break;
      case Order::waves:
        run_waves(slots, random);
        break;
      case Order::phases:
        run_phases(slots, random);
        break;
      case Order::pass_on:
        run_pass_on(thread, random);
        break;
      case Order::shared:
        run_shared(random);
        break;
      case Order::grow:
        run_growing(slots, random);
        break;
      case Order::resize:
        run_resizing(slots, random);
        break;
      case Order::fifo:
        for (size_t step = 0; step < steps_each; step++) renew(slots[step % slots_each], random);
        break;
      default:
        for (size_t step = 0; step < steps_each; step++) {
          renew(slots[random.below(slots_each)], random);
        }
    }
    for (size_t at = 0; at < slots_each; at++) slots[at].empty();
    bench::give(slots);
  }

  void renew(bench::Slot& slot, bench::Random& random) const {
    slot.empty();
    fill(slot, pattern.size(random), random);
  }
  void run_lifo(bench::Slot* slots, bench::Random& random) const {
    size_t top = 0;
    for (size_t step = 0; step < steps_each; step++) {
      const bool grows = top == 0 || (top < slots_each && random.below(2) != 0);
      grows ? fill(slots[top++], pattern.size(random), random) : slots[--top].empty();
    }
  }
  // All blocks, then none.
  void run_batches(bench::Slot* slots, bench::Random& random) const {
    for (size_t step = 0; step < steps_each; step += slots_each) {
      for (size_t at = 0; at < slots_each; at++) fill(slots[at], pattern.size(random), random);
      for (size_t at = 0; at < slots_each; at++) slots[at].empty();
    }
  }
  // All blocks, then a quarter; random ones go.
  void run_waves(bench::Slot* slots, bench::Random& random) const {
    size_t count = 0;
    bool grows = true;
    for (size_t step = 0; step < steps_each; step++) {
      if (grows) {
        fill(slots[count++], pattern.size(random), random);
        grows = count < slots_each;
        continue;
      }
      bench::Slot& slot = slots[random.below(count)];
      slot.empty();
      slot = slots[--count];
      slots[count] = {};
      grows = count <= slots_each / 4;
    }
  }
  // Another size each time.
  void run_phases(bench::Slot* slots, bench::Random& random) const {
    for (size_t step = 0; step < steps_each; step += slots_each) {
      const size_t least = pattern.size(random);
      for (size_t at = 0; at < slots_each; at++) {
        slots[at].empty();
        fill(slots[at], least + random.below(least / 4 + 1), random);
      }
    }
  }
  // Each block goes to the next thread, which frees it.
  void run_pass_on(size_t thread, bench::Random& random) {
    std::atomic<Mark*>* own = shared_table + thread * passed_on_max;
    std::atomic<Mark*>* next = shared_table + (thread + 1) % pattern.threads * passed_on_max;
    for (size_t step = 0; step < steps_each; step++) {
      end_marked(next[step % passed_on_max].exchange(make_marked(random)));
      end_marked(own[step % passed_on_max].exchange(nullptr));
    }
  }
  void run_shared(bench::Random& random) {
    const size_t count = slots_each * pattern.threads;
    for (size_t step = 0; step < steps_each; step++) {
      end_marked(shared_table[random.below(count)].exchange(make_marked(random)));
    }
  }
  // Each block grows by half until it has its size.
  void run_growing(bench::Slot* slots, bench::Random& random) const {
    for (size_t step = 0; step < steps_each;) {
      bench::Slot& slot = slots[random.below(slots_each)];
      slot.empty();
      const size_t wanted = pattern.size(random);
      for (size_t bytes = bytes_min; bytes <= wanted; bytes += bytes / 2, step++) {
        resize(slot, bytes, bench::tag_of(random.next()));
      }
    }
  }
  void run_resizing(bench::Slot* slots, bench::Random& random) const {
    for (size_t step = 0; step < steps_each; step++) {
      bench::Slot& slot = slots[random.below(slots_each)];
      resize(slot, pattern.size(random), bench::tag_of(random.next()));
    }
  }
};

Work work;

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  arguments.threads(1);  // the seed tells
  const size_t seed = arguments.count("seed", 1);
  arguments.finish();
  work.pattern = pattern_of(seed);
  const Pattern& drawn = work.pattern;
  work.slots_each = drawn.slots();
  work.steps_each =
      bench::scaled(budget_ns / drawn.step_ns() / static_cast<double>(drawn.threads), scale);
  if (work.steps_each < 2 * work.slots_each) work.steps_each = 2 * work.slots_each;
  const size_t each = work.slots_each > passed_on_max ? work.slots_each : passed_on_max;
  work.shared_table = bench::take_array<std::atomic<Mark*>>(each * drawn.threads);
  for (size_t at = 0; at < each * drawn.threads; at++) work.shared_table[at] = nullptr;

  bench::Team<Work> team(drawn.threads, work);
  const double start_s = work.gate.open(drawn.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;
  for (size_t at = 0; at < each * drawn.threads; at++) Work::end_marked(work.shared_table[at]);
  bench::give(work.shared_table);
  const uint64_t steps = work.steps_each * drawn.threads;
  char words[160];
  std::snprintf(words, sizeof words, "Cr %s, %s of %zu to %zu, %zu slots%s",
                order_names[static_cast<size_t>(drawn.order)],
                size_names[static_cast<size_t>(drawn.sizes)], drawn.least, drawn.most,
                work.slots_each, drawn.is_written ? ", written" : "");
  bench::Result result(words, drawn.threads, elapsed_s * 1e9 / static_cast<double>(steps), "ns",
                       false, steps, elapsed_s);
  result.print();
  return 0;
}
