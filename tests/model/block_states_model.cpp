// SPDX-License-Identifier: MIT
// model/block_states: the shipped src/slab/block_states.hpp under every schedule.
//
// Threads free one block at the same time. It goes to the owner's list, by a message or into the
// slab's bitmap, and comes out by an allocation. Or its slab ends, and begins elsewhere with
// another block of the program. The work around the states is re-made as in modes/checked.hpp,
// modes/hardened.hpp and slab/slab.hpp. Checked: the program never has the block twice, a wrong
// free stops at once, and none frees another block.
#include "memory.hpp"
#include "os/report.hpp"
#include "slab/block_states.hpp"
#include "verdict.hpp"

// Mutants of the callers.
#ifndef TALUS_MODEL_STORED_AFTER_PUSH
#define TALUS_MODEL_STORED_AFTER_PUSH 0
#endif
#ifndef TALUS_MODEL_TOLD_LATE
#define TALUS_MODEL_TOLD_LATE 0
#endif

namespace {

using namespace talus::core;
using model::explorer;

// What a thread does. Only `starts` lets the other threads begin, if a plan has it.
enum class Act : uint8_t { nothing, starts, frees, frees_hardened, allocates, flushes, moves };
constexpr int acts_max = 4;
struct Plan {
  int thread_count;
  Act acts[3][acts_max];
  int owner;        // thread that owns the heap; -1: none of these
  int passed_most;  // of the frees, before one stops
  bool may_stop;    // no: the program is right
};

constexpr int copies_max = 4;
constexpr uint32_t here = 1, elsewhere = 2;

class World : public model::Scenario {
 public:
  explicit World(const Plan& plan) : plan_{plan} {}
  int thread_count() const override { return plan_.thread_count; }
  void set_up() override {
    model::says_one_thread = plan_.thread_count == 1 || plan_.acts[0][0] == Act::starts;
    has_started_ = !model::says_one_thread || plan_.thread_count == 1;
    base_.store_init(here);
    state_.store_init(BlockState::untold);
    if (!mark_given(state_)) explorer.violate("a new block counts as given");
    lock_.reset();
    copies_ = sent_ = frees_ = in_slab_ = 0;
    given_ = 1;
    has_stopped_ = has_moved_ = false;
    explorer.call_it(&state_, "state");
    explorer.call_it(&base_, "base");
  }
  void run(int thread) override {
    while (thread != 0 && !has_started_) explorer.sleep_on(&has_started_);
    if (thread != 0 && TALUS_MODEL_TOLD_LATE != 0) model::says_one_thread = false;
    for (const Act act : plan_.acts[thread]) {
      if (has_stopped_) return;
      if (act == Act::starts) start();
      if (act == Act::frees) free_block(thread);
      if (act == Act::frees_hardened) free_hardened(thread);
      if (act == Act::flushes) flush();
      if (act == Act::allocates) allocate();
      if (act == Act::moves) move();
    }
  }
  void check_end() override {
    if (frees_ > plan_.passed_most) explorer.violate("a wrong free passed");
    if (has_stopped_ && !plan_.may_stop) explorer.violate("a right program stopped");
    if (has_stopped_) return;
    if (has_moved_ && state_.load_own() != BlockState::given) {
      explorer.violate("another block counts as freed");
    }
    // All that is left comes out: the second copy must stop.
    for (int i = 0; i < 2 * copies_max && !has_stopped_ && !has_moved_; i++) {
      flush();
      allocate();
    }
  }

 private:
  void stop() { has_stopped_ = true; }
  // The thread that makes the second one says so before, as the C library does.
  void start() {
    if (TALUS_MODEL_TOLD_LATE == 0) model::says_one_thread = false;
    has_started_ = true;
    explorer.wake_all(&has_started_);
  }
  bool is_here() { return base_.load_own() == here; }
  // A process that stopped does nothing more.
  void free_block(int thread) {
    const bool is_own = thread == plan_.owner;
    if (!is_here()) return stop();  // the look-up finds no block
    if (TALUS_MODEL_STORED_AFTER_PUSH != 0) push(is_own);
    const uint8_t before = claim_if(state_, [this]() noexcept { return is_here(); });
    if (has_stopped_) return;
    if (before != BlockState::given) return stop();
    pass();
    if (TALUS_MODEL_STORED_AFTER_PUSH == 0) push(is_own);
  }
  // What is wrong takes the usual way. There an address of no owner may be ignored.
  void free_hardened(int thread) {
    if (!is_here()) return;
    const bool is_claimed =
        claim_only(state_, BlockState::given, [this]() noexcept { return is_here(); });
    if (has_stopped_) return;
    if (!is_claimed) return is_here() ? free_block(thread) : void();
    pass();
    push(thread == plan_.owner);
  }
  void pass() {
    if (has_moved_) explorer.violate("another block was freed");
    frees_++;
    given_--;
  }
  // On the owner's list, or in a message.
  void push(bool is_own) {
    lock();
    (is_own ? copies_ : sent_)++;
    if (copies_ + sent_ + in_slab_ > 1) explorer.violate("the block is in two places");
    unlock();
  }
  // The list and the messages go to the slab.
  void flush() {
    lock();
    in_slab_ += copies_ + sent_;
    copies_ = sent_ = 0;
    unlock();
  }
  void allocate() {
    lock();
    const bool is_there = copies_ + in_slab_ > 0 && !has_moved_;
    if (is_there) (copies_ > 0 ? copies_ : in_slab_)--;
    unlock();
    if (!is_there || has_stopped_) return;
    if (!mark_given(state_)) return stop();
    given_++;
    if (given_ > 1) explorer.violate("the program has the block twice");
  }
  // If the slab has the block, it ends. It begins elsewhere, and the program gets its first block.
  void move() {
    lock();
    const bool may_end = in_slab_ == 1 && copies_ + sent_ == 0;
    if (may_end) {
      in_slab_ = 0;
      base_.store_own(elsewhere);
      forget_states(&state_, 1);
      has_moved_ = true;
    }
    unlock();
    if (may_end && !mark_given(state_) && !has_stopped_) explorer.violate("old states stay");
  }
  void lock() {
    if (explorer.current() != model::no_thread) lock_.lock();
  }
  void unlock() {
    if (explorer.current() != model::no_thread) lock_.unlock();
  }

