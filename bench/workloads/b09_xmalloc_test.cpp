// B9, xmalloc-test: producers only allocate, consumers only free.
//
// Measures: one-way traffic, where another thread frees each block. Memory that the allocating
// thread's caches never use again shows as growth.
// Method: a producer fills a batch (one allocated record of 4096 pointers) with blocks of the given
// size and writes up to 128 bytes of each. It pushes the batch on a stack of at most 100 behind a
// mutex. A consumer pops a batch and frees its blocks and the batch. After a fixed time all stop.
// Figure: millions of blocks per second freed by consumers.
// --sizes mixed draws from a table of sizes instead.
// Differs from its model: blocks contain the batch tag and the index, which the consumer checks. A
// pop without a batch is not counted.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t blocks_per_batch = 4096;
constexpr size_t batches_max = 100;
constexpr size_t touch_bytes_max = 128;
constexpr uint32_t mixed_sizes[] = {8,   12,  16,  24,  32,  48,   64,   96,  128,
                                    192, 256, 384, 512, 768, 1024, 1536, 2048};
constexpr size_t mixed_sizes_count = sizeof mixed_sizes / sizeof mixed_sizes[0];

struct Batch {
  Batch* next;
  uint64_t bytes;  // requested for the blocks and the batch itself
  uint32_t tag;
  void* blocks[blocks_per_batch];
};

// The start of a block. The rest of the touched bytes repeat fill_of(tag).
struct Label {
  uint32_t identity;
};

int fill_of(uint32_t tag) { return static_cast<int>((tag >> 8) & 0xFF); }
size_t touched(size_t bytes) { return bytes < touch_bytes_max ? bytes : touch_bytes_max; }

class BatchStack {
 public:
  // Waits while the stack is full. False: stopped, and the caller keeps the batch.
  bool push(Batch* batch) {
    pthread_mutex_lock(&mutex_);
    while (count_ >= batches_max && !is_stopped_) pthread_cond_wait(&has_room_, &mutex_);
    const bool is_taken = !is_stopped_;
    if (is_taken) {
      batch->next = top_;
      top_ = batch;
      count_++;
      live_bytes_ += batch->bytes;
      if (live_bytes_ > live_bytes_peak_) live_bytes_peak_ = live_bytes_;
      pthread_cond_signal(&has_batch_);
    }
    pthread_mutex_unlock(&mutex_);
    return is_taken;
  }

  // Waits while the stack is empty; null: stopped. freed_bytes are the bytes that the caller freed
  // since its last call. So live_bytes_ counts a batch until all of it is freed.
  Batch* pop(uint64_t freed_bytes) {
    pthread_mutex_lock(&mutex_);
    live_bytes_ -= freed_bytes;
    while (top_ == nullptr && !is_stopped_) pthread_cond_wait(&has_batch_, &mutex_);
    Batch* batch = is_stopped_ ? nullptr : take_top();
    pthread_cond_signal(&has_room_);
    pthread_mutex_unlock(&mutex_);
    return batch;
  }

  void stop() {
    pthread_mutex_lock(&mutex_);
    is_stopped_ = true;
    pthread_cond_broadcast(&has_room_);
    pthread_cond_broadcast(&has_batch_);
    pthread_mutex_unlock(&mutex_);
  }

  // For the end, after all threads have been joined.
  Batch* take_top() {
    Batch* batch = top_;
    if (batch != nullptr) {
      top_ = batch->next;
      count_--;
    }
    return batch;
  }

  uint64_t live_bytes_peak() const { return live_bytes_peak_; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t has_room_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t has_batch_ = PTHREAD_COND_INITIALIZER;
  Batch* top_ = nullptr;
  size_t count_ = 0;
  uint64_t live_bytes_ = 0;
  uint64_t live_bytes_peak_ = 0;
  bool is_stopped_ = false;
};

struct XmallocTest {
  size_t pairs;
  size_t size;
  bool is_mixed;
  BatchStack stack;
  bench::StartGate gate;
  std::atomic<bool> shared_is_stopped{false};
  bench::PaddedCounter freed[bench::threads_max];

  // The size of a block follows from its batch's tag and its index, so it is not stored.
  size_t size_of(uint32_t tag, size_t index) const {
    if (!is_mixed) return size;
    return mixed_sizes[(bench::tag_of(tag + index) >> 3) % mixed_sizes_count];
  }

