// Complaint n: columns: buffers of one size, at or just above a power of two, read side by side.
//
// Measures: two costs of where such buffers lie. Resident over requested memory, when each byte of
// them is written. And the time of a read at the same offset of 64 buffers in turn. If all of them
// begin in one set of the first-level cache, most of these reads miss it.
// Method: buffers of --size bytes, written in full, until they have 64 MB. Then each group of 64
// neighbours is read again and again, for a thousand offsets, eight bytes apart. Figure:
// nanoseconds a read. rss_per_requested is read before the first free.
// After a report by users of jemalloc (#13, #1648) and redis (#12315).
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t size_default = 65536;
constexpr double bytes_default = 64e6;
constexpr double reads_default = 3e7;
constexpr size_t group = 64;
constexpr size_t reads_of_each = 1000;
constexpr size_t columns_max = 65536;

struct Columns {
  size_t size;
  size_t count;
  unsigned char* at[columns_max];

  void fill() {
    for (size_t column = 0; column < count; column++) {
      at[column] = static_cast<unsigned char*>(bench::take(size));
      std::memset(at[column], static_cast<int>(column + 1), size);
    }
  }

  // The sum of a group's words at all offsets, an offset at a time.
  uint64_t read_group(size_t first) const {
    uint64_t sum = 0;
    for (size_t offset = 0; offset < reads_of_each * sizeof(uint64_t); offset += sizeof(uint64_t)) {
      for (size_t column = first; column < first + group; column++) {
        uint64_t word;
        std::memcpy(&word, at[column] + offset, sizeof word);
        sum += word;
      }
    }
    return sum;
  }

  uint64_t expected_of_group(size_t first) const {
    uint64_t sum = 0;
    for (size_t column = first; column < first + group; column++)
      sum += (column + 1) % 256 * 0x0101010101010101u;
    return sum * reads_of_each;
  }

  void drop() {
    for (size_t column = 0; column < count; column++) {
      if (at[column][size - 1] != (column + 1) % 256) {
        bench::leave(bench::exit_wrong_data, "a column lost its end");
      }
      bench::give(at[column]);
    }
  }
};

Columns work;

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  arguments.threads(1);
  work.size = arguments.count("size", size_default);
  const double bytes = arguments.real("bytes", bytes_default);
  const double reads_wanted = arguments.real("reads", reads_default);
  arguments.finish();
  const auto wanted = static_cast<size_t>(bytes / static_cast<double>(work.size));
  const size_t groups = wanted / group > 0 ? wanted / group : 1;
  work.count = groups * group;
  if (work.size < reads_of_each * sizeof(uint64_t) || work.count > columns_max) {
    bench::leave(bench::exit_wrong_arguments, "--size or --bytes is out of range");
  }
  const size_t reads_of_round = work.count * reads_of_each;
  const size_t rounds = bench::scaled(reads_wanted / static_cast<double>(reads_of_round), scale);
  const long base_kib = bench::rss_now_kib();
  work.fill();
  const long rise_kib = bench::rss_now_kib() - base_kib;

  const double start_s = bench::now_s();
  for (size_t first = 0; first < work.count; first += group) {
    for (size_t round = 0; round < rounds; round++) {
      if (work.read_group(first) == work.expected_of_group(first)) continue;
      bench::leave(bench::exit_wrong_data, "columns overlap");
    }
  }
  const double elapsed_s = bench::now_s() - start_s;
  work.drop();

  const uint64_t reads = rounds * reads_of_round;
  const uint64_t requested = work.count * work.size;
  bench::Result result("Cn columns", 1, elapsed_s / static_cast<double>(reads) * 1e9, "ns/read",
                       false, reads, elapsed_s);
  result.number("rss_per_requested",
                static_cast<double>(rise_kib) * 1024 / static_cast<double>(requested));
  result.count("peak_requested_bytes", requested);
  result.print();
  return 0;
}
