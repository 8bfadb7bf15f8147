// B5, rptest: loops that free some slots and fill others, and send some blocks to other threads.
//
// Measures: allocations per second of processor time, and the space they cost. Sizes reach many
// classes, and each thread also frees blocks that another thread sent.
// Method: sizes and counts come from prepared tables. A loop takes the list of blocks sent to this
// thread. Then, timed, it frees the next free count of slots and all received blocks. It fills the
// next allocation count of slots and frees their old blocks. Each `cross` loops it allocates a node
// with the same number of blocks and sends it to the next thread in turn. Both walks over the slots
// have strides prime to their number, so frees have another order than allocations. All threads
// meet after `loops` loops and after `loops` more, where live bytes and RSS are read. All of it
// happens twice.
// Figure: mallocs and frees per second of the threads' timed parts; overhead: the highest (RSS -
// live) / live.
// Differs from its model: threads do not sleep at the meeting; full stamps, checked at the free.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t sizes_count = 2000;
constexpr size_t allocation_counts = 311;
constexpr size_t free_counts = 257;
constexpr size_t loops_default = 10000;  // the model's 500 last a hundredth of a second
constexpr size_t repeats = 2;
constexpr size_t meetings = 2;

struct Node {
  Node* next;
  size_t count;
  bench::Slot* blocks;
};

struct alignas(128) Inbox {
  std::atomic<Node*> shared_top{nullptr};

  void push(Node* node) {
    node->next = shared_top.load(std::memory_order_relaxed);
    while (!shared_top.compare_exchange_weak(node->next, node, std::memory_order_acq_rel)) {}
  }
  Node* take_all() { return shared_top.exchange(nullptr, std::memory_order_acq_rel); }
};

struct alignas(128) Sums {
  uint64_t ops;
  double timed_s;
};

size_t prime_stride(size_t slots, size_t above) {
  for (size_t candidate = above + 1;; candidate++) {
    bool is_prime = true;
    for (size_t divisor = 2; divisor * divisor <= candidate; divisor++)
      is_prime = is_prime && candidate % divisor != 0;
    if (is_prime && slots % candidate != 0) return candidate;
  }
}

struct Rptest {
  size_t threads;
  size_t loops;
  size_t slots;
  size_t cross;
  size_t stride;
  size_t free_stride;
  uint32_t size_table[sizes_count];
  uint32_t allocate_table[allocation_counts];
  uint32_t free_table[free_counts];
  Inbox remote_queues[bench::threads_max];
  bench::PaddedCounter live_bytes[bench::threads_max];  // may be negative: blocks are sent
  Sums sums[bench::threads_max];
  bench::StartGate gate;
  pthread_barrier_t all_met;
  int64_t live_peak;  // written by thread 0 while the others wait
  double overhead_max;

  void make_tables(const char* shape, size_t min, size_t max, size_t ops);
  void meet(size_t thread);
  void operator()(size_t thread);
};

Rptest work;

void Rptest::make_tables(const char* shape, size_t min, size_t max, size_t ops) {
  const bool is_linear = std::strcmp(shape, "linear") == 0;
  const bool is_exponential = std::strcmp(shape, "exponential") == 0;
  if (!is_linear && !is_exponential && std::strcmp(shape, "even") != 0) {
    bench::leave(bench::exit_wrong_arguments, "--shape must be even, linear or exponential");
  }
  bench::Random random(0xB5);
  const auto weight = [&random] { return static_cast<double>(random.below(1u << 20)) / (1 << 20); };
  for (uint32_t& size : size_table) {
    const double first = weight();
    const double second = weight();
    double share = first;
    if (is_linear) share = first + second < 1 ? 1 - first - second : first + second - 1;
    if (is_exponential) share = first * second;
    size = static_cast<uint32_t>(min + share * static_cast<double>(max - min));
  }
  for (uint32_t& count : allocate_table)
    count = static_cast<uint32_t>(ops * (30 + random.below(70)) / 100);
  for (uint32_t& count : free_table)
    count = static_cast<uint32_t>(ops * (30 + random.below(70)) / 100 * 8 / 10);
  stride = prime_stride(slots, 6);
  free_stride = prime_stride(slots, stride);
}

// One thread's part of one repetition.
class Worker {
 public:
  explicit Worker(size_t thread)
      : thread_(thread), target_(thread), live_(work.live_bytes[thread].get()) {
    slots_ = bench::take_array<bench::Slot>(work.slots);
    for (size_t at = 0; at < work.slots; at++) slots_[at] = {nullptr, 0, 0};
  }

