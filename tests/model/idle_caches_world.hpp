// SPDX-License-Identifier: MIT
// model/idle_caches_world: a thread that allocates and frees, others who take back what it holds.
//
// Owns: what the threads of a scenario do, by calls of the shipped allocate, release, depart,
// flush_own_cache, flush_idle_caches and decay_caches; time; and all checks. A fork may come
// whenever the heap's lock is free. Then each block is in one place: home, in the program's hands
// or in a list; one may be on its way. A list has no gaps but in state absent. At the end nothing
// is lost, and after the owner left no thread touches its context or takes its blocks.
// Time: a sleeper wakes after the fiber of time has run. At one moment in between, all threads see
// all earlier stores from then on. The model grants no more to a waiting thread. A load before that
// moment keeps what it saw, and a thread in the middle of a call stays there as long as the
// schedule wants. (A store takes some time until it is seen. The wait must be twice that, so that
// the moment can lie in its middle; it is a thousand times that.)
// Called on: fibers of the explorer; set_up and check_end alone.
#ifndef TALUS_TESTS_MODEL_IDLE_CACHES_WORLD_HPP
#define TALUS_TESTS_MODEL_IDLE_CACHES_WORLD_HPP

#include "idle_caches_heap.hpp"

namespace model::idle_caches {

// Mutants of the callers (idle_caches_mutants.cmake).
#ifndef TALUS_MODEL_NO_WAIT
#define TALUS_MODEL_NO_WAIT 0
#endif

constexpr int actions_max = 8;
constexpr int owner_thread = 0;

enum class Action : uint8_t {
  nothing,
  pops,        // allocates a block, uses it
  pushes,      // frees one of its blocks
  pops_large,  // the same with blocks that only slow paths handle
  pushes_large,
  leaves,        // ends as a thread; only the last
  trims,         // asks for all that others hold: asks, waits, takes back
  decay_passes,  // a pass of the helper over the caches
  rests,         // the time between two passes
};

struct Plan {
  int thread_count;  // without time
  int listed;        // blocks in the owner's list at the start
  int in_hand;       // blocks that the program has then
  Action actions[threads_max - 1][actions_max];
  int large_listed = 0;
  bool has_wide_place = false;  // for the list of small blocks
  bool has_barrier = false;     // of the kernel, for the helper
};

class World : public Scenario {
 public:
  explicit World(const Plan& plan) : plan_{plan} {}
  int thread_count() const override { return plan_.thread_count + 1; }

  uint64_t runs_taken_back() const { return runs_taken_back_; }
  uint64_t runs_missed() const { return runs_missed_; }
  uint64_t runs_grown() const { return runs_grown_; }

  void set_up() override {
    blocks.reset();
    model_clock.now_ns = 0;
    model_clock.sleep = sleep;
    model_clock.order = order;
    new (&talus::core::thread_order) talus::core::ThreadOrder();
    the_world() = this;
    is_a_thread_asleep_ = false;
    others_left_ = plan_.thread_count - helper_thread_min;
    has_missed_ = false;
    new (&talus::core::registry) talus::core::Registry();
    talus::core::space.has_wide_place = plan_.has_wide_place;
    for (const int index : {0, 1})
      talus::core::page_map.tags[index] = talus::core::list_tag(class_id(index));
    for (auto& context : talus::core::contexts_of_threads)
      context.store_relaxed(&talus::core::first_context);
    set_up_cache();
    name_words();
  }

  void run(int thread) override {
    if (thread == plan_.thread_count) return pass_time();
    for (const Action action : plan_.actions[thread]) {
      switch (action) {
        case Action::nothing:
          break;
        case Action::pops:
          pop(0);
          break;
        case Action::pushes:
          push(0);
          break;
        case Action::pops_large:
          pop(1);
          break;
        case Action::pushes_large:
          push(1);
          break;
        case Action::leaves:
          leave();
          break;
        case Action::trims:
          talus::core::flush_own_cache();
          talus::core::flush_idle_caches(talus::core::existing_cache());
          break;
        case Action::decay_passes:
          decay();
          break;
        case Action::rests:
          sleep();
          break;
      }
    }
    if (thread == owner_thread) return;
    others_left_--;
    explorer.wake_all(&is_a_thread_asleep_);
  }

  void check_step() override {
    if (blocks.has_owner_left && owner_context().peek() != &talus::core::ended_context) {
      explorer.violate("the context of a thread that has left was changed");
    }
    if (!talus::core::registry.heap_lock.is_locked()) check_places(1);
  }

