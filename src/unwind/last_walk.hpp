// SPDX-License-Identifier: MIT
// unwind/last_walk: the frames of a thread's last walk, which the next walk meets again.
//
// Most frames of a walk were there in the walk before: those of the callers. A rule depends on code
// and module, and where it leads on the two pointers. So a frame with the same code, module and
// pointers has its words at the same places, and its caller has the same stack pointer. The words
// are read anew. So no rule is looked up, and reads need not wait for each other.
//
//   frames of the last walk   | a | b | c | d | e |
//   this walk                     x | y | c | d' ...        c is met again, d has another caller
//
// Owns: two rows of frames, one of which the walk under way writes. Invariant: the record behind
// that of a frame whose words are known is its caller's, or the end. Called on: the thread that has
// it. A handler of a signal that interrupts a walk finds it in use, and does without. Must not
// know: rules.
#ifndef TALUS_UNWIND_LAST_WALK_HPP
#define TALUS_UNWIND_LAST_WALK_HPP

#include "base/base.hpp"

namespace talus::core::unwind {

struct KnownFrame {
  static constexpr uintptr_t no_sp = ~uintptr_t{0};

  uint64_t key;  // code and module (RuleTable::key_of); 0: not known
  uintptr_t sp, fp;
  // The words with the caller's code and its frame pointer; 0: not known, and it is the same.
  uintptr_t return_place, fp_place;
};

// Zero at first.
class LastWalk {
  friend class Recall;
  static constexpr size_t frames_max = 64;

  KnownFrame rows_[2][frames_max + 1];  // an end behind the last: it has no_sp
  uint32_t row_;                        // of the last walk
  bool is_begun_;
  Atomic<bool> shared_is_used_;  // by a walk; one thread and its handlers
};

// A walk that recalls the last one. Without one it recalls nothing.
class Recall {
 public:
  explicit Recall(LastWalk* last) noexcept {
    end_.sp = KnownFrame::no_sp;
    if (last == nullptr || last->shared_is_used_.load_acquire()) return;
    last->shared_is_used_.store_own(true);
    compiler_fence();
    last_ = last;
    if (last->is_begun_) at_ = last->rows_[last->row_];
    fresh_ = last->rows_[1 - last->row_];
    fresh_end_ = fresh_ + LastWalk::frames_max;
  }
  Recall(const Recall&) = delete;
  Recall& operator=(const Recall&) = delete;
  ~Recall() {
    if (last_ == nullptr) return;
    fresh_->sp = KnownFrame::no_sp;
    last_->row_ = 1 - last_->row_;
    last_->is_begun_ = true;
    last_->shared_is_used_.store_release(false);
  }

  // Notes the next frame of this walk. Its caller may follow in the same row only if its words are
  // set to be known.
  TALUS_FAST KnownFrame& note(uintptr_t sp, uintptr_t fp) noexcept {
    KnownFrame& frame = fresh_ != fresh_end_ ? *fresh_++ : scrap_;
    frame.key = 0;
    frame.sp = sp;
    frame.fp = fp;
    frame.return_place = 0;
    return frame;
  }
  // The same frame in the last walk, if its words are known and its caller follows; null: there is
  // none. Frames of other stacks may stand between, and are not found.
  TALUS_FAST const KnownFrame* find(const KnownFrame& frame) noexcept {
    while (at_->sp < frame.sp) at_++;
    const bool is_same = at_->sp == frame.sp && at_->key == frame.key && at_->fp == frame.fp;
    return is_same && is_known(at_) ? at_ : nullptr;
  }
  // Are its words known, and does its caller follow?
  TALUS_FAST static bool is_known(const KnownFrame* at) noexcept {
    return at->return_place != 0 && at[1].sp != KnownFrame::no_sp;
  }
  // A run of frames from the last walk: the first is noted already, the end is not.
  TALUS_FAST void begin_run(const KnownFrame* first) noexcept { at_ = first; }
  TALUS_FAST void end_run(const KnownFrame* end) noexcept {
    const KnownFrame* from = at_;
    at_ = end;
    if (fresh_ == fresh_end_) return;  // the first may be the last that found room
    fresh_--;
    while (from != end && fresh_ != fresh_end_) *fresh_++ = *from++;
  }

 private:
  KnownFrame end_, scrap_;
  LastWalk* last_ = nullptr;
  const KnownFrame* at_ = &end_;
  KnownFrame* fresh_ = nullptr;
  KnownFrame* fresh_end_ = nullptr;
};

}  // namespace talus::core::unwind

#endif  // TALUS_UNWIND_LAST_WALK_HPP
