// B17, smmalloc perf02: one thread, a window of ten thousand small blocks that moves on.
//
// Measures: malloc and free of small blocks in the order of a queue, each block written whole,
// with no other thread in the process.
// Method: a ring of 10000 slots. An operation allocates 16 to 255 bytes, fills them, stores the
// block at the head and frees what is at the tail, 9999 slots behind. Ten parts are timed one by
// one. Figure: nanoseconds per operation, mean of the parts; ci95_ns is half the width of the 95 %
// confidence interval of that mean.
// Differs from its model: the fill is a byte of the block's own number instead of one constant,
// and its first and last byte are checked at the free.
//
// SPDX-License-Identifier: MIT

#include <cmath>

#include "workload.hpp"

namespace {

constexpr size_t window = 10000;
constexpr size_t parts = 10;
constexpr double student_t_95 = 2.262;  // two-sided, nine degrees of freedom
constexpr double ops_default = 3e7;
constexpr size_t size_min = 16;
constexpr size_t sizes = 240;

struct Ring {
  unsigned char* blocks[window];
  unsigned char bytes[window];
  unsigned char fills[window];
  size_t head = window - 1;
  size_t tail = 0;

  void push(size_t size, uint32_t fill) {
    bytes[head] = static_cast<unsigned char>(size);
    fills[head] = static_cast<unsigned char>(fill);
    blocks[head] = static_cast<unsigned char*>(bench::take(size));
    std::memset(blocks[head], fills[head], size);
    if (++head == window) head = 0;
  }

  void pop() {
    const unsigned char* block = blocks[tail];
    if (block != nullptr && (block[0] != fills[tail] || block[bytes[tail] - 1] != fills[tail])) {
      bench::leave(bench::exit_wrong_data, "a block lost its fill: blocks overlap");
    }
    bench::give(blocks[tail]);
    blocks[tail] = nullptr;
    if (++tail == window) tail = 0;
  }
};

Ring ring;

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double ops = arguments.real("ops", ops_default) * arguments.real("scale", 1);
  arguments.threads(1);  // accepted for a uniform command line; the method fixes it
  arguments.finish();
  const size_t ops_per_part = bench::scaled(ops / parts, 1);

  bench::Random random(2);
  double ns[parts];
  double elapsed_s = 0;
  double mean = 0;
  for (double& part_ns : ns) {
    const double start_s = bench::now_s();
    for (size_t left = ops_per_part; left > 0; --left) {
      const uint64_t draw = random.next();
      ring.push(size_min + ((draw >> 32) * sizes >> 32), static_cast<uint32_t>(draw));
      ring.pop();
    }
    const double seconds = bench::now_s() - start_s;
    elapsed_s += seconds;
    part_ns = seconds * 1e9 / static_cast<double>(ops_per_part);
    mean += part_ns / parts;
  }
  for (size_t left = window; left > 0; --left)
    ring.pop();

  double variance = 0;
  for (const double part_ns : ns)
    variance += (part_ns - mean) * (part_ns - mean) / (parts - 1);
  bench::Result result("B17 smmalloc perf02", 1, mean, "ns/op", false, 2 * parts * ops_per_part,
                       elapsed_s);
  result.number("ci95_ns", student_t_95 * std::sqrt(variance / parts));
  result.count("peak_requested_bytes", window * (size_min + sizes / 2));
  result.print();
  return 0;
}