  // The owner ends now if it did not yet, and what it held goes home.
  void check_end() override {
    check_places(0);
    runs_grown_ += is_wide() ? 1 : 0;
    if (cache().shared_busy.peek() != 0) explorer.violate("the owner is busy for ever");
    if (!blocks.has_owner_left) {
      talus::core::depart(cache(), talus::core::ended_context);
      talus::core::flush_all(cache());
    }
    check_places(0);
    for (int i = 0; i < blocks_max; i++) {
      if (!blocks.is_home[i] && !blocks.is_in_hand[i]) explorer.violate("block %d is lost", i);
    }
    runs_taken_back_ += blocks.taken_back != 0 ? 1 : 0;
    runs_missed_ += has_missed_ ? 1 : 0;
  }

 private:
  static constexpr talus::core::ClassId class_id(int index) {
    return talus::core::ClassId{static_cast<uint8_t>(index)};
  }

  static World*& the_world() {
    static World* world;
    return world;
  }
  talus::core::ThreadCache& cache() {
    return *reinterpret_cast<talus::core::ThreadCache*>(cache_memory_);
  }
  talus::core::Atomic<talus::core::ThreadContext*>& owner_context() {
    return talus::core::contexts_of_threads[owner_thread + 1];
  }
  talus::core::ThreadList list(int index) { return talus::core::list_of(cache(), class_id(index)); }
  bool is_wide() { return talus::core::is_wide(cache(), class_id(0)); }
  int places_of(int index) {
    return index == 0 && is_wide() ? talus::core::Space::wide_places : list_places[index];
  }
  talus::core::Place* bottom(int index) {
    return talus::core::list_bottom(cache(), class_id(index));
  }

  void set_up_cache() {
    new (cache_memory_) talus::core::ThreadCache();
    talus::core::registry.heap.id = cache().id = talus::core::only_heap;
    cache().heap = &talus::core::registry.heap;
    talus::core::registry.caches = &cache();
    for (const int index : {0, 1}) {
      const int listed = index == 0 ? plan_.listed : plan_.large_listed;
      cache().bottoms[index] = talus::core::first_place(cache(), class_id(index));
      for (int i = 0; i < listed; i++) bottom(index)[i] = blocks.leave_home(index);
      if (&list(index).top != &cache().tops[index]) talus::core::close_list(cache(), index);
      list(index).top.store_relaxed(bottom(index) + listed);
      list(index).limit = bottom(index) + list_places[index];
    }
    cache().wide.turning_words[0] = plan_.has_wide_place ? 1 : 0;  // it turned before
    for (int i = 0; i < plan_.in_hand; i++) blocks.come_to_hand(blocks.leave_home(0));
    new (&probe_context_) talus::core::ThreadContext();
    talus::core::registry.probe_context = &probe_context_;
    talus::core::close_context(probe_context_, talus::core::probe_operations);
    talus::core::caches_of_threads[owner_thread + 1] = &cache();
    cache().idle_probe.context_slot.store_relaxed(&owner_context());
    owner_context().store_relaxed(&cache());
    cache().idle_probe.seen_activity = talus::core::activity_of(cache());
  }
  void name_words() {
    explorer.call_it(&cache().shared_state, "state");
    explorer.call_it(&cache().shared_busy, "busy");
    explorer.call_it(&owner_context(), "context");
    explorer.call_it(&list(0).top, "top");
    explorer.call_it(&list(1).top, "large top");
    explorer.call_it(&probe_context_.tops[0], "probe top");
    explorer.call_it(&probe_context_.tops[1], "probe top");
    explorer.call_it(&cache().kept.bytes, "kept bytes");
    explorer.call_it(&cache().idle_probe.lock, "idle_probe");
    explorer.call_it(&talus::core::registry.heap_lock, "heap");
    explorer.call_it(&talus::core::registry.lock, "registry");
    static const char* const names[] = {"place 0", "place 1", "place 2", "place 3"};
    static const char* const large_names[] = {"large 0", "large 1"};
    for (int i = 0; i < list_places[0]; i++) explorer.call_it(&bottom(0)[i].word(), names[i]);
    for (int i = 0; i < list_places[1]; i++) explorer.call_it(&bottom(1)[i].word(), large_names[i]);
    for (const int index : {0, 1}) explorer.call_it(&bottom(index)[-1].word(), "null");
  }

  // What threads do.

  void pop(int index) {
    const bool was_purged = owner_context().peek() != &cache();
    void* block = talus::core::allocate(bytes_of_class[index]);
    if (block == nullptr) explorer.violate("there is no memory");
    blocks.come_to_hand(block);
    has_missed_ = has_missed_ || (was_purged && blocks.taken_back != 0);
  }
  void push(int index) {
    for (int i = 0; i < blocks_max; i++) {
      if (!blocks.is_in_hand[i] || class_of_block(i) != index) continue;
      blocks.leave_hand(&blocks.memory[i]);
      return talus::core::free_block(&blocks.memory[i]);
    }
    explorer.violate("a plan frees what there is not");
  }
  // As threads/threads.hpp does it.
  void leave() {
    talus::core::depart(cache(), talus::core::ended_context);
    blocks.has_owner_left = true;
    talus::core::end_cache(cache());
  }
  static void decay() {
    talus::core::DecayTally tally;
    talus::core::decay_caches(tally);
  }

