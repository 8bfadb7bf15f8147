// SPDX-License-Identifier: MIT
// fuzz/misuse_world: right calls at random, by several threads, around one planned mistake.
//
// Owns: the workers and their live blocks, what is written into these, the mailbox by which blocks
// change threads, and the check that no two live blocks overlap. While a freed block waits for its
// mistake, right calls keep to other sizes (quiet_bytes). A block that malloc returns all the same
// is noted (note_made), because then the second free is a right one.
// Called on: each worker for its own blocks; the checks while all others stand still.
#ifndef TALUS_TESTS_FUZZ_MISUSE_WORLD_HPP
#define TALUS_TESTS_FUZZ_MISUSE_WORLD_HPP

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "talus/talus.h"

namespace fuzz_misuse {

// Which call made a block, and so which may free it.
enum class Maker : uint8_t { c, aligned, one, array, heap };
constexpr size_t maker_count = 5;

struct Block {
  unsigned char* at = nullptr;
  size_t bytes = 0;
  uint32_t tag = 0;
  Maker maker = Maker::c;
};

class Random {
 public:
  void start(uint64_t seed) { state_ = seed * 0x9e3779b97f4a7c15u + 1; }
  uint64_t next();
  size_t below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(next() % bound); }
  bool one_in(size_t count) { return below(count) == 0; }

 private:
  uint64_t state_ = 0;
};

constexpr size_t live_max = 500;
constexpr int workers_max = 4;

struct Worker {
  int id = 0;  // 0 is the main thread, which makes no random calls
  pthread_t handle{};
  Random random;
  Block live[live_max];
  size_t live_count = 0;
  std::atomic<uint64_t> step_count{0};
};
extern Worker workers[workers_max + 1];
extern talus_heap* heap;

// One write, so that lines of several threads stay whole. Allocates nothing.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
// Ends the process: what lies in memory is not what was written.
[[noreturn]] void end_with(const char* verdict, const void* at);

// --- single blocks

Block make(Worker& worker, Maker maker, size_t bytes);
void note_made(const void* block);              // it came from a call of Talus
void drop(Worker& worker, const Block& block);  // by a call that suits its maker
void write_pattern(Block& block, uint32_t tag);
void check_pattern(const Block& block);

// --- random calls

// No right call asks for a block as large as one of this size.
constexpr size_t reserved_bytes = 26 * 1024;
size_t draw_bytes(Random& random);
// One to some hundreds of right calls.
void step(Worker& worker);
// Requests of this size until a block that is in two places would have come out of both.
void urge(Worker& worker, size_t bytes);
void keep(Worker& worker, const Block& block);
Block take_away(Worker& worker, size_t index);

// --- the freed block that waits for its mistake

extern std::atomic<size_t> quiet_bytes;
extern std::atomic<const void*> victim;
extern std::atomic<bool> is_given_again;

// From here on no right call asks for a block of this size.
void begin_quiet(const Worker& self, size_t usable);

// --- an act of another thread

struct Order {
  std::atomic<int> for_worker{-1};
  void (*act)(Worker& worker, void* context) = nullptr;
  void* context = nullptr;
};
extern Order order;
// Has worker `id` act, and waits for the end of it.
void have_done(int id, void (*act)(Worker&, void*), void* context);
// The same, without the wait.
void ask_for(int id, void (*act)(Worker&, void*), void* context);
void wait_until_done();
// For each worker between two steps.
void follow_order(Worker& worker);

// --- at the end, while no worker works

// Contents of all live blocks, and whether two overlap. `only`: the blocks of this worker alone.
void check_all(const Worker* only);

}  // namespace fuzz_misuse

#endif  // TALUS_TESTS_FUZZ_MISUSE_WORLD_HPP