  const Plan plan_;
  Atomic<uint8_t> state_;
  Atomic<uint32_t> base_;  // of the slab, which its descriptor and the page map say
  model::Mutex lock_;      // stands for the owner's work, a heap's lock and a message's way
  int copies_ = 0, sent_ = 0, in_slab_ = 0;  // where the block is
  int frees_ = 0, given_ = 0;                // frees that passed; how often the program has it
  bool has_stopped_ = false, has_moved_ = false, has_started_ = false;
};

constexpr Act starts = Act::starts, frees = Act::frees, frees_hardened = Act::frees_hardened,
              allocates = Act::allocates, flushes = Act::flushes, moves = Act::moves;

// One after the other, on one thread: nothing excuses a second free.
World twice_by_owner({1, {{frees, frees}}, 0, 1, true});
World twice_by_other({1, {{frees, frees}}, -1, 1, true});
World twice_hardened({1, {{frees_hardened, frees_hardened}}, 0, 1, true});
World twice_over_the_slab({1, {{frees, flushes, frees}}, 0, 1, true});
World after_a_move({1, {{frees, flushes, moves, frees}}, 0, 1, true});
World right_frees({1, {{frees, allocates, frees, allocates}}, 0, 2, false});
World right_hardened({1, {{frees_hardened, allocates, frees_hardened, allocates}}, 0, 2, false});
// Another thread frees, and the owner allocates the block again.
World right_beside({2, {{flushes, allocates}, {frees}}, 0, 1, false});
// At once: one passes, and the others stop.
World two_others({2, {{frees}, {frees}}, -1, 1, true});
World three_others({3, {{frees}, {frees}, {frees}}, -1, 1, true});
World owner_and_other({2, {{frees}, {frees}}, 0, 1, true});
World two_hardened({2, {{frees_hardened}, {frees_hardened}}, 0, 1, true});
World hardened_and_other({2, {{frees_hardened, flushes}, {frees, flushes}}, 0, 1, true});
// The process has one thread, which makes another one.
World first_thread({2, {{starts, frees}, {frees}}, 0, 1, true});
World first_hardened({2, {{starts, frees_hardened}, {frees_hardened}}, 0, 1, true});
World right_first({2, {{frees, starts, allocates}, {flushes}}, 0, 1, false});
// A second free, and the slab goes meanwhile.
World slab_goes({2, {{frees, flushes, moves}, {frees}}, 0, 1, true});
World slab_goes_hardened({2, {{frees, flushes, moves}, {frees_hardened}}, 0, 1, true});
// Once it was allocated again, the second free is a right one.
World owner_and_two({3, {{frees, allocates}, {frees}, {frees}}, 0, 2, true});

}  // namespace

int main(int argc, char** argv) {
  const model::Case cases[] = {
      {"twice by the owner", &twice_by_owner, {}},
      {"twice by another thread", &twice_by_other, {}},
      {"twice, hardened", &twice_hardened, {}},
      {"twice, in the slab between", &twice_over_the_slab, {}},
      {"after the slab went", &after_a_move, {}},
      {"right frees", &right_frees, {}},
      {"right frees, hardened", &right_hardened, {}},
      {"a right free beside", &right_beside, {model::unbounded, 1, 0}},
      {"two others at once", &two_others, {model::unbounded, 2, 0}},
      {"three others at once", &three_others, {model::unbounded, 1, 0}},
      {"the owner and another", &owner_and_other, {model::unbounded, 2, 0}},
      {"two hardened at once", &two_hardened, {model::unbounded, 2, 0}},
      {"hardened and another", &hardened_and_other, {model::unbounded, 1, 0}},
      {"the first thread makes another", &first_thread, {model::unbounded, 2, 0}},
      {"the same, hardened", &first_hardened, {model::unbounded, 2, 0}},
      {"right, with a second thread", &right_first, {model::unbounded, 2, 0}},
      {"the slab goes meanwhile", &slab_goes, {model::unbounded, 2, 0}},
      {"the same, hardened", &slab_goes_hardened, {model::unbounded, 2, 0}},
      {"the owner and two others", &owner_and_two, {3, 0, 0}},
  };
  return model::verdict(cases, argc, argv);
}
