// SPDX-License-Identifier: MIT
// model/remote_free: the shipped src/slab/remote_free.hpp under every schedule.
//
// Threads free blocks of another heap's slabs (deliver, notify) while drainers take them home.
// Checked: no block is lost (after a last drain every freed block is in its slab's free bitmap and
// nothing is left on the way), none comes home twice, the last use of a block is ordered before its
// reuse, the inbox holds a slab at most once and never bites its tail, and a late notify to a slab
// that died, or lives again over another range, does no harm.
// What a heap does around the protocol is re-made here: the order of deliver_run() in
// src/heap/free_slow.hpp and the death of an empty slab in src/heap/slabs.hpp.
#include "memory.hpp"

#include "slab/remote_free.hpp"
#include "verdict.hpp"

namespace {

using model::explorer;
using talus::Slab;

// A mutant of the callers: the notice goes out before the blocks.
#ifndef TALUS_MODEL_NOTIFY_FIRST
#define TALUS_MODEL_NOTIFY_FIRST 0
#endif

constexpr int slabs_max = 2;
constexpr uint32_t blocks_max = 128;
constexpr uintptr_t first_base = uintptr_t{1} << 32;
constexpr uintptr_t second_base = uintptr_t{1} << 33;

// Blocks that one call frees: bits of one or two words of a slab's bitmap.
struct Batch {
  int slab;
  uint64_t word_0;
  uint64_t word_1;
};

talus::ClassId class_with_words(size_t words) {
  for (size_t index = talus::class_count; index-- > 0;) {
    const talus::ClassId id{static_cast<uint8_t>(index)};
    if (talus::size_class_row(id).bitmap_words == words) return id;
  }
  fprintf(stderr, "model: no class has %zu words\n", words);
  abort();
}

// One heap with its inbox and slabs, and what is known about each block.
class World : public model::Scenario {
 protected:
  void make(int slab_count, size_t words, size_t live_blocks) {
    slab_count_ = slab_count;
    new (&inbox_) talus::Inbox();
    heap_lock_.reset();
    static const char* const names[slabs_max][4] = {
        {"a.notified", "a.next", "a.bits", "a.bits[1]"},
        {"b.notified", "b.next", "b.bits", "b.bits[1]"}};
    explorer.call_it(&inbox_, "inbox");
    for (int i = 0; i < slab_count; i++) {
      memset(memory_[i], 0, sizeof memory_[i]);
      if (Slab::descriptor_bytes(words) > sizeof memory_[i]) abort();
      slabs_[i] = talus::make_descriptor(memory_[i], class_with_words(words), talus::HeapId{1});
      begin_life(i, first_base + static_cast<uintptr_t>(i) * (uintptr_t{1} << 24), live_blocks);
      explorer.call_it(&slabs_[i]->remote->shared_notified, names[i][0]);
      explorer.call_it(&slabs_[i]->remote->shared_next, names[i][1]);
      explorer.call_it(&slabs_[i]->remote->shared_bits[0], names[i][2]);
      explorer.call_it(&slabs_[i]->remote->shared_bits[0] + 1, names[i][3]);
    }
  }

  // A slab's blocks 0 to live_blocks - 1 are with the program.
  void begin_life(int index, uintptr_t base, size_t live_blocks) {
    Slab& slab = *slabs_[index];
    slab.begin(base);
    if (live_blocks == all_blocks) live_blocks = slab.block_count;
    void* places[blocks_max];
    if (slab.take_blocks(places, live_blocks) != live_blocks) abort();
    for (uint32_t block = 0; block < slab.block_count; block++) {
      is_home_[index][block] = slab.is_free(block);
      data_[index][block].reset();
    }
    slab.state = slab.free_count == 0 ? talus::SlabState::full : talus::SlabState::available;
  }

