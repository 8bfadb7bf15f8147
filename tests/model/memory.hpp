// SPDX-License-Identifier: MIT
// model/memory: shared words as C++ sees them: a thread may read an older store than the newest.
//
// Each word keeps the stores of a run in their order. Each thread has a view: for every word the
// oldest store that it may still read. A release store carries its thread's view, an acquire load
// joins the view of what it read. A read-modify-write reads the newest store and passes on the view
// of the store it replaces (release sequences). So a missing release or acquire shows as an old
// value or, for plain data, as a race of unordered accesses.
// What is left out: a store never slips before another thread's store that ran earlier (2+2W). No
// load reads a store that has not run yet (load buffering). There are no fences and no seq_cst
// order, which the protocols do not use. Stale reads are bounded for each run.
// Called on: fibers of the explorer; outside of a run the operations are plain ones.
#ifndef TALUS_TESTS_MODEL_MEMORY_HPP
#define TALUS_TESTS_MODEL_MEMORY_HPP

#include <cstring>

#include "explore.hpp"

namespace model {

enum class Order : uint8_t { relaxed, acquire, release, acq_rel };
constexpr bool acquires(Order order) { return order == Order::acquire || order == Order::acq_rel; }
constexpr bool releases(Order order) { return order == Order::release || order == Order::acq_rel; }

constexpr int words_max = 24;
constexpr int stores_max = 120;

struct View {
  uint8_t seen[words_max] = {};      // by word: the oldest store that may be read
  uint16_t clock[threads_max] = {};  // by thread: which of its plain accesses happened before
  void join(const View& other) {
    for (int i = 0; i < words_max; i++) {
      if (seen[i] < other.seen[i]) seen[i] = other.seen[i];
    }
    for (int i = 0; i < threads_max; i++) {
      if (clock[i] < other.clock[i]) clock[i] = other.clock[i];
    }
  }
};

struct Store {
  uint64_t value;
  View released;
};

struct Word {
  const void* where;
  int count;
  Store stores[stores_max];
};

// All words and views of the current run.
class Memory {
 public:
  View& view() {
    begin_run();
    return views_[explorer.current()];
  }
  // `initial` is what the word holds when a run touches it first.
  int index_of(const void* where, uint64_t initial) {
    begin_run();
    for (int i = 0; i < count_; i++) {
      if (words_[i].where == where) return i;
    }
    // A scenario that holds has room: what is beyond are words that are none.
    if (count_ == words_max) explorer.violate("more than %d words are touched", words_max);
    Word& word = words_[count_];
    word.where = where;
    word.count = 1;
    word.stores[0] = {initial, View{}};
    return count_++;
  }
  Word& word(int index) { return words_[index]; }

  void append(int index, uint64_t value, Order order, const View* passed_on) {
    Word& word = words_[index];
    if (word.count == stores_max) explorer.violate("more than %d stores to a word", stores_max);
    View& mine = view();
    mine.seen[index] = static_cast<uint8_t>(word.count);
    Store& store = word.stores[word.count++];
    store.value = value;
    store.released = passed_on != nullptr ? *passed_on : View{};
    if (releases(order)) store.released.join(mine);
    mine.clock[explorer.current()]++;
  }
  void has_read(int index, int store, Order order) {
    View& mine = view();
    mine.seen[index] = static_cast<uint8_t>(store);
    if (acquires(order)) mine.join(words_[index].stores[store].released);
  }
  // The thread's own step in its clock, with every operation that is visible to others.
  View released_view() {
    View released = view();
    view().clock[explorer.current()]++;
    return released;
  }

 private:
  void begin_run() {
    if (run_id_ == explorer.run_id()) return;
    run_id_ = explorer.run_id();
    count_ = 0;
    for (int thread = 0; thread < threads_max; thread++) {
      views_[thread] = View{};
      views_[thread].clock[thread] = 1;
    }
  }

