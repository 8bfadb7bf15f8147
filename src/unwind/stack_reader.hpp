// SPDX-License-Identifier: MIT
// unwind/stack_reader: reads words of a stack, and never faults.
//
// A thread's own stack stays mapped while the thread lives. So its bounds are learnt once: all
// pages from the stack pointer up to the thread's descriptor, or to what the kernel laid above the
// first frame. Any other stack (of a coroutine, of signal handlers) may go at any time: each of its
// pages is proved anew in each walk.
//
// Owns: what a thread knows of its stack. Invariant: nothing is read that was not proved. Called
// on: the thread of the stack. Must not know: what the words mean.
#ifndef TALUS_UNWIND_STACK_READER_HPP
#define TALUS_UNWIND_STACK_READER_HPP

#include "base/base.hpp"
#include "arch/arch.hpp"
#include "arch/frames.hpp"
#include "os/os.hpp"
#include "unwind/table_reader.hpp"

namespace talus::core::unwind {

// A thread has one, which is zero at first.
struct StackBounds {
  uintptr_t low = 0, high = 0;                  // the thread's own stack, as far as it is proved
  uintptr_t foreign_low = 0, foreign_high = 0;  // stack pointers that were seen on another
  uint32_t failures = 0;
};

// More pages than this are not proved at a time, nor after this number of failures. Each page of
// the stack is proved in each walk then.
inline constexpr size_t proofs_max = 2048;
inline constexpr uint32_t failures_max = 16;

// The lowest address above the stack pointer that no frame of a thread's own stack reaches; 0: none
// is known.
inline uintptr_t stack_end_above(uintptr_t sp) noexcept {
  // libc lays the descriptor of a thread above its stack. The first thread's is elsewhere.
  const uintptr_t ends[] = {arch::thread_pointer() - arch::thread_pointer_above,
                            os::System::first_stack_end()};
  uintptr_t end = 0;
  for (const uintptr_t one : ends) {
    if (one > sp && (end == 0 || one < end)) end = one;
  }
  return round_down(end, 8);
}

// Learns the bounds of the thread's own stack, if this stack pointer is on it.
TALUS_APART void learn_bounds(StackBounds& bounds, uintptr_t sp) noexcept {
  const uintptr_t end = bounds.high != 0 ? bounds.low : stack_end_above(sp);
  const bool is_foreign = sp >= bounds.foreign_low && sp < bounds.foreign_high;
  if (is_foreign || sp >= end || bounds.failures == failures_max) return;
  ProvenPage page;
  uintptr_t at = round_down(sp, 8);
  for (size_t proofs = 0; at < end; proofs++) {
    if (proofs == proofs_max || !page.can_read(at, 8)) {
      bounds.foreign_low = round_down(sp, proof_bytes);
      bounds.foreign_high = at;
      bounds.failures++;
      return;
    }
    at = round_down(at, proof_bytes) + proof_bytes;
  }
  bounds.low = round_down(sp, proof_bytes);
  if (bounds.high == 0) bounds.high = end;
  bounds.foreign_low = bounds.foreign_high = 0;
  TALUS_ASSERT(bounds.low < bounds.high);
}

class StackReader {
 public:
  // The stack pointer of the walk's first frame.
  StackReader(StackBounds& bounds, uintptr_t sp) noexcept {
    if (TALUS_UNLIKELY(sp - bounds.low >= bounds.high - bounds.low)) learn_bounds(bounds, sp);
    low_ = bounds.low;
    bytes_ = bounds.high - bounds.low;
  }

  // False: there is no such word.
  TALUS_FAST bool read(uintptr_t at, uintptr_t& word) noexcept {
    const bool is_known = at - low_ < bytes_ && at % 8 == 0;
    if (TALUS_UNLIKELY(!is_known) && !prove(at)) return false;
    word = load_any<uintptr_t>(at);
    return true;
  }

 private:
  TALUS_APART bool prove(uintptr_t at) noexcept { return at % 8 == 0 && page_.can_read(at, 8); }

  uintptr_t low_ = 0, bytes_ = 0;
  ProvenPage page_;
};

}  // namespace talus::core::unwind

#endif  // TALUS_UNWIND_STACK_READER_HPP