  Batch* make_batch(uint32_t tag) {
    auto* batch = static_cast<Batch*>(bench::take(sizeof(Batch)));
    batch->tag = tag;
    batch->bytes = sizeof(Batch);
    for (size_t index = 0; index < blocks_per_batch; index++) {
      const size_t bytes = size_of(tag, index);
      void* block = bench::take(bytes);
      std::memset(block, fill_of(tag), touched(bytes));
      const Label label{tag ^ static_cast<uint32_t>(index)};
      std::memcpy(block, &label, sizeof label);
      batch->blocks[index] = block;
      batch->bytes += bytes;
    }
    return batch;
  }

  void free_batch(Batch* batch) {
    for (size_t index = 0; index < blocks_per_batch; index++) {
      const auto* block = static_cast<const unsigned char*>(batch->blocks[index]);
      const size_t bytes = size_of(batch->tag, index);
      const Label label{batch->tag ^ static_cast<uint32_t>(index)};
      if (std::memcmp(block, &label, sizeof label) != 0 ||
          block[touched(bytes) - 1] != fill_of(batch->tag)) {
        bench::leave(bench::exit_wrong_data, "a block lost its label: blocks overlap");
      }
      bench::give(batch->blocks[index]);
    }
    bench::give(batch);
  }

  void produce(size_t producer) {
    bench::Random random(producer + 1);
    while (!shared_is_stopped.load(std::memory_order_relaxed)) {
      Batch* batch = make_batch(bench::tag_of(random.next()));
      if (!stack.push(batch)) free_batch(batch);
    }
  }

  void consume(size_t thread) {
    int64_t count = 0;
    uint64_t freed_bytes = 0;
    while (Batch* batch = stack.pop(freed_bytes)) {
      freed_bytes = batch->bytes;
      free_batch(batch);
      count += static_cast<int64_t>(blocks_per_batch);
    }
    freed[thread].set(count);
  }

  void operator()(size_t thread) {
    gate.wait();
    if (thread < pairs) {
      produce(thread);
    } else {
      consume(thread);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double seconds = arguments.real("seconds", 1.5) * arguments.real("scale", 1);
  static XmallocTest work;
  work.pairs = arguments.threads(bench::cores());
  work.size = arguments.count("size", 64);
  const char* sizes = arguments.text("sizes", "fixed");
  arguments.finish();
  if (2 * work.pairs > bench::threads_max) {
    bench::leave(bench::exit_wrong_arguments, "too many threads");
  }
  // A block must hold a label and at least one byte of fill.
  if (work.size <= sizeof(Label)) {
    bench::leave(bench::exit_wrong_arguments, "--size must be above 4");
  }
  work.is_mixed = std::strcmp(sizes, "mixed") == 0;
  if (!work.is_mixed && std::strcmp(sizes, "fixed") != 0) {
    bench::leave(bench::exit_wrong_arguments, "--sizes must be fixed or mixed");
  }

  bench::Team<XmallocTest> team(2 * work.pairs, work);
  const double start_s = work.gate.open(2 * work.pairs);
  bench::sleep_s(seconds);
  work.shared_is_stopped.store(true, std::memory_order_relaxed);
  work.stack.stop();
  team.join();
  const double elapsed_s = bench::now_s() - start_s;

  uint64_t freed = 0;
  for (size_t thread = 0; thread < 2 * work.pairs; thread++) {
    freed += static_cast<uint64_t>(work.freed[thread].get());
  }
  while (Batch* batch = work.stack.take_top()) work.free_batch(batch);
  if (freed == 0) bench::leave(bench::exit_wrong_data, "no batch passed in the given time");
  const double millions_per_s = static_cast<double>(freed) / elapsed_s / 1e6;
  bench::Result result("B9 xmalloc-test", 2 * work.pairs, millions_per_s, "Mfree/s", true,
                       2 * freed, elapsed_s);
  result.number("relative_time", 100 / millions_per_s);
  result.count("size", work.is_mixed ? 0 : work.size);
  result.count("peak_requested_bytes", work.stack.live_bytes_peak());
  result.print();
  return 0;
}
