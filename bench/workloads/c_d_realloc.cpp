// Complaint d: arrays that grow by realloc, in small steps or by half.
//
// Measures: whether growth costs in proportion to the array or to its square. An allocator that
// moves the array every few bytes takes minutes instead of an instant.
// Method: two arrays of 64-bit numbers grow in turn, ten times over, so that neither can always
// grow in place. --mode add8: by one number, from nothing to 12 MB each. --mode half: by half, from
// 64 bytes to 128 MiB each, with one number written in each new page. Each realloc must keep the
// last number. At the end every written number is checked. Figure: nanoseconds per realloc; moves
// counts changes of address.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t arrays = 2;
constexpr size_t add8_numbers_default = 1500000;
constexpr double rounds_default = 10;
constexpr size_t half_numbers_first = 8;
constexpr size_t half_numbers_last = size_t{16} << 20;
constexpr size_t numbers_per_page = bench::stamp_stride_bytes / sizeof(uint64_t);

struct Totals {
  uint64_t resizes = 0;
  uint64_t moves = 0;
  uint64_t bytes_peak = 0;
};

class Array {
 public:
  explicit Array(uint64_t identity) : tag_(bench::tag_of(identity)) {}

  // Writes the first new number, the last one, and one in each page between.
  void grow_to(size_t count, Totals& totals) {
    auto* moved = static_cast<uint64_t*>(bench::resize(numbers_, count * sizeof(uint64_t)));
    totals.resizes++;
    if (count_ > 0) check_at(moved, count_ - 1);
    if (moved != numbers_) totals.moves++;
    numbers_ = moved;
    for (size_t at = count_; at < count; at = next_written(at, count)) numbers_[at] = value_at(at);
    grown_from_[growths_ % growths_kept] = count_;
    growths_++;
    count_ = count;
  }

  // Checks all numbers. All must have been written, so the array must have grown one by one.
  void check_all() const {
    for (size_t at = 0; at < count_; at++) check(at);
  }

  // Checks the numbers written in the last growths.
  void check_growths() const {
    size_t end = count_;
    for (size_t back = 1; back <= growths_ && back <= growths_kept; back++) {
      const size_t first = grown_from_[(growths_ - back) % growths_kept];
      for (size_t at = first; at < end; at = next_written(at, end)) check(at);
      end = first;
    }
  }

  void release() {
    bench::give(numbers_);
    numbers_ = nullptr;
    count_ = 0;
    growths_ = 0;
  }

  size_t count() const { return count_; }

 private:
  static constexpr size_t growths_kept = 64;  // enough by half from 64 bytes to terabytes

  static size_t next_written(size_t at, size_t end) {
    if (at + 1 == end) return end;
    return at + numbers_per_page < end ? at + numbers_per_page : end - 1;
  }

  uint64_t value_at(size_t at) const { return (uint64_t{tag_} << 32) ^ at; }

  void check(size_t at) const { check_at(numbers_, at); }

  void check_at(const uint64_t* numbers, size_t at) const {
    if (numbers[at] == value_at(at)) return;
    bench::leave(bench::exit_wrong_data, "a number was lost: blocks overlap, or realloc lost it");
  }

  uint32_t tag_;
  uint64_t* numbers_ = nullptr;
  size_t count_ = 0;
  size_t growths_ = 0;
  size_t grown_from_[growths_kept] = {};
};

void note_peak(Totals& totals, const Array* both) {
  uint64_t bytes = 0;
  for (size_t at = 0; at < arrays; at++) bytes += both[at].count() * sizeof(uint64_t);
  if (bytes > totals.bytes_peak) totals.bytes_peak = bytes;
}

void grow_by_one(Array* both, size_t numbers, Totals& totals) {
  for (size_t count = 1; count <= numbers; count++) {
    for (size_t at = 0; at < arrays; at++) both[at].grow_to(count, totals);
  }
  note_peak(totals, both);
  for (size_t at = 0; at < arrays; at++) {
    both[at].check_all();
    both[at].release();
  }
}

void grow_by_half(Array* both, size_t numbers, Totals& totals) {
  for (size_t count = half_numbers_first; count < numbers * 3 / 2; count = count * 3 / 2) {
    for (size_t at = 0; at < arrays; at++) both[at].grow_to(count, totals);
  }
  note_peak(totals, both);
  for (size_t at = 0; at < arrays; at++) {
    both[at].check_growths();
    both[at].release();
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  arguments.threads(1);  // accepted for a uniform command line; the method fixes it
  const char* mode = arguments.text("mode", "add8");
  const size_t numbers = arguments.count("numbers", add8_numbers_default);
  const size_t rounds = bench::scaled(arguments.real("rounds", rounds_default), scale);
  arguments.finish();
  const bool is_add8 = std::strcmp(mode, "add8") == 0;
  if (!is_add8 && std::strcmp(mode, "half") != 0) {
    bench::leave(bench::exit_wrong_arguments, "--mode must be add8 or half");
  }

  Totals totals;
  Array both[arrays] = {Array(1), Array(2)};
  const double start_s = bench::now_s();
  for (size_t round = 0; round < rounds; round++) {
    if (is_add8) {
      grow_by_one(both, numbers, totals);
    } else {
      grow_by_half(both, half_numbers_last, totals);
    }
  }
  const double elapsed_s = bench::now_s() - start_s;

  bench::Result result(is_add8 ? "Cd realloc by 8 bytes" : "Cd realloc by half", 1,
                       elapsed_s * 1e9 / static_cast<double>(totals.resizes), "ns/realloc", false,
                       totals.resizes, elapsed_s);
  result.count("moves", totals.moves);
  result.count("peak_requested_bytes", totals.bytes_peak);
  result.print();
  return 0;
}
