// Complaint f: calloc of small, recycled and huge blocks.
//
// Measures: whether calloc writes more zeros than necessary. It must zero all of a small block and
// of a dirty recycled one, but no pages fresh from the kernel.
// Method: --mode small: each thread replaces random slots of its 4096 with 16 to 1024 zeroed bytes.
// --mode recycled: the same with 64 slots of 16 to 512 KiB, each written before its free, so that
// the memory is dirty. --mode huge: one thread, 1 GiB a hundred times, two live at a time, three
// pages of each touched. Figure: microseconds per calloc. The zeros are checked at both ends and in
// each page (huge: in the three pages), the stamps at the free.
//
// SPDX-License-Identifier: MIT

#include "workload.hpp"

namespace {

constexpr size_t small_slots = 4096;
constexpr size_t recycled_slots = 64;
constexpr double small_steps_default = 1.5e7;  // of all threads
constexpr double recycled_steps_default = 6e4;
constexpr double huge_steps_default = 100;
constexpr size_t huge_bytes = size_t{1} << 30;

struct Sizes {
  size_t min;
  size_t max;
};

void check_zero(const void* block, size_t bytes) {
  const auto* data = static_cast<const unsigned char*>(block);
  bool is_zero = data[bytes - 1] == 0;
  for (size_t at = 0; at < bytes; at += bench::stamp_stride_bytes)
    is_zero = is_zero && data[at] == 0;
  if (!is_zero) bench::leave(bench::exit_wrong_data, "a block of calloc is not zero");
}

struct Calloc {
  bool is_recycled;
  Sizes sizes;
  size_t slots_count;
  size_t steps_per_thread;
  bench::PaddedCounter live_bytes[bench::threads_max];
  bench::StartGate gate;

  void fill(bench::Slot& slot, bench::Random& random) const {
    slot.bytes = static_cast<uint32_t>(sizes.min + random.below(sizes.max - sizes.min + 1));
    slot.tag = bench::tag_of(random.next());
    slot.block = bench::take_zeroed(slot.bytes);
    check_zero(slot.block, slot.bytes);
    if (is_recycled) std::memset(slot.block, 0xD1, slot.bytes);
    bench::stamp(slot.block, slot.bytes, slot.tag);
  }

  void operator()(size_t thread) {
    bench::Random random(thread + 9);
    auto* slots = bench::take_array<bench::Slot>(slots_count);
    int64_t live = static_cast<int64_t>(slots_count * sizeof(bench::Slot));
    for (size_t at = 0; at < slots_count; at++) {
      fill(slots[at], random);
      live += slots[at].bytes;
    }
    live_bytes[thread].set(live);
    gate.wait();
    for (size_t step = 0; step < steps_per_thread; step++) {
      bench::Slot& slot = slots[random.below(slots_count)];
      slot.empty();
      fill(slot, random);
    }
    for (size_t at = 0; at < slots_count; at++) slots[at].empty();
    bench::give(slots);
  }
};

// Two are live at a time: each is held during the next allocation.
double run_huge(size_t steps) {
  constexpr size_t places[] = {0, huge_bytes / 2, huge_bytes - 1};
  const double start_s = bench::now_s();
  unsigned char* held = nullptr;
  unsigned char held_mark = 0;
  for (size_t step = 0; step <= steps; step++) {
    // The last iteration frees the held block.
    const bool is_last = step == steps;
    auto* block = is_last ? nullptr : static_cast<unsigned char*>(bench::take_zeroed(huge_bytes));
    const unsigned char mark = static_cast<unsigned char>(1 + step % 255);
    for (const size_t at : places) {
      if (!is_last && block[at] != 0) {
        bench::leave(bench::exit_wrong_data, "a block of calloc is not zero");
      }
      if (held != nullptr && held[at] != held_mark) {
        bench::leave(bench::exit_wrong_data, "a block lost its mark: blocks overlap");
      }
      if (!is_last) block[at] = mark;
    }
    bench::give(held);
    held = block;
    held_mark = mark;
  }
  return bench::now_s() - start_s;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  const char* mode = arguments.text("mode", "small");
  const bool is_huge = std::strcmp(mode, "huge") == 0;
  static Calloc work;
  work.is_recycled = std::strcmp(mode, "recycled") == 0;
  if (!is_huge && !work.is_recycled && std::strcmp(mode, "small") != 0) {
    bench::leave(bench::exit_wrong_arguments, "--mode must be small, recycled or huge");
  }
  const size_t threads = is_huge ? arguments.threads(1) : arguments.threads(bench::cores());
  const double steps_default = is_huge            ? huge_steps_default
                               : work.is_recycled ? recycled_steps_default
                                                  : small_steps_default;
  const double steps = arguments.real("steps", steps_default) * scale;
  arguments.finish();

  const size_t used_threads = is_huge ? 1 : threads;
  double elapsed_s = 0;
  uint64_t live = 2 * huge_bytes;
  work.steps_per_thread = bench::scaled(steps / static_cast<double>(used_threads), 1);
  if (is_huge) {
    elapsed_s = run_huge(work.steps_per_thread);
  } else {
    work.sizes = work.is_recycled ? Sizes{16 << 10, 512 << 10} : Sizes{16, 1024};
    work.slots_count = work.is_recycled ? recycled_slots : small_slots;
    bench::Team<Calloc> team(threads, work);
    const double start_s = work.gate.open(threads);
    team.join();
    elapsed_s = bench::now_s() - start_s;
    live = 0;
    for (size_t thread = 0; thread < threads; thread++)
      live += static_cast<uint64_t>(work.live_bytes[thread].get());
  }
  const char* name = is_huge            ? "Cf calloc huge"
                     : work.is_recycled ? "Cf calloc recycled"
                                        : "Cf calloc small";
  const double calls = static_cast<double>(work.steps_per_thread);
  bench::Result result(name, used_threads, elapsed_s * 1e6 / calls, "us/calloc", false,
                       2 * work.steps_per_thread * used_threads, elapsed_s);
  result.count("peak_requested_bytes", live);
  result.print();
  return 0;
}