  // As deliver_run() does it: the words, then one notice if a word was clear.
  void free_blocks(const Batch& batch) {
    Slab& slab = *slabs_[batch.slab];
    const uint64_t words[2] = {batch.word_0, batch.word_1};
    void* pointers[blocks_max];
    size_t count = 0;
    for (uint32_t block = 0; block < slab.block_count; block++) {
      if ((words[block / 64] >> block % 64 & 1) == 0) continue;
      data_[batch.slab][block].write("the last use of a block");
      pointers[count++] = reinterpret_cast<void*>(slab.base + block * size_t{slab.block_bytes});
    }
    inbox_.count_backlog(count * slab.block_bytes);
    if (TALUS_MODEL_NOTIFY_FIRST) inbox_.notify(slab);
    bool must_notify = false;
    const size_t done = slab.gather_run(pointers, 0, count, [&](uint32_t word, uint64_t bits) {
      must_notify |= inbox_.deliver(slab, word, bits);
    });
    if (done != count) explorer.violate("a run of blocks ended early");
    if (must_notify && !TALUS_MODEL_NOTIFY_FIRST) inbox_.notify(slab);
  }

  void drain() {
    heap_lock_.take();
    drain_locked();
    heap_lock_.give();
  }
  void drain_locked() {
    inbox_.drain([this](Slab& slab, uint32_t) noexcept { got_blocks(slab); });
  }

  virtual void slab_is_empty(int) {}

  // Every block that a run freed is home, and the protocol's words are quiet.
  void check_all_home() {
    drain_locked();
    if (head().peek() != nullptr) explorer.violate("the inbox is not empty after a drain");
    for (int i = 0; i < slab_count_; i++) {
      Slab& slab = *slabs_[i];
      if (slab.remote->shared_notified.peek() != 0) explorer.violate("a slab stays notified");
      for (uint32_t word = 0; word < slab.bitmap_words; word++) {
        if (slab.remote->shared_bits[word].peek() != 0) explorer.violate("a block is lost");
      }
      if (slab.free_count != slab.block_count) explorer.violate("a block is not home");
      if (!slab.is_sound()) explorer.violate("the slab's counts are wrong");
    }
  }

  void check_step() override {
    int seen[slabs_max] = {};
    for (Slab* slab = head().peek(); slab != nullptr; slab = slab->remote->shared_next.peek()) {
      const int index = slab == slabs_[0] ? 0 : 1;
      if (slab != slabs_[index]) explorer.violate("the inbox holds something that is no slab");
      if (++seen[index] > 1) explorer.violate("the inbox holds a slab twice, or is a circle");
    }
  }

  static constexpr size_t all_blocks = ~size_t{0};
  Slab* slabs_[slabs_max] = {};
  model::Mutex heap_lock_;
  talus::Inbox inbox_;

 private:
  // The inbox is a standard-layout class: it lies where its first member does.
  const talus::Atomic<Slab*>& head() const {
    static_assert(std::is_standard_layout_v<talus::Inbox>);
    return *reinterpret_cast<const talus::Atomic<Slab*>*>(&inbox_);
  }

  void got_blocks(Slab& slab) {
    const int index = &slab == slabs_[0] ? 0 : 1;
    for (uint32_t block = 0; block < slab.block_count; block++) {
      if (!slab.is_free(block) || is_home_[index][block]) continue;
      is_home_[index][block] = true;
      data_[index][block].write("the reuse of a block");
    }
    if (!slab.is_sound()) explorer.violate("the slab's counts are wrong");
    if (slab.is_empty()) slab_is_empty(index);
  }

  int slab_count_ = 0;
  alignas(64) unsigned char memory_[slabs_max][1024];
  bool is_home_[slabs_max][blocks_max];
  model::PlainData data_[slabs_max][blocks_max];
};

// Threads that free, one batch after the other, and after them threads that drain.
struct Plan {
  int slab_count;
  size_t words;
  uint64_t live_blocks;
  int deliverer_count;
  Batch batches[3][2];  // by deliverer; a batch without bits ends the list
  int drainer_count;
  int drains;  // of each drainer
};

class Deliveries : public World {
 public:
  explicit Deliveries(const Plan& plan) : plan_{plan} {}
  int thread_count() const override { return plan_.deliverer_count + plan_.drainer_count; }
  void set_up() override { make(plan_.slab_count, plan_.words, plan_.live_blocks); }
  void run(int thread) override {
    if (thread >= plan_.deliverer_count) {
      for (int i = 0; i < plan_.drains; i++) drain();
      return;
    }
    for (const Batch& batch : plan_.batches[thread]) {
      if ((batch.word_0 | batch.word_1) != 0) free_blocks(batch);
    }
  }
  void check_end() override { check_all_home(); }