  void run_loops() {
    for (size_t loop = 0; loop < work.loops; loop++) {
      Node* received = work.remote_queues[thread_].take_all();
      const double start_s = bench::now_s();
      const uint32_t frees = work.free_table[loop_ % free_counts];
      for (uint32_t step = 0; step < frees; step++) {
        if (slots_[free_at_].block != nullptr) empty(slots_[free_at_]);
        free_at_ = (free_at_ + work.free_stride) % work.slots;
      }
      free_received(received);
      const uint32_t allocations = work.allocate_table[loop_ % allocation_counts];
      for (uint32_t step = 0; step < allocations; step++) {
        if (slots_[at_].block != nullptr) empty(slots_[at_]);
        fill(slots_[at_]);
        at_ = (at_ + work.stride) % work.slots;
      }
      if (work.threads > 1 && loop_ % work.cross == 0) send(allocations);
      timed_s_ += bench::now_s() - start_s;
      loop_++;
    }
    work.live_bytes[thread_].set(live_);
  }

  void finish() {
    const double start_s = bench::now_s();
    free_received(work.remote_queues[thread_].take_all());
    for (size_t at = 0; at < work.slots; at++) {
      if (slots_[at].block != nullptr) empty(slots_[at]);
    }
    timed_s_ += bench::now_s() - start_s;
    bench::give(slots_);
    work.live_bytes[thread_].set(live_);
    work.sums[thread_].ops += ops_;
    work.sums[thread_].timed_s += timed_s_;
  }

 private:
  void fill(bench::Slot& slot) {
    const size_t bytes = work.size_table[size_at_];
    size_at_ = (size_at_ + 1) % sizes_count;
    slot.fill(bytes, bench::tag_of((thread_ << 40) + ++ops_));
    live_ += static_cast<int64_t>(bytes);
  }

  void empty(bench::Slot& slot) {
    live_ -= slot.bytes;
    slot.empty();
    ops_++;
  }

  void send(uint32_t blocks) {
    do {
      target_ = (target_ + 1) % work.threads;
    } while (target_ == thread_);
    Node* node = static_cast<Node*>(bench::take(sizeof(Node)));
    node->count = blocks;
    node->blocks = bench::take_array<bench::Slot>(blocks);
    ops_ += 2;
    for (uint32_t at = 0; at < blocks; at++) fill(node->blocks[at]);
    work.remote_queues[target_].push(node);
  }

  void free_received(Node* node) {
    while (node != nullptr) {
      Node* next = node->next;
      for (size_t at = 0; at < node->count; at++) empty(node->blocks[at]);
      bench::give(node->blocks);
      bench::give(node);
      ops_ += 2;
      node = next;
    }
  }

  size_t thread_;
  size_t target_;
  int64_t live_;
  bench::Slot* slots_;
  size_t at_ = 0;
  size_t free_at_ = 0;
  size_t size_at_ = 0;
  size_t loop_ = 0;
  uint64_t ops_ = 0;
  double timed_s_ = 0;
};

void Rptest::meet(size_t thread) {
  pthread_barrier_wait(&all_met);
  if (thread == 0) {
    int64_t live = static_cast<int64_t>(threads * slots * sizeof(bench::Slot));
    for (size_t other = 0; other < threads; other++) live += live_bytes[other].get();
    const double overhead = static_cast<double>(bench::rss_now_kib()) * 1024 / live - 1;
    if (overhead > overhead_max) overhead_max = overhead;
    if (live > live_peak) live_peak = live;
  }
  pthread_barrier_wait(&all_met);
}

void Rptest::operator()(size_t thread) {
  gate.wait();
  for (size_t repeat = 0; repeat < repeats; repeat++) {
    Worker worker(thread);
    for (size_t meeting = 0; meeting < meetings; meeting++) {
      worker.run_loops();
      meet(thread);
    }
    worker.finish();
    pthread_barrier_wait(&all_met);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  work.threads = arguments.threads(bench::cores());
  work.loops = bench::scaled(static_cast<double>(arguments.count("loops", loops_default)), scale);
  work.slots = arguments.count("slots", 1000);
  work.cross = arguments.count("cross", 2);
  const size_t ops_per_loop = arguments.count("ops", 100);
  const size_t size_min = arguments.count("min", 8);
  const size_t size_max = arguments.count("max", 16000);
  const char* shape = arguments.text("shape", "linear");
  arguments.finish();
  if (size_max < size_min) bench::leave(bench::exit_wrong_arguments, "max < min");
  work.make_tables(shape, size_min, size_max, ops_per_loop);
  pthread_barrier_init(&work.all_met, nullptr, static_cast<unsigned>(work.threads));

  bench::Team<Rptest> team(work.threads, work);
  const double start_s = work.gate.open(work.threads);
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  Sums all{};
  for (size_t thread = 0; thread < work.threads; thread++) {
    all.ops += work.sums[thread].ops;
    all.timed_s += work.sums[thread].timed_s;
  }
  const double ops_per_s = static_cast<double>(all.ops) / all.timed_s;
  bench::Result result("B5 rptest", work.threads, ops_per_s, "ops/CPU-s", true, all.ops, elapsed_s);
  result.number("relative_time", 2e6 / ops_per_s);
  result.number("overhead_max", work.overhead_max);
  result.count("peak_requested_bytes", static_cast<uint64_t>(work.live_peak));
  result.print();
  return 0;
}
