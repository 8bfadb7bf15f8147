// A key-value store's memory over a day, in short: sizes drift while most values are replaced.
//
// A table of values is kept at a number of live bytes. Sizes are lognormal; their median moves on
// with each phase, and after five phases comes round again. At the start of a phase one value in
// ten is set aside and stays for the phase; the others are replaced at random. So nine tenths go,
// and survivors of every phase lie among the new. The table is mapped, not allocated. One thread at
// a time.
// SPDX-License-Identifier: MIT
#pragma once

#include "measure.hpp"
#include "pattern.hpp"
#include "probe.hpp"

#include <cmath>
#include <malloc.h>
#include <sys/mman.h>

namespace probe {

class DriftTrace {
 public:
  static constexpr std::size_t cycle_phases = 5;

  explicit DriftTrace(std::size_t live_bytes) : live_max_(live_bytes) {
    slots_ = live_bytes / slot_bytes;
    void* table = mmap(nullptr, slots_ * sizeof(Value), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (table == MAP_FAILED) skip("no room for the table of the trace");
    values_ = static_cast<Value*>(table);
  }

  ~DriftTrace() {
    while (count_ > 0) give(count_ - 1);
    munmap(values_, slots_ * sizeof(Value));
  }
  DriftTrace(const DriftTrace&) = delete;
  DriftTrace& operator=(const DriftTrace&) = delete;

  // One value in ten, at random, moves to the front of the table and stays.
  void start_phase(std::size_t phase) {
    median_ = medians[phase % cycle_phases];
    staying_ = count_ / staying_one_in;
    for (std::size_t i = 0; i < staying_; ++i) swap(i, i + random_.below(count_ - i));
  }

  // Some hundred replacements; false when the allocator had nothing left.
  bool step() {
    for (int i = 0; i < 200; ++i) {
      const std::size_t size = draw_size();
      while ((live_ + size > live_max_ || count_ == slots_) && count_ > staying_) {
        give(staying_ + random_.below(count_ - staying_));
      }
      void* block = opaque(malloc(size));
      if (block == nullptr) return false;
      fill(block, size, size);
      values_[count_++] = {block, size};
      live_ += size;
    }
    return true;
  }

  std::size_t live_bytes() const { return live_; }

 private:
  struct Value {
    void* block;
    std::size_t size;
  };

  static constexpr std::size_t staying_one_in = 10;
  static constexpr std::size_t slot_bytes = 100;  // fewer than the least median's mean
  static constexpr double medians[cycle_phases] = {120, 1500, 300, 4000, 600};
  static constexpr double spread = 0.75;  // standard deviation of the size's logarithm
  static constexpr std::size_t size_min = 16;
  static constexpr std::size_t size_max = 256 * kib;

  // Two uniform numbers make a normal one (Box and Muller).
  std::size_t draw_size() {
    constexpr double whole = 1 << 30;
    const double first = (static_cast<double>(random_.below(1 << 30)) + 1) / whole;
    const double second = static_cast<double>(random_.below(1 << 30)) / whole;
    const double normal = std::sqrt(-2 * std::log(first)) * std::cos(6.283185307179586 * second);
    const double size = median_ * std::exp(spread * normal);
    if (size < size_min) return size_min;
    return size > size_max ? size_max : static_cast<std::size_t>(size);
  }

  void swap(std::size_t one, std::size_t other) {
    const Value value = values_[one];
    values_[one] = values_[other];
    values_[other] = value;
  }

  void give(std::size_t at) {
    const Value value = values_[at];
    PROBE_EXPECT(is_filled(value.block, value.size, value.size), "a block of %zu bytes changed",
                 value.size);
    free(value.block);
    live_ -= value.size;
    values_[at] = values_[--count_];
  }

  std::size_t live_max_;
  std::size_t slots_ = 0;
  Value* values_ = nullptr;
  std::size_t count_ = 0;
  std::size_t staying_ = 0;  // values[0, staying) are not replaced in this phase
  std::size_t live_ = 0;     // bytes as they were asked for
  double median_ = medians[0];
  Random random_{12};
};

}  // namespace probe
