// SPDX-License-Identifier: MIT
// model/explore: runs a small scenario under every schedule, one after the other.
//
// Owns: the fibers that stand for threads, the search, and the report of a violation with the steps
// that led to it. The search is depth first over recorded choices and stores no state. Each step of
// a scenario with more than one outcome goes through choose(): which thread moves next, which store
// a load reads (memory.hpp), which sleeper wakes.
// A step that faults is a violation: a wild pointer is how some faults show themselves first.
// Bounds keep the search finite and small; most bugs need few preemptions. A bound of `unbounded`
// means all of them, for the smallest scenarios.
// Invariants: a run is a function of its choices alone; a fiber moves only between points.
// Called on: one kernel thread. Must not know: what the scenario is about.
#ifndef TALUS_TESTS_MODEL_EXPLORE_HPP
#define TALUS_TESTS_MODEL_EXPLORE_HPP

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace model {

constexpr int threads_max = 4;
constexpr int no_thread = -1;
constexpr int unbounded = 1 << 30;

// What a search may do at most in one run.
struct Bounds {
  int preemptions = unbounded;  // switches away from a thread that could go on
  int stale_reads = 0;          // loads that read an older store than the newest
  int early_returns = 0;        // weak CAS that fail for nothing, sleepers that wake for nothing
};

class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual int thread_count() const = 0;
  virtual void set_up() = 0;         // before each run, alone
  virtual void run(int thread) = 0;  // on the fiber of a thread
  virtual void check_step() {}       // before each step; must not call the code under test
  virtual void check_end() = 0;      // after each run, alone
};

struct Step {
  int thread = no_thread;
  const char* what = "";
  const void* where = nullptr;
  uint64_t value = 0;
  bool is_stale = false;
};

class Explorer {
 public:
  // Searches until the first violation or the end. False: there was a violation.
  bool explore(Scenario& scenario, const Bounds& bounds) {
    scenario_ = &scenario;
    bounds_ = bounds;
    path_.clear();
    runs_ = 0;
    has_failed_ = false;
    for (int thread = 0; thread < scenario.thread_count(); thread++) make_fiber(thread);
    notice_faults();
    do {
      run_once();
      runs_++;
    } while (!has_failed_ && next_path());
    scenario_ = nullptr;
    for (Fiber& fiber : fibers_) {
      free(fiber.stack);
      fiber.stack = nullptr;
    }
    return !has_failed_;
  }

  uint64_t runs() const { return runs_; }
  uint64_t run_id() const { return run_id_; }
  // The thread whose fiber runs, no_thread outside of runs: then operations are plain ones.
  int current() const { return current_; }
  const Bounds& bounds() const { return bounds_; }
  int stale_reads = 0;    // in this run
  int early_returns = 0;  // in this run

  // One of `count` ways; the search takes each of them in some run.
  int choose(int count) {
    if (count <= 1) return 0;
    if (depth_ == path_.size()) path_.push_back({0, static_cast<uint8_t>(count)});
    if (path_[depth_].count != count) {
      fprintf(stderr, "model: the scenario is not a function of its choices\n");
      abort();
    }
    return path_[depth_++].chosen;
  }

  // Before every step that other threads can see.
  void point() {
    if (++step_count_ > steps_max) violate("no end after %d steps", steps_max);
    scenario_->check_step();
    reschedule();
  }
  void note(const char* what, const void* where, uint64_t value, bool is_stale = false) {
    trace_.push_back({current_, what, where, value, is_stale});
  }

  // The current thread cannot go on before another thread wakes `key`.
  void sleep_on(const void* key) {
    sleeps_on_[current_] = key;
    states_[current_] = State::sleeping;
    reschedule();
  }
  void wake_all(const void* key) {
    for (int thread = 0; thread < scenario_->thread_count(); thread++) wake_if(thread, key);
  }
  void wake_one(const void* key) {
    int sleepers[threads_max];
    int count = 0;
    for (int thread = 0; thread < scenario_->thread_count(); thread++) {
      if (states_[thread] == State::sleeping && sleeps_on_[thread] == key) {
        sleepers[count++] = thread;
      }
    }
    if (count != 0) wake_if(sleepers[choose(count)], key);
  }

  // Ends the run and the search: the property does not hold.
  [[noreturn]] __attribute__((format(printf, 2, 3))) void violate(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(violation_, sizeof violation_, format, arguments);
    va_end(arguments);
    has_failed_ = true;
    leave_run();
  }
  const char* violation() const { return violation_; }

