// SPDX-License-Identifier: MIT
// fuzz/misuse_acts: the planned mistakes; see misuse_acts.hpp.
#include "misuse_acts.hpp"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

#include "libc_names.hpp"

namespace fuzz_misuse {
namespace {

// The compiler must not know that this is a freed block.
unsigned char* hidden(void* pointer) {
  asm volatile("" : "+r"(pointer));
  return static_cast<unsigned char*>(pointer);
}
void say_mistake(const void* pointer, size_t usable, Maker maker) {
  constexpr const char* names[maker_count] = {"c", "aligned", "one", "array", "heap"};
  say("mistake %p %zu %s\n", pointer, usable, names[static_cast<size_t>(maker)]);
}
void use(size_t number) { asm volatile("" : : "r"(number)); }

template <typename Call>
void mistake(const void* pointer, size_t usable, Maker maker, Call call) {
  say_mistake(pointer, usable, maker);
  call();
  say("returned\n");
}

struct Victim {
  Block block;
  size_t usable;
};
Victim make_victim(Plan& plan) {
  const Block block = make(plan.worker, plan.maker, plan.bytes);
  return {block, malloc_usable_size(block.at)};
}
// From here on the block is to be given out no more.
void begin_quiet(const Plan& plan, const Victim& made) {
  begin_quiet(plan.worker, made.usable);
  victim.store(made.block.at);
}
void free_first(Plan& plan, const Victim& made) { drop(plan.worker, made.block); }
void free_first_by(Worker& worker, void* made) {
  drop(worker, static_cast<const Victim*>(made)->block);
}
void pass_time(Plan& plan) {
  for (size_t i = 0; i < plan.gap; i++) step(plan.worker);
}
// Freed by this thread or the other one, and some time ago.
Victim make_freed(Plan& plan) {
  Victim made = make_victim(plan);
  begin_quiet(plan, made);
  if (plan.worker.random.one_in(2)) {
    free_first(plan, made);
  } else {
    have_done(plan.other, free_first_by, &made);
  }
  pass_time(plan);
  return made;
}

// --- a second free

void free_again(const Victim& made) {
  unsigned char* const block = hidden(made.block.at);
  mistake(block, made.usable, made.block.maker, [&made, block] {
    if (made.block.maker == Maker::heap) return talus_free(block);
    if (made.block.maker == Maker::one) return ::operator delete(block);
    if (made.block.maker == Maker::array) return ::operator delete[](block);
    free(block);
  });
}
void free_again_by(Worker&, void* made) { free_again(*static_cast<const Victim*>(made)); }

void double_at_once(Plan& plan) {
  const Victim made = make_victim(plan);
  begin_quiet(plan, made);
  free_first(plan, made);
  free_again(made);
}
void double_later(Plan& plan) { free_again(make_freed(plan)); }
void double_other(Plan& plan) {
  Victim made = make_victim(plan);
  begin_quiet(plan, made);
  free_first(plan, made);
  pass_time(plan);
  have_done(plan.other, free_again_by, &made);
}
// The child makes the mistake, and the parent ends as the child did.
void double_child(Plan& plan) {
  const Victim made = make_freed(plan);
  const pid_t child = fork();
  if (child == 0) {
    free_again(made);
    quiet_bytes.store(0);
    urge(plan.worker, plan.bytes);
    check_all(&plan.worker);
    end_with("silent", nullptr);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));  // to this thread, so that it does not go on
  }
  _exit(WEXITSTATUS(status));
}
// Two threads at the same instant. Either may be first, and "returned" may stand for both.
std::atomic<int> ready_count{0};
void free_together(Worker&, void* made) {
  ready_count++;
  while (ready_count.load() < 2) sched_yield();
  const Victim& victim_made = *static_cast<const Victim*>(made);
  if (victim_made.block.maker == Maker::heap) return talus_free(hidden(victim_made.block.at));
  free(hidden(victim_made.block.at));
}
void double_together(Plan& plan) {
  if (plan.maker != Maker::heap) plan.maker = Maker::c;
  Victim made = make_victim(plan);
  begin_quiet(plan, made);
  say_mistake(made.block.at, made.usable, plan.maker);
  ask_for(plan.other, free_together, &made);
  free_together(plan.worker, &made);
  wait_until_done();
  say("returned\n");
}
void double_batch(Plan& plan) {
  const Victim made = make_victim(plan);
  void* blocks[4];
  for (void*& block : blocks) block = make(plan.worker, Maker::c, 1 + plan.bytes / 2).at;
  blocks[1] = blocks[3] = made.block.at;
  begin_quiet(plan, made);
  mistake(made.block.at, made.usable, made.block.maker, [&blocks] { talus_free_batch(blocks, 4); });
}
void free_moved(Plan& plan) {
  plan.maker = Maker::c;
  Victim made = make_victim(plan);
  begin_quiet(plan, made);
  void* moved = realloc(hidden(made.block.at), 4 * made.usable + 4096);
  if (moved == nullptr || moved == made.block.at) end_with("skip", moved);
  pass_time(plan);
  free_again(made);
}

// --- another use of a freed block

