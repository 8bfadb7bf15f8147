// SPDX-License-Identifier: MIT
// model/lock: the shipped src/sync/lock.hpp under every schedule.
//
// Checked: never two threads inside; the next thread sees what was written inside (no data race).
// No wake-up is lost (no thread sleeps for ever), the word names its holder, and the lock is free
// at the end. The kernel's side of the futex is model/include/os/os.hpp. The build makes a copy of
// the header that spins once instead of spins_max times before it sleeps: more rounds of the same
// add schedules but no states.
#include "memory.hpp"

#include "sync/ranked_lock.hpp"
#include "verdict.hpp"

namespace {

using model::explorer;

// What a thread does in each of its rounds.
enum class Round { lock, try_lock, unlock_for_a_while, ask_for_waiters };

class Rounds : public model::Scenario {
 public:
  Rounds(int threads, int rounds, Round first_thread, Round others)
      : threads_{threads}, rounds_{rounds}, first_thread_{first_thread}, others_{others} {}
  int thread_count() const override { return threads_; }
  void set_up() override {
    new (&lock_) talus::core::HeapLock();
    explorer.call_it(&lock_, "lock");
    guarded_.reset();
    inside_ = 0;
    entries_ = refusals_ = 0;
  }
  void run(int thread) override {
    const Round round = thread == 0 ? first_thread_ : others_;
    for (int i = 0; i < rounds_; i++) {
      if (round == Round::try_lock) {
        if (!lock_.try_lock()) {
          refusals_++;
          continue;
        }
        be_inside();
        lock_.unlock();
        continue;
      }
      talus::core::Held held{lock_};
      be_inside();
      if (round == Round::ask_for_waiters) {
        lock_.is_awaited();
        be_inside();
      }
      if (round == Round::unlock_for_a_while) {
        held.unlock_for_a_while();
        held.lock_again();
        be_inside();
      }
    }
  }
  void check_end() override {
    if (lock_.is_locked()) explorer.violate("the lock is locked though no thread is inside");
    int wanted = 0;
    for (int thread = 0; thread < threads_; thread++) {
      const Round round = thread == 0 ? first_thread_ : others_;
      wanted += rounds_ * (round == Round::lock || round == Round::try_lock ? 1 : 2);
    }
    if (entries_ + refusals_ != wanted) explorer.violate("%d entries", entries_);
  }

 private:
  void be_inside() {
    if (++inside_ != 1) explorer.violate("two threads are inside");
    if (!lock_.is_own()) explorer.violate("the lock does not name its holder");
    guarded_.read("what the lock guards");
    explorer.point();
    guarded_.write("what the lock guards");
    entries_++;
    inside_--;
  }

  const int threads_, rounds_;
  const Round first_thread_, others_;
  talus::core::HeapLock lock_;
  model::PlainData guarded_;
  int inside_ = 0;
  int entries_ = 0;
  int refusals_ = 0;
};

Rounds two_once{2, 1, Round::lock, Round::lock};
Rounds two_twice{2, 2, Round::lock, Round::lock};
Rounds three_once{3, 1, Round::lock, Round::lock};
Rounds three_twice{3, 2, Round::lock, Round::lock};
Rounds one_tries{3, 2, Round::try_lock, Round::lock};
Rounds one_pauses{3, 1, Round::unlock_for_a_while, Round::lock};
Rounds one_asks{3, 1, Round::ask_for_waiters, Round::lock};

}  // namespace

int main(int argc, char** argv) {
  const model::Case cases[] = {
      {"two threads, once", &two_once, {model::unbounded, 2, 1}},
      {"three threads, once, few switches", &three_once, {2, 1, 1}},
      {"three threads, once", &three_once, {4, 1, 1}},
      {"one of three tries only", &one_tries, {3, 1, 0}},
      {"one of three gives for a while", &one_pauses, {3, 1, 1}},
      {"one of three asks for waiters", &one_asks, {3, 1, 1}},
      {"three threads, twice", &three_twice, {3, 1, 1}},
      {"two threads, twice", &two_twice, {5, 1, 0}},
  };
  return model::verdict(cases, argc, argv);
}