  void call_it(const void* where, const char* name) { names_.push_back({where, name}); }
  void print_trace() const {
    for (const Step& step : trace_) {
      const char* name = "?";
      for (const Name& known : names_) {
        if (known.where == step.where) name = known.name;
      }
      printf("    thread %d: %-18s %-12s %" PRIx64 "%s\n", step.thread, step.what, name, step.value,
             step.is_stale ? " (an older value)" : "");
    }
  }

 private:
  enum class State : uint8_t { ready, sleeping, done };
  struct Choice {
    uint8_t chosen, count;
  };
  struct Name {
    const void* where;
    const char* name;
  };
  struct Fiber {
    jmp_buf at;
    ucontext_t start;
    void* stack = nullptr;
  };
  static constexpr int steps_max = 2000;
  static constexpr size_t stack_bytes = 256 * 1024;

  static Explorer*& entering() {
    static Explorer* explorer;
    return explorer;
  }

  // The handler stays on the fiber's stack and does not return, so the signal is not held back.
  static void notice_faults() {
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    action.sa_sigaction = [](int signal, siginfo_t* information, void*) {
      if (entering()->current_ == no_thread) {
        ::signal(signal, SIG_DFL);  // a fault of the model: the step is made again, and ends it
        return;
      }
      entering()->violate("a step touches %p, which is no memory", information->si_addr);
    };
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
  }

  // Makes the fiber and lets it run to the head of its loop, where it is parked.
  void make_fiber(int thread) {
    Fiber& fiber = fibers_[thread];
    fiber.stack = malloc(stack_bytes);
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack;
    fiber.start.uc_stack.ss_size = stack_bytes;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, reinterpret_cast<void (*)()>(live), 1, thread);
    entering() = this;
    if (_setjmp(main_) == 0) setcontext(&fiber.start);
  }
  // A fiber runs its thread's part of run after run; between runs it is parked in the loop.
  static void live(int thread) {
    Explorer& explorer = *entering();
    jmp_buf& at = explorer.fibers_[thread].at;
    if (_setjmp(at) == 0) _longjmp(explorer.main_, 1);
    for (;;) {
      explorer.scenario_->run(thread);
      explorer.states_[thread] = State::done;
      if (_setjmp(at) == 0) explorer.reschedule();
    }
  }

  void run_once() {
    depth_ = 0;
    step_count_ = stale_reads = early_returns = preemptions_ = 0;
    run_id_++;
    trace_.clear();
    names_.clear();
    current_ = no_thread;
    for (State& state : states_) state = State::ready;
    scenario_->set_up();
    if (_setjmp(main_) == 0) reschedule();
    current_ = no_thread;
    if (!has_failed_ && _setjmp(main_) == 0) scenario_->check_end();
  }

  void reschedule() {
    int candidates[threads_max];
    int count = 0;
    const int self = current_;
    const bool could_go_on = self != no_thread && states_[self] == State::ready;
    if (could_go_on) candidates[count++] = self;
    bool are_done = true;
    for (int thread = 0; thread < scenario_->thread_count(); thread++) {
      are_done = are_done && states_[thread] == State::done;
      if (thread == self || states_[thread] != State::ready) continue;
      if (could_go_on && preemptions_ >= bounds_.preemptions) continue;
      candidates[count++] = thread;
    }
    if (are_done) leave_run();
    if (count == 0) violate("all threads that are left sleep");
    const int next = candidates[choose(count)];
    if (next == self) return;
    if (could_go_on) preemptions_++;
    current_ = next;
    // A thread that is done was parked before it came here.
    const bool is_parked = self == no_thread || states_[self] == State::done;
    if (is_parked || _setjmp(fibers_[self].at) == 0) _longjmp(fibers_[next].at, 1);
  }
  // Fibers in the middle of a run are lost: that happens only when the search ends.
  [[noreturn]] void leave_run() { _longjmp(main_, 1); }

  void wake_if(int thread, const void* key) {
    if (states_[thread] == State::sleeping && sleeps_on_[thread] == key) {
      states_[thread] = State::ready;
    }
  }

  bool next_path() {
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    path_.back().chosen++;
    return true;
  }

  Scenario* scenario_ = nullptr;
  Bounds bounds_;
  Fiber fibers_[threads_max];
  jmp_buf main_;
  State states_[threads_max];
  const void* sleeps_on_[threads_max] = {};
  int current_ = no_thread;
  int step_count_ = 0;
  int preemptions_ = 0;
  std::vector<Choice> path_;
  size_t depth_ = 0;
  uint64_t runs_ = 0;
  uint64_t run_id_ = 0;
  bool has_failed_ = false;
  char violation_[256] = {};
  std::vector<Step> trace_;
  std::vector<Name> names_;
};

inline Explorer explorer;

}  // namespace model

#endif  // TALUS_TESTS_MODEL_EXPLORE_HPP
