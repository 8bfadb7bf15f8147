// B11, malloc-large: one thread replaces blocks of many megabytes.
//
// Measures: the cost of large blocks: address space, page faults and the return of pages, or
// keeping them for the next block. The time is the kernel's more than the allocator's.
// Method: `slots` slots, empty at first. A step picks a slot, allocates a block of uniform size in
// [5, 25] MiB, writes all of it, then frees the slot's old block. With --touch ends only its first
// and last byte are written. Figure: microseconds per block.
// Differs from its model: filled with a byte of the block's number, not with zero. The free checks
// the byte in each page (or at both ends).
//
// SPDX-License-Identifier: MIT

#include "filled_block.hpp"

namespace {

constexpr size_t slots_max = 1024;
constexpr size_t mib = size_t{1} << 20;
constexpr double steps_default = 400;  // the model's 2000 run five times as long

bench::FilledBlock slots[slots_max];

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  arguments.threads(1);  // accepted for a uniform command line; the method fixes it
  const size_t slots_used = arguments.count("slots", 20);
  const size_t steps = bench::scaled(arguments.real("steps", steps_default), scale);
  const size_t min = arguments.count("min-mib", 5) * mib;
  const size_t max = arguments.count("max-mib", 25) * mib;
  const char* touch_name = arguments.text("touch", "whole");
  arguments.finish();
  const bool is_whole = std::strcmp(touch_name, "whole") == 0;
  const bench::Touch touch = is_whole ? bench::Touch::whole : bench::Touch::ends;
  if (!is_whole && std::strcmp(touch_name, "ends") != 0) {
    bench::leave(bench::exit_wrong_arguments, "--touch must be whole or ends");
  }
  if (slots_used > slots_max || max <= min || max >= (size_t{1} << 32)) {
    bench::leave(bench::exit_wrong_arguments, "--slots up to 1024, --min-mib below --max-mib");
  }

  bench::Random random(42);
  uint64_t live = 0;
  uint64_t live_peak = 0;
  const double start_s = bench::now_s();
  for (size_t step = 0; step < steps; step++) {
    bench::FilledBlock& slot = slots[random.below(slots_used)];
    bench::FilledBlock old = slot;
    slot.make(min + random.below(max - min + 1), static_cast<unsigned char>(random.below(256)),
              touch);
    live += slot.bytes;
    if (live > live_peak) live_peak = live;
    live -= old.bytes;
    old.release(touch);
  }
  const double elapsed_s = bench::now_s() - start_s;
  for (size_t at = 0; at < slots_used; at++) slots[at].release(touch);

  bench::Result result("B11 malloc-large", 1, elapsed_s * 1e6 / static_cast<double>(steps),
                       "us/block", false, 2 * steps, elapsed_s);
  result.count("slots", slots_used);
  result.count("peak_requested_bytes", live_peak);
  result.print();
  return 0;
}
