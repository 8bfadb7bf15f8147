// SPDX-License-Identifier: MIT
// model/large_states: the shipped src/heap/large_state.hpp under every schedule, and beside it the
// state of slab/block_states.hpp as modes that check use it.
//
// Threads free one large block, resize it, keep it and take it again. Its range goes back, and its
// descriptor begins anew elsewhere or there. The work around the words is re-made as in
// store/large.hpp, cache/large_cache.hpp and modes/checked.hpp. Checked: the block is in one place,
// of two frees one stops, and none ends another block.
#include "memory.hpp"
#include "os/os.hpp"
#include "os/report.hpp"
#include "slab/block_states.hpp"
#include "heap/large_state.hpp"
#include "verdict.hpp"

// Mutants of the callers.
#ifndef TALUS_MODEL_UNCHECKED
#define TALUS_MODEL_UNCHECKED 0
#endif
#ifndef TALUS_MODEL_GIVEN_UNORDERED
#define TALUS_MODEL_GIVEN_UNORDERED 0
#endif
#ifndef TALUS_MODEL_KEPT_NOT_PROVEN
#define TALUS_MODEL_KEPT_NOT_PROVEN 0
#endif
#ifndef TALUS_MODEL_PLACE_NOT_PROVEN
#define TALUS_MODEL_PLACE_NOT_PROVEN 0
#endif

namespace {

using namespace talus::core;
using model::explorer;

enum class Act : uint8_t { nothing, keeps, gives, resizes, reuses, flushes, begins_elsewhere };
constexpr int acts_max = 4;
struct Plan {
  int thread_count;
  Act acts[3][acts_max];
  bool is_checked;  // in a mode that keeps states
  int passed_most;  // of the frees
  bool may_stop;    // no: the program is right
};

constexpr uint32_t nowhere = 0, here = 1, elsewhere = 2;

class World : public model::Scenario {
 public:
  explicit World(const Plan& plan) : plan_{plan} {}
  int thread_count() const override { return plan_.thread_count; }
  void set_up() override {
    model::says_one_thread = plan_.thread_count == 1;
    base_.store_init(here);
    block_state_.store_init(BlockState::given);
    state_.store_init(LargeState::live);
    lock_.reset();
    frees_ = returned_ = 0;
    given_ = 1;
    kept_by_ = model::no_thread;
    has_stopped_ = false;
    explorer.call_it(&state_, "state");
    explorer.call_it(&block_state_, "block state");
    explorer.call_it(&base_, "base");
  }
  void run(int thread) override {
    for (const Act act : plan_.acts[thread]) {
      if (has_stopped_) return;
      if (act == Act::keeps) free_block(thread, true);
      if (act == Act::gives) free_block(thread, false);
      if (act == Act::resizes) resize();
      if (act == Act::reuses && kept_by_ == thread) reuse();
      if (act == Act::flushes && kept_by_ == thread) flush();
      if (act == Act::begins_elsewhere) begin_elsewhere();
    }
  }
  void check_end() override {
    if (frees_ > plan_.passed_most) explorer.violate("a second free passed");
    if (has_stopped_ && !plan_.may_stop) explorer.violate("a right program stopped");
    if (has_stopped_ || base_.load_own() != elsewhere) return;
    if (state_.load_own() != LargeState::live || block_state_.load_own() != BlockState::given) {
      explorer.violate("another block counts as freed");
    }
  }

 private:
  void stop() { has_stopped_ = true; }
  bool is_here() { return base_.load_own() == here; }
  // The look-up of a free or a resize. False: it stops.
  bool prove() {
    const bool is_live = state_.load_acquire() == LargeState::live;
    return is_live && is_here();
  }
  bool claim_for_program() {
    if (!plan_.is_checked || TALUS_MODEL_UNCHECKED != 0) return true;
    const auto is_there = [this]() noexcept {
      return TALUS_MODEL_PLACE_NOT_PROVEN != 0 || is_here();
    };
    return claim_if(block_state_, is_there) == BlockState::given;
  }
  void give_to_program() {
    if (TALUS_MODEL_GIVEN_UNORDERED != 0) return block_state_.store_relaxed(BlockState::given);
    block_state_.store_release(BlockState::given);
  }