  // Time.

  static void sleep() {
    World& world = *the_world();
    if (TALUS_MODEL_NO_WAIT) {
      model_clock.now_ns += Clock::step_ns;
      return;
    }
    world.is_a_thread_asleep_ = true;
    explorer.wake_all(&world.is_a_thread_asleep_);
    explorer.sleep_on(&world.sleepers_);
  }
  // The kernel's barrier: a step, in which all threads see what was stored before.
  static bool order() {
    World& world = *the_world();
    if (!world.plan_.has_barrier) return false;
    explorer.point();
    world.see_all("barrier");
    return true;
  }
  // The fiber of time: a sleeper wakes, in some order with all that others do meanwhile.
  void pass_time() {
    while (others_left_ != 0) {
      if (!is_a_thread_asleep_) {
        explorer.sleep_on(&is_a_thread_asleep_);
        continue;
      }
      is_a_thread_asleep_ = false;
      model_clock.now_ns += Clock::step_ns;
      see_all("time passes");
      explorer.wake_all(&sleepers_);
    }
  }
  // All that was stored until now is seen by all from now on.
  void see_all(const char* why) {
    explorer.note(why, nullptr, 0);
    see(cache().shared_state);
    see(cache().shared_busy);
    see(owner_context());
    for (const int index : {0, 1}) {
      see(list(index).top);
      // Of a wide list only what may have been used: the model has no more words.
      for (int i = 0; i < list_places[index]; i++) see(bottom(index)[i].word());
    }
    View* views = &memory.view() - explorer.current();
    View together;
    for (int thread = 0; thread < thread_count(); thread++) {
      for (int i = 0; i < threads_max; i++) {
        const uint16_t clock = views[thread].clock[i];
        if (together.clock[i] < clock) together.clock[i] = clock;
      }
    }
    for (int thread = 0; thread < thread_count(); thread++) {
      views[thread].join(together);
      // What a thread does from now on is later.
      views[thread].clock[thread]++;
    }
  }
  template <typename T>
  void see(const talus::core::Atomic<T>& shared) {
    uint64_t newest = 0;
    const T value = shared.peek();
    std::memcpy(&newest, &value, sizeof value);
    const int word = memory.index_of(&shared, newest);
    View* views = &memory.view() - explorer.current();
    for (int thread = 0; thread < thread_count(); thread++) {
      views[thread].seen[word] = static_cast<uint8_t>(memory.word(word).count - 1);
    }
  }

  // Each block in one place, but for some that are on their way.
  void check_places(int on_their_way_max) {
    int places[blocks_max] = {};
    const bool is_absent = cache().shared_state.peek() == talus::core::OwnerState::idle;
    for (const int index : {0, 1}) {
      const talus::core::Place* top = list(index).top.peek();
      if (top < bottom(index) || top > bottom(index) + places_of(index)) {
        explorer.violate("a list has no such top");
      }
      for (const talus::core::Place* at = bottom(index); at != top; at++) {
        void* block = at->word().peek();
        if (block != nullptr) {
          places[blocks.index_of(block)]++;
        } else if (!is_absent || index != 0) {
          explorer.violate("the list of a thread that is there has a gap");
        }
      }
    }
    int on_their_way = 0;
    for (int i = 0; i < blocks_max; i++) {
      places[i] += (blocks.is_home[i] ? 1 : 0) + (blocks.is_in_hand[i] ? 1 : 0);
      if (places[i] > 1) explorer.violate("block %d is in two places", i);
      on_their_way += places[i] == 0 ? 1 : 0;
    }
    if (on_their_way > on_their_way_max) explorer.violate("%d blocks are nowhere", on_their_way);
  }

  const Plan plan_;
  alignas(talus::core::ThreadCache) unsigned char cache_memory_[sizeof(talus::core::ThreadCache)];
  talus::core::ThreadContext probe_context_;
  bool is_a_thread_asleep_ = false;
  bool sleepers_ = false;  // its address is slept on
  int others_left_ = 0;
  bool has_missed_ = false;
  uint64_t runs_taken_back_ = 0;
  uint64_t runs_missed_ = 0;
  uint64_t runs_grown_ = 0;
};

}  // namespace model::idle_caches

#endif  // TALUS_TESTS_MODEL_IDLE_CACHES_WORLD_HPP
