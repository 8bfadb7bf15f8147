// SPDX-License-Identifier: MIT
// model/block_states: the shipped src/slab/block_states.hpp under every schedule.
//
// Threads free one block at the same time: its owner loads and stores the state, others exchange
// it. The block goes to the owner's list, by a message or into the slab's bitmap, and comes out by
// an allocation. The work around the states is re-made as in modes/checked.hpp and slab/slab.hpp.
// Checked: the program never has the block twice, and what no race excuses stops at the free.
#include "memory.hpp"
#include "os/report.hpp"
#include "slab/block_states.hpp"
#include "verdict.hpp"

// Mutants of the callers.
#ifndef TALUS_MODEL_FOREIGN_AS_OWN
#define TALUS_MODEL_FOREIGN_AS_OWN 0
#endif
#ifndef TALUS_MODEL_STORED_AFTER_PUSH
#define TALUS_MODEL_STORED_AFTER_PUSH 0
#endif
#ifndef TALUS_MODEL_BITMAP_IGNORED
#define TALUS_MODEL_BITMAP_IGNORED 0
#endif

namespace {

using namespace talus::core;
using model::explorer;

// What a thread does. The first thread is the owner's.
enum class Act : uint8_t { nothing, frees, allocates, flushes, begins };
constexpr int acts_max = 4;
struct Plan {
  int thread_count;
  Act acts[3][acts_max];
  int owner;        // thread that owns the heap; -1: none of these
  int passed_most;  // of the frees, before one stops
  bool may_stop;    // no: the program is right
};

constexpr int copies_max = 4;

class World : public model::Scenario {
 public:
  explicit World(const Plan& plan) : plan_{plan} {}
  int thread_count() const override { return plan_.thread_count; }
  void set_up() override {
    state_.store_init(BlockState::untold);
    if (!mark_given(state_)) explorer.violate("a new block counts as given");
    lock_.reset();
    copies_ = sent_ = frees_ = in_slab_ = 0;
    given_ = 1;
    has_stopped_ = is_new_ = false;
    explorer.call_it(&state_, "state");
  }
  void run(int thread) override {
    for (const Act act : plan_.acts[thread]) {
      if (has_stopped_) return;
      if (act == Act::frees) free_block(thread);
      if (act == Act::flushes) flush();
      if (act == Act::allocates) allocate();
      if (act == Act::begins) begin_slab();
    }
  }
  void check_end() override {
    if (frees_ > plan_.passed_most) explorer.violate("a double free passed");
    if (has_stopped_ && !plan_.may_stop) explorer.violate("a right program stopped");
    // All that is left comes out: the second copy must stop.
    for (int i = 0; i < 2 * copies_max && !has_stopped_; i++) {
      flush();
      allocate();
      if (given_ > 1) explorer.violate("the program has the block twice");
    }
  }

 private:
  void stop() { has_stopped_ = true; }
  // A process that stopped does nothing more.
  void free_block(int thread) {
    const bool is_own = thread == plan_.owner;
    if (TALUS_MODEL_STORED_AFTER_PUSH != 0) push(is_own);
    const bool is_claimed_as_own = is_own || TALUS_MODEL_FOREIGN_AS_OWN != 0;
    const uint8_t before = is_claimed_as_own ? claim_own(state_) : claim_any(state_);
    if (has_stopped_) return;
    if (is_new_ && before != BlockState::untold) explorer.violate("a new slab has old states");
    if (before != BlockState::given) return stop();
    frees_++;
    given_ = given_ > 0 ? given_ - 1 : 0;
    if (TALUS_MODEL_STORED_AFTER_PUSH == 0) push(is_own);
  }
  // On the owner's list, or in a message.
  void push(bool is_own) {
    lock();
    (is_own ? copies_ : sent_)++;
    unlock();
  }
  // The list and the messages go to the slab.
  void flush() {
    lock();
    for (int left = copies_ + sent_; left > 0 && !has_stopped_; left--) {
      if (in_slab_ != 0 && TALUS_MODEL_BITMAP_IGNORED == 0) {
        stop();
      } else {
        in_slab_++;
      }
    }
    copies_ = sent_ = 0;
    if (in_slab_ > 1) explorer.violate("the slab counts more free blocks than it has");
    unlock();
  }
  void allocate() {
    lock();
    const bool is_there = copies_ + in_slab_ > 0;
    if (is_there) (copies_ > 0 ? copies_ : in_slab_)--;
    is_new_ = false;
    unlock();
    if (!is_there || has_stopped_) return;
    if (!mark_given(state_)) return stop();
    given_++;
    if (given_ > 1) explorer.violate("the program has the block twice");
  }
  // The range became another slab of the class.
  void begin_slab() {
    forget_states(&state_, 1);
    is_new_ = true;
  }
  void lock() {
    if (explorer.current() != model::no_thread) lock_.lock();
  }
  void unlock() {
    if (explorer.current() != model::no_thread) lock_.unlock();
  }

  const Plan plan_;
  Atomic<uint8_t> state_;
  model::Mutex lock_;  // stands for the owner's work, a heap's lock and a message's way
  int copies_ = 0, sent_ = 0, in_slab_ = 0;  // where the block is
  int frees_ = 0, given_ = 0;                // frees that passed; how often the program has it
  bool has_stopped_ = false, is_new_ = false;
};

constexpr Act frees = Act::frees, allocates = Act::allocates, flushes = Act::flushes,
              begins = Act::begins;

// One after the other, on one thread: nothing excuses a second free.
World twice_by_owner({1, {{frees, frees}}, 0, 1, true});
World twice_by_other({1, {{frees, frees}}, -1, 1, true});
World twice_over_the_slab({1, {{frees, flushes, frees}}, 0, 1, true});
World never_given({1, {{frees, flushes, begins, frees}}, 0, 1, true});
World right_frees({1, {{frees, allocates, frees, allocates}}, 0, 2, false});
// Another thread frees, and the owner allocates the block again.
World right_beside({2, {{flushes, allocates}, {frees}}, 0, 1, false});
// Two others at once: the exchange lets one pass.
World two_others({2, {{frees}, {frees}}, -1, 1, true});
World three_others({3, {{frees}, {frees}, {frees}}, -1, 1, true});
// The owner and another: both may pass, and the block comes out once.
World owner_and_other({2, {{frees, allocates, allocates}, {frees}}, 0, 2, true});
World owner_flushes({2, {{frees, flushes, allocates, allocates}, {frees}}, 0, 2, true});
// Once it was allocated again, the third free is a right one.
World owner_and_two({3, {{frees, allocates}, {frees}, {frees}}, 0, 3, true});

}  // namespace

int main(int argc, char** argv) {
  const model::Case cases[] = {
      {"twice by the owner", &twice_by_owner, {}},
      {"twice by another thread", &twice_by_other, {}},
      {"twice, in the slab between", &twice_over_the_slab, {}},
      {"never given", &never_given, {}},
      {"right frees", &right_frees, {}},
      {"a right free beside", &right_beside, {model::unbounded, 1, 0}},
      {"two others at once", &two_others, {model::unbounded, 2, 0}},
      {"three others at once", &three_others, {model::unbounded, 1, 0}},
      {"the owner and another", &owner_and_other, {model::unbounded, 0, 0}},
      {"the owner flushes", &owner_flushes, {4, 0, 0}},
      {"the owner and two others", &owner_and_two, {3, 0, 0}},
  };
  return model::verdict(cases, argc, argv);
}
