// SPDX-License-Identifier: MIT
// fuzz/misuse_world: the right calls; see misuse_world.hpp.
#include "misuse_world.hpp"

#include <malloc.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "libc_names.hpp"

namespace fuzz_misuse {

Worker workers[workers_max + 1];
talus_heap* heap = nullptr;
std::atomic<size_t> quiet_bytes{0};
std::atomic<const void*> victim{nullptr};
std::atomic<bool> is_given_again{false};
Order order;

namespace {

constexpr size_t mailbox_max = 64;
constexpr size_t edge_bytes = 64;
constexpr size_t burst_max = 300;
constexpr size_t large_bytes = 32 * 1024;

pthread_mutex_t mailbox_lock = PTHREAD_MUTEX_INITIALIZER;
Block mailbox[mailbox_max];
size_t mailbox_count = 0;
std::atomic<uint32_t> next_tag{1};

unsigned char pattern_at(uint32_t tag, size_t place) {
  return static_cast<unsigned char>((tag * 2654435761u >> 16) + place * 7);
}

Maker draw_maker(Random& random) {
  const auto maker = static_cast<Maker>(random.below(maker_count));
  // An alignment may ask for a larger block than the size does.
  return maker == Maker::aligned && quiet_bytes.load() != 0 ? Maker::c : maker;
}

void* allocate(Worker& worker, Maker maker, size_t bytes) {
  switch (maker) {
    case Maker::c:
      return worker.random.one_in(4) ? calloc(1, bytes) : malloc(bytes);
    case Maker::aligned: {
      void* block = nullptr;
      const size_t alignment = size_t{32} << worker.random.below(6);
      return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
    }
    case Maker::one:
      return ::operator new(bytes, std::nothrow);
    case Maker::array:
      return ::operator new[](bytes, std::nothrow);
    case Maker::heap:
      return talus_heap_malloc(heap, bytes);
  }
  return nullptr;
}

void change_threads(Worker& worker) {
  pthread_mutex_lock(&mailbox_lock);
  const bool is_given = worker.random.one_in(2);
  if (is_given && mailbox_count < mailbox_max && worker.live_count != 0) {
    mailbox[mailbox_count++] = take_away(worker, worker.random.below(worker.live_count));
  } else if (!is_given && mailbox_count != 0 && worker.live_count < live_max) {
    keep(worker, mailbox[--mailbox_count]);
  }
  pthread_mutex_unlock(&mailbox_lock);
}

void resize(Worker& worker) {
  const size_t index = worker.random.below(worker.live_count);
  Block block = worker.live[index];
  if (block.maker == Maker::one || block.maker == Maker::array) return;
  check_pattern(block);
  const size_t bytes = draw_bytes(worker.random);
  void* moved = block.maker == Maker::heap ? talus_heap_realloc(heap, block.at, bytes)
                                           : realloc(block.at, bytes);
  if (moved == nullptr) end_with("no memory", block.at);
  if (moved != block.at) note_made(moved);
  if (block.maker == Maker::aligned) block.maker = Maker::c;
  block.at = static_cast<unsigned char*>(moved);
  block.bytes = bytes;
  write_pattern(block, block.tag);
  worker.live[index] = block;
}

// Fills and empties lists, so that blocks go to their slabs and come back.
void burst(Worker& worker, size_t bytes) {
  Block blocks[burst_max];
  const size_t most = bytes > 64 * 1024 ? 4 : burst_max;
  const size_t count = 1 + worker.random.below(most);
  for (size_t i = 0; i < count; i++) blocks[i] = make(worker, Maker::c, bytes);
  std::random_shuffle(blocks, blocks + count,
                      [&worker](size_t bound) { return worker.random.below(bound); });
  for (size_t i = 0; i < count; i++) drop(worker, blocks[i]);
}

void batch(Worker& worker) {
  constexpr size_t most = 40;
  void* made[most];
  Block blocks[most];
  const size_t bytes = draw_bytes(worker.random) % 4096;
  if (const size_t quiet = quiet_bytes.load(); quiet != 0 && quiet < 2 * 4096) return;
  const size_t count = talus_malloc_batch(bytes, 1 + worker.random.below(most), made);
  for (size_t i = 0; i < count; i++) {
    note_made(made[i]);
    blocks[i] = {static_cast<unsigned char*>(made[i]), bytes, 0, Maker::c};
    write_pattern(blocks[i], next_tag++);
  }
  for (size_t i = 0; i < count; i++) check_pattern(blocks[i]);
  talus_free_batch(made, count);
}

bool starts_before(const Block& left, const Block& right) { return left.at < right.at; }

}  // namespace

uint64_t Random::next() {
  uint64_t x = state_ += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void say(const char* format, ...) {
  char line[200];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (write(1, line, static_cast<size_t>(length)) != length) _exit(2);
}
void end_with(const char* verdict, const void* at) {
  say("verdict %s %p\n", verdict, at);
  _exit(0);
}

Block make(Worker& worker, Maker maker, size_t bytes) {
  Block block{static_cast<unsigned char*>(allocate(worker, maker, bytes)), bytes, 0, maker};
  if (block.at == nullptr) end_with("no memory", nullptr);
  note_made(block.at);
  write_pattern(block, next_tag++);
  return block;
}
void note_made(const void* block) {
  if (block != victim.load()) return;
  if (!is_given_again.exchange(true)) say("again %p\n", block);
}

void drop(Worker& worker, const Block& block) {
  check_pattern(block);
  const bool tells_size = worker.random.one_in(2);
  switch (block.maker) {
    case Maker::c:
      return tells_size ? free_sized(block.at, block.bytes) : free(block.at);
    case Maker::aligned:
      return free(block.at);
    case Maker::one:
      return tells_size ? ::operator delete(block.at, block.bytes) : ::operator delete(block.at);
    case Maker::array:
      return ::operator delete[](block.at);
    case Maker::heap:
      return tells_size ? talus_heap_free(heap, block.at) : talus_free(block.at);
  }
}

void write_pattern(Block& block, uint32_t tag) {
  block.tag = tag;
  const size_t edge = std::min(block.bytes, edge_bytes);
  for (size_t i = 0; i < edge; i++) {
    block.at[block.bytes - 1 - i] = pattern_at(tag, block.bytes - 1 - i);
  }
  for (size_t i = 0; i < edge; i++) block.at[i] = pattern_at(tag, i);
}
void check_pattern(const Block& block) {
  const size_t edge = std::min(block.bytes, edge_bytes);
  for (size_t i = 0; i < edge; i++) {
    const size_t back = block.bytes - 1 - i;
    const bool is_whole =
        block.at[i] == pattern_at(block.tag, i) && block.at[back] == pattern_at(block.tag, back);
    if (!is_whole) end_with("damaged", block.at);
  }
}

size_t draw_bytes(Random& random) {
  const size_t quiet = quiet_bytes.load();
  for (;;) {
    size_t bytes = 1 + random.below(512);
    const size_t kind = random.below(100);
    if (kind >= 60) bytes = 1 + random.below(8 * 1024);
    if (kind >= 85) bytes = 1 + random.below(64 * 1024);
    if (kind >= 97) bytes = 1 + random.below(700 * 1024);
    if (bytes > reserved_bytes * 3 / 4 && bytes < reserved_bytes * 5 / 4) continue;
    // Slabs of any size may take the range of a large block.
    if (quiet > large_bytes && bytes > 512) continue;
    // A block may be up to twice what was asked for.
    if (quiet == 0 || bytes > quiet + 16 || bytes < quiet / 2) return bytes;
  }
}

void keep(Worker& worker, const Block& block) { worker.live[worker.live_count++] = block; }
Block take_away(Worker& worker, size_t index) {
  const Block block = worker.live[index];
  worker.live[index] = worker.live[--worker.live_count];
  return block;
}

void begin_quiet(const Worker& self, size_t usable) {
  quiet_bytes.store(usable);
  for (const Worker& worker : workers) {
    if (worker.id == 0 || worker.id == self.id) continue;
    // The step that goes on may have drawn its size before.
    const uint64_t before = worker.step_count.load();
    while (worker.step_count.load() < before + 2) sched_yield();
  }
}

void step(Worker& worker) {
  worker.step_count++;
  Random& random = worker.random;
  const size_t kind = random.below(200);
  const bool is_full = worker.live_count == live_max;
  if (worker.live_count == 0 || (kind < 80 && !is_full)) {
    const Maker maker = draw_maker(random);
    keep(worker, make(worker, maker, draw_bytes(random)));
  } else if (kind < 150 || is_full) {
    drop(worker, take_away(worker, random.below(worker.live_count)));
  } else if (kind < 170) {
    resize(worker);
  } else if (kind < 178) {
    const Block& block = worker.live[random.below(worker.live_count)];
    if (malloc_usable_size(block.at) < block.bytes) end_with("too small", block.at);
  } else if (kind < 194) {
    change_threads(worker);
  } else if (kind < 197) {
    burst(worker, draw_bytes(random));
  } else {
    batch(worker);
  }
}

void urge(Worker& worker, size_t bytes) {
  const size_t count = bytes > 64 * 1024 ? 12 : live_max / 2;
  for (int round = 0; round < 2; round++) {
    while (worker.live_count > live_max / 4) drop(worker, take_away(worker, 0));
    for (size_t i = 0; i < count && worker.live_count < live_max; i++) {
      keep(worker, make(worker, Maker::c, bytes));
    }
    burst(worker, bytes);
  }
}

void have_done(int id, void (*act)(Worker&, void*), void* context) {
  ask_for(id, act, context);
  wait_until_done();
}
void ask_for(int id, void (*act)(Worker&, void*), void* context) {
  order.act = act;
  order.context = context;
  order.for_worker.store(id);
}
void wait_until_done() {
  while (order.for_worker.load() != -1) sched_yield();
}
void follow_order(Worker& worker) {
  if (order.for_worker.load() != worker.id) return;
  order.act(worker, order.context);
  order.for_worker.store(-1);
}

void check_all(const Worker* only) {
  static Block all[(workers_max + 1) * live_max + mailbox_max];
  size_t count = 0;
  for (const Worker& worker : workers) {
    if (only != nullptr && only != &worker) continue;
    for (size_t i = 0; i < worker.live_count; i++) all[count++] = worker.live[i];
  }
  if (only == nullptr) {
    for (size_t i = 0; i < mailbox_count; i++) all[count++] = mailbox[i];
  }
  std::sort(all, all + count, starts_before);
  for (size_t i = 1; i < count; i++) {
    if (all[i - 1].at + all[i - 1].bytes > all[i].at) end_with("overlap", all[i].at);
  }
  for (size_t i = 0; i < count; i++) check_pattern(all[i]);
}

}  // namespace fuzz_misuse