  uint64_t run_id_ = ~uint64_t{0};
  int count_ = 0;
  Word words_[words_max];
  View views_[threads_max];
};

inline Memory memory;

// Which store a load reads: 0 is the newest, 1 the one before it, and so on.
inline int choose_age(int ages) {
  if (explorer.stale_reads >= explorer.bounds().stale_reads) return 0;
  const int age = explorer.choose(ages);
  if (age != 0) explorer.stale_reads++;
  return age;
}

// The operations below happen at once; the caller has called explorer.point() before it read the
// newest value from the object.
inline uint64_t load_now(const void* where, uint64_t newest_value, Order order) {
  const int index = memory.index_of(where, newest_value);
  Word& word = memory.word(index);
  const int newest = word.count - 1;
  const int read = newest - choose_age(newest - memory.view().seen[index] + 1);
  memory.has_read(index, read, order);
  explorer.note(acquires(order) ? "load_acquire" : "load_relaxed", where, word.stores[read].value,
                read != newest);
  return word.stores[read].value;
}

inline void store_now(const void* where, uint64_t old_value, uint64_t value, Order order) {
  const int index = memory.index_of(where, old_value);
  memory.append(index, value, order, nullptr);
  explorer.note(releases(order) ? "store_release" : "store_relaxed", where, value);
}

inline void replace_now(const void* where, uint64_t old_value, uint64_t value, Order order,
                        const char* what) {
  const int index = memory.index_of(where, old_value);
  const int newest = memory.word(index).count - 1;
  memory.has_read(index, newest, order);
  memory.append(index, value, order, &memory.word(index).stores[newest].released);
  explorer.note(what, where, value);
}

// A compare and swap; true: swapped, else `expected` holds the value that was read.
inline bool cas_now(const void* where, uint64_t newest_value, uint64_t& expected, uint64_t desired,
                    Order success, Order failure, bool is_weak) {
  const int index = memory.index_of(where, newest_value);
  Word& word = memory.word(index);
  const int newest = word.count - 1;
  int read = newest;
  if (explorer.stale_reads < explorer.bounds().stale_reads) {
    // A failure is only a load, and it may read any older value that differs.
    int ages[stores_max] = {0};
    int count = 1;
    for (int store = newest - 1; store >= memory.view().seen[index]; store--) {
      if (word.stores[store].value != expected) ages[count++] = newest - store;
    }
    read = newest - ages[explorer.choose(count)];
    if (read != newest) explorer.stale_reads++;
  }
  bool fails = word.stores[read].value != expected;
  if (!fails && is_weak && explorer.early_returns < explorer.bounds().early_returns) {
    fails = explorer.choose(2) == 1;
    explorer.early_returns += fails ? 1 : 0;
  }
  if (!fails) {
    replace_now(where, newest_value, desired, success, "cas");
    return true;
  }
  memory.has_read(index, read, failure);
  expected = word.stores[read].value;
  explorer.note("cas fails", where, expected, read != newest);
  return false;
}

// Data that is no atomic: two accesses, one of them a write, must be ordered by the protocol.
class PlainData {
 public:
  void reset() { *this = PlainData{}; }
  void write(const char* what) {
    if (explorer.current() == no_thread) return;
    for (int thread = 0; thread < threads_max; thread++) {
      check(thread, write_clock_[thread], what);
      check(thread, read_clock_[thread], what);
    }
    write_clock_[explorer.current()] = now();
  }
  void read(const char* what) {
    if (explorer.current() == no_thread) return;
    for (int thread = 0; thread < threads_max; thread++) check(thread, write_clock_[thread], what);
    read_clock_[explorer.current()] = now();
  }

 private:
  static uint16_t now() { return memory.view().clock[explorer.current()]; }
  static void check(int thread, uint16_t clock, const char* what) {
    if (thread == explorer.current() || memory.view().clock[thread] >= clock) return;
    explorer.violate("data race: thread %d on %s, thread %d did not see it", thread, what,
                     explorer.current());
  }
  uint16_t write_clock_[threads_max] = {};
  uint16_t read_clock_[threads_max] = {};
};

// A lock that is right by construction, for protocols that need one around them.
class Mutex {
 public:
  void reset() { *this = Mutex{}; }
  bool try_lock() {
    explorer.point();
    if (is_locked_) return false;
    is_locked_ = true;
    memory.view().join(released_);
    explorer.note("mutex locked", this, 1);
    return true;
  }
  void lock() {
    while (!try_lock()) explorer.sleep_on(this);
  }
  void unlock() {
    explorer.point();
    is_locked_ = false;
    released_ = memory.released_view();
    explorer.note("mutex unlocked", this, 0);
    explorer.wake_all(this);
  }

 private:
  bool is_locked_ = false;
  View released_;
};

}  // namespace model

#endif  // TALUS_TESTS_MODEL_MEMORY_HPP