void realloc_freed(Plan& plan) {
  const Victim made = make_freed(plan);
  const size_t wanted[] = {plan.bytes, 2 * plan.bytes + 1, 1 + plan.bytes / 3};
  const size_t bytes = wanted[plan.worker.random.below(3)];
  mistake(made.block.at, made.usable, made.block.maker, [&made, bytes] {
    unsigned char* const block = hidden(made.block.at);
    use(reinterpret_cast<size_t>(realloc(block, bytes)));
  });
}
void expand_freed(Plan& plan) {
  const Victim made = make_freed(plan);
  mistake(made.block.at, made.usable, made.block.maker, [&made] {
    use(reinterpret_cast<size_t>(talus_expand(hidden(made.block.at), made.usable)));
  });
}
void usable_size_freed(Plan& plan) {
  const Victim made = make_freed(plan);
  mistake(made.block.at, made.usable, made.block.maker,
          [&made] { use(malloc_usable_size(hidden(made.block.at))); });
}
void recallocarray_freed(Plan& plan) {
  const Victim made = make_freed(plan);
  mistake(made.block.at, made.usable, made.block.maker, [&made] {
    use(reinterpret_cast<size_t>(recallocarray(hidden(made.block.at), 1, 2, 8)));
  });
}

// --- other addresses

// A block of one byte has no inside.
Victim make_wide(Plan& plan) {
  if (plan.bytes < 2) plan.bytes = 2;
  return make_victim(plan);
}
size_t draw_inside(Plan& plan, const Victim& made) {
  const size_t unit = size_t{1} << plan.worker.random.below(5);
  const size_t inside = unit * plan.worker.random.below(made.usable / unit);
  return inside == 0 ? 1 : inside;
}
void free_inside(Plan& plan) {
  const Victim made = make_wide(plan);
  unsigned char* const inside = hidden(made.block.at) + draw_inside(plan, made);
  mistake(inside, made.usable, made.block.maker, [inside] { free(inside); });
}
void realloc_inside(Plan& plan) {
  const Victim made = make_wide(plan);
  unsigned char* const inside = hidden(made.block.at) + draw_inside(plan, made);
  mistake(inside, made.usable, made.block.maker,
          [inside, &made] { use(reinterpret_cast<size_t>(realloc(inside, made.usable))); });
}
void usable_size_inside(Plan& plan) {
  const Victim made = make_wide(plan);
  unsigned char* const inside = hidden(made.block.at) + draw_inside(plan, made);
  mistake(inside, made.usable, made.block.maker, [inside] { use(malloc_usable_size(inside)); });
}
void free_foreign(Plan& plan) {
  static char data[64];
  char local[64];
  void* pages = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* const places[] = {data + 16, local + 16, pages, reinterpret_cast<void*>(16),
                          reinterpret_cast<void*>(plan.worker.random.next() & ~size_t{15})};
  void* const place = hidden(places[plan.worker.random.below(5)]);
  mistake(place, 0, Maker::c, [place] { free(place); });
}
// The place behind the only block of its size.
void free_never_given(Plan& plan) {
  plan.bytes = reserved_bytes;
  plan.maker = Maker::c;
  const Victim made = make_victim(plan);
  unsigned char* const behind = hidden(made.block.at) + made.usable;
  mistake(behind, made.usable, made.block.maker, [behind] { free(behind); });
}

// --- what a call says of the block

void sized_wrong(Plan& plan) {
  plan.bytes += 200;
  if (plan.maker != Maker::one) plan.maker = Maker::c;
  const Victim made = make_victim(plan);
  const size_t told = plan.worker.random.one_in(2) ? made.usable + 1 : plan.bytes / 4;
  mistake(made.block.at, told, made.block.maker, [&made, told] {
    unsigned char* const block = hidden(made.block.at);
    if (made.block.maker == Maker::one) return ::operator delete(block, told);
    free_sized(block, told);
  });
}
void kind_wrong(Plan& plan) {
  const Maker makers[] = {Maker::c, Maker::one, Maker::array};
  const size_t made_by = plan.worker.random.below(3);
  const size_t freed_by = (made_by + 1 + plan.worker.random.below(2)) % 3;
  plan.maker = makers[made_by];
  const Victim made = make_victim(plan);
  mistake(made.block.at, made.usable, made.block.maker, [&made, freed_by] {
    unsigned char* const block = hidden(made.block.at);
    if (freed_by == 0) return free(block);
    if (freed_by == 1) return ::operator delete(block);
    ::operator delete[](block);
  });
}

// --- wrong writes

// Noticed when the block is freed, or at once: a page without access may lie behind it.
void write_behind(Plan& plan) {
  const Victim made = make_victim(plan);
  mistake(made.block.at, made.usable, made.block.maker, [&plan, &made] {
    hidden(made.block.at)[made.usable] ^= 0x55;
    drop(plan.worker, made.block);
  });
}
// Noticed when the block serves again, or never.
void write_freed(Plan& plan) {
  const Victim made = make_freed(plan);
  const size_t place = plan.worker.random.below(made.usable);
  mistake(made.block.at, made.usable, made.block.maker,
          [&made, place] { hidden(made.block.at)[place] ^= 0x55; });
}

struct Row {
  const char* name;
  Act act;
};
const Row rows[] = {{"double_at_once", double_at_once},
                    {"double_later", double_later},
                    {"double_other", double_other},
                    {"double_child", double_child},
                    {"double_together", double_together},
                    {"double_batch", double_batch},
                    {"free_moved", free_moved},
                    {"realloc_freed", realloc_freed},
                    {"expand_freed", expand_freed},
                    {"usable_size_freed", usable_size_freed},
                    {"recallocarray_freed", recallocarray_freed},
                    {"free_inside", free_inside},
                    {"realloc_inside", realloc_inside},
                    {"usable_size_inside", usable_size_inside},
                    {"free_foreign", free_foreign},
                    {"free_never_given", free_never_given},
                    {"sized_wrong", sized_wrong},
                    {"kind_wrong", kind_wrong},
                    {"write_behind", write_behind},
                    {"write_freed", write_freed}};

}  // namespace

Act act_of(const char* name) {
  for (const Row& row : rows) {
    if (strcmp(row.name, name) == 0) return row.act;
  }
  return nullptr;
}

}  // namespace fuzz_misuse