 private:
  const Plan plan_;
};

// The two last blocks of a slab come home, it dies and lives again elsewhere, while the notices of
// both deliverers may still be on their way; then a block of its new life is freed.
class Death : public World {
 public:
  int thread_count() const override { return 3; }
  void set_up() override {
    make(1, 1, 2);
    lives_ = 1;
    is_new_block_freed_ = false;
  }
  void run(int thread) override {
    if (thread < 2) return free_blocks({0, uint64_t{1} << thread, 0});
    for (int i = 0; i < 2; i++) {
      drain();
      if (lives_ != 2 || is_new_block_freed_) continue;
      is_new_block_freed_ = true;
      free_blocks({0, 1, 0});
    }
  }
  void check_end() override {
    drain_locked();
    if (lives_ < 2) explorer.violate("the slab never died");
    if (!is_new_block_freed_) free_blocks({0, 1, 0});
    check_all_home();
    if (lives_ != 3) explorer.violate("the slab lived %d times", lives_);
  }

 private:
  void slab_is_empty(int index) override {
    Slab& slab = *slabs_[index];
    slab.state = talus::SlabState::unused;
    slab.block_count = slab.free_count = 0;
    lives_++;
    begin_life(index, lives_ == 2 ? second_base : first_base, lives_ == 2 ? 1 : 0);
  }
  int lives_ = 1;
  bool is_new_block_freed_ = false;
};

Deliveries one_each({1, 1, 2, 1, {{{0, 1, 0}, {0, 2, 0}}}, 1, 2});
Deliveries two_deliverers({1, 1, 2, 2, {{{0, 1, 0}}, {{0, 2, 0}}}, 1, 2});
Deliveries two_slabs({2, 1, 2, 2, {{{0, 1, 0}, {1, 1, 0}}, {{1, 2, 0}, {0, 2, 0}}}, 1, 2});
Deliveries three_deliverers(
    {2, 1, 2, 3, {{{0, 1, 0}}, {{1, 1, 0}}, {{0, 2, 0}, {1, 2, 0}}}, 1, 1});
Deliveries two_drainers({2, 1, 1, 1, {{{0, 1, 0}, {1, 1, 0}}}, 2, 1});
// Live are the 64 blocks of the first word and two of the second.
constexpr uint64_t all = ~uint64_t{0};
Deliveries two_words({1, 2, 66, 2, {{{0, 1, 1}}, {{0, all - 1, 2}}}, 1, 2});
Deliveries word_each({1, 2, 66, 2, {{{0, all, 0}}, {{0, 0, 3}}}, 1, 2});
Deliveries both({2, 2, 66, 2, {{{0, all, 3}, {1, all, 0}}, {{1, 0, 3}}}, 1, 1});
Death death;

}  // namespace

int main(int argc, char** argv) {
  const model::Case cases[] = {
      {"a word for each of two", &word_each, {3, 1, 0}},
      {"two slabs of two words", &both, {3, 1, 0}},
      {"two deliverers", &two_deliverers, {4, 2, 1}},
      {"two slabs, crosswise", &two_slabs, {3, 1, 0}},
      {"two drainers", &two_drainers, {3, 1, 1}},
      {"blocks in two words", &two_words, {4, 1, 0}},
      {"a slab dies and lives again", &death, {4, 1, 0}},
      {"three deliverers, two slabs", &three_deliverers, {3, 0, 0}},
      {"one deliverer, one drainer", &one_each, {model::unbounded, 1, 0}},
  };
  return model::verdict(cases, argc, argv);
}