  void free_block(int thread, bool is_kept) {
    if (!prove() || !claim_for_program() || has_stopped_) return stop();
    if (!prove()) return stop();
    return is_kept ? keep(thread) : give_back();
  }
  void keep(int thread) {
    if (!LargeState::claim(state_, LargeState::kept)) return stop();
    if (has_stopped_) return;
    if (TALUS_MODEL_KEPT_NOT_PROVEN == 0 && !is_here()) {
      LargeState::end_change(state_);
      return stop();
    }
    pass();
    if (kept_by_ != model::no_thread) explorer.violate("two threads keep the block");
    kept_by_ = thread;
  }
  void give_back() {
    lock();
    const bool is_own = is_here() && LargeState::claim(state_, LargeState::changing);
    if (is_own) {
      pass();
      end_range();
    }
    unlock();
    if (!is_own) stop();
  }
  void pass() {
    if (base_.load_own() == elsewhere) explorer.violate("another block was freed");
    frees_++;
    given_--;
  }
  void end_range() {
    if (++returned_ > 1) explorer.violate("the range goes back twice");
    base_.store_own(nowhere);
    LargeState::end(state_);
  }
  void resize() {
    if (!prove() || !claim_for_program() || has_stopped_) return stop();
    if (!LargeState::claim(state_, LargeState::changing)) return stop();
    if (base_.load_own() == elsewhere) explorer.violate("another block is resized");
    if (kept_by_ != model::no_thread || returned_ != 0) explorer.violate("it is freed meanwhile");
    LargeState::end_change(state_);
    give_to_program();
  }
  void reuse() {
    kept_by_ = model::no_thread;
    LargeState::reuse(state_);
    give_to_program();
    if (++given_ > 1) explorer.violate("the program has the block twice");
  }
  void flush() {
    kept_by_ = model::no_thread;
    lock();
    end_range();
    unlock();
  }
  // The descriptor serves another block of the program.
  void begin_elsewhere() {
    lock();
    if (state_.load_own() == LargeState::unused) {
      base_.store_own(elsewhere);
      give_to_program();
      LargeState::begin(state_);
      returned_ = 0;
    }
    unlock();
  }
  void lock() {
    if (explorer.current() != model::no_thread) lock_.lock();
  }
  void unlock() {
    if (explorer.current() != model::no_thread) lock_.unlock();
  }

  const Plan plan_;
  Atomic<uint8_t> state_, block_state_;
  Atomic<uint32_t> base_;  // where the block lies, as its descriptor and the page map say
  model::Mutex lock_;      // of space
  int frees_ = 0, given_ = 0, returned_ = 0;
  int kept_by_ = model::no_thread;
  bool has_stopped_ = false;
};

constexpr Act keeps = Act::keeps, gives = Act::gives, resizes = Act::resizes, reuses = Act::reuses,
              flushes = Act::flushes, elsewhere_too = Act::begins_elsewhere;
constexpr bool usual = false, checked = true;

// Right programs, on one thread and beside another that takes the descriptor.
World right({1, {{resizes, keeps, reuses, gives}}, usual, 2, false});
World right_checked({1, {{resizes, keeps, reuses, gives}}, checked, 2, false});
World right_beside({2, {{keeps, flushes}, {elsewhere_too}}, checked, 1, false});
// One after the other.
World twice({1, {{keeps, keeps}}, usual, 1, true});
World twice_given({1, {{gives, gives}}, usual, 1, true});
World twice_checked({1, {{keeps, flushes, elsewhere_too, gives}}, checked, 1, true});
// At once, in any combination.
World two_keep({2, {{keeps}, {keeps}}, usual, 1, true});
World two_give({2, {{gives}, {gives}}, usual, 1, true});
World keep_and_give({2, {{keeps, reuses}, {gives}}, usual, 2, true});
World three({3, {{keeps}, {gives}, {keeps}}, usual, 1, true});
World resized({2, {{resizes}, {keeps}}, usual, 1, true});
World resized_twice({2, {{resizes}, {resizes}}, usual, 0, true});
// The range goes, and its descriptor serves another block.
World gone({2, {{gives, elsewhere_too}, {gives}}, usual, 1, true});
World gone_kept({2, {{gives, elsewhere_too}, {keeps}}, usual, 1, true});
World kept_gone({2, {{keeps, flushes, elsewhere_too}, {keeps}}, usual, 1, true});
World gone_checked({2, {{gives, elsewhere_too}, {keeps}}, checked, 1, true});
World kept_gone_checked({2, {{keeps, flushes, elsewhere_too}, {keeps}}, checked, 1, true});
World gone_beside({3, {{gives}, {keeps}, {elsewhere_too}}, checked, 1, true});
World resized_gone({2, {{gives, elsewhere_too}, {resizes}}, checked, 1, true});

}  // namespace

int main(int argc, char** argv) {
  const model::Case cases[] = {
      {"right", &right, {}},
      {"right, checked", &right_checked, {}},
      {"right, and the descriptor goes on", &right_beside, {model::unbounded, 2, 0}},
      {"twice", &twice, {}},
      {"twice, the range goes back", &twice_given, {}},
      {"twice, checked", &twice_checked, {}},
      {"two keep it", &two_keep, {model::unbounded, 2, 0}},
      {"two return it", &two_give, {model::unbounded, 2, 0}},
      {"one keeps, one returns", &keep_and_give, {model::unbounded, 1, 0}},
      {"three at once", &three, {3, 1, 0}},
      {"a resize and a free", &resized, {model::unbounded, 2, 0}},
      {"two resizes", &resized_twice, {model::unbounded, 2, 0}},
      {"the range goes", &gone, {model::unbounded, 1, 0}},
      {"the range goes, and one keeps it", &gone_kept, {model::unbounded, 1, 0}},
      {"the same, kept before, unchecked", &kept_gone, {4, 1, 0}},
      {"the range goes, checked", &gone_checked, {model::unbounded, 1, 0}},
      {"the same, kept before", &kept_gone_checked, {4, 1, 0}},
      {"the same, by a third", &gone_beside, {3, 1, 0}},
      {"a resize meanwhile", &resized_gone, {model::unbounded, 1, 0}},
  };
  return model::verdict(cases, argc, argv);
}
