// Complaint i: hundreds of threads that each free a few megabytes of others' blocks and then idle.
//
// Measures: the memory that each idle thread's caches hold: threads times cache is the complaint.
// Method: 400 threads wait. Main allocates 2 MB in blocks of 64 to 512 bytes and passes them to one
// thread, which frees them and sleeps from then on; then the next thread. Figure: KiB resident per
// thread beyond the state after the start of all threads. It is read --idle seconds (default 1,
// times --scale) after the last thread. --scale multiplies the threads. The timed part is the
// passing of blocks.
//
// SPDX-License-Identifier: MIT

#include <semaphore.h>

#include "workload.hpp"

namespace {

constexpr size_t consumers_max = 4096;
constexpr double consumers_default = 400;
constexpr double bytes_default = 2e6;
constexpr double idle_default_s = 1;
constexpr size_t size_min = 64;
constexpr size_t size_max = 512;
constexpr size_t stack_bytes = size_t{128} << 10;
constexpr size_t blocks_max = 65536;

struct Handed {
  bench::Slot blocks[blocks_max];
  size_t count;
};

struct Consumer {
  pthread_t id;
  sem_t may_free;
  sem_t may_end;
};

Handed handed;
Consumer consumers[consumers_max];
sem_t consumer_is_done;

void* consume(void* argument) {
  auto* self = static_cast<Consumer*>(argument);
  sem_post(&consumer_is_done);
  sem_wait(&self->may_free);
  for (size_t at = 0; at < handed.count; at++) handed.blocks[at].empty();
  sem_post(&consumer_is_done);
  sem_wait(&self->may_end);
  return nullptr;
}

size_t take_blocks(size_t bytes, bench::Random& random) {
  size_t taken = 0;
  for (handed.count = 0; taken < bytes && handed.count < blocks_max; handed.count++) {
    const uint64_t draw = random.next();
    bench::Slot& slot = handed.blocks[handed.count];
    slot.fill(size_min + (draw >> 40) % (size_max - size_min), bench::tag_of(draw));
    taken += slot.bytes;
  }
  return taken;
}

void start_all(size_t count) {
  pthread_attr_t small_stack;
  pthread_attr_init(&small_stack);
  pthread_attr_setstacksize(&small_stack, stack_bytes);
  sem_init(&consumer_is_done, 0, 0);
  for (size_t at = 0; at < count; at++) {
    sem_init(&consumers[at].may_free, 0, 0);
    sem_init(&consumers[at].may_end, 0, 0);
    if (pthread_create(&consumers[at].id, &small_stack, &consume, &consumers[at]) != 0) {
      bench::leave(bench::exit_no_memory, "pthread_create failed");
    }
  }
  for (size_t at = 0; at < count; at++) sem_wait(&consumer_is_done);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const double scale = arguments.real("scale", 1);
  arguments.threads(1);  // accepted for a uniform command line; --consumers sets it
  const size_t count = bench::scaled(arguments.real("consumers", consumers_default), scale);
  const size_t bytes = bench::scaled(arguments.real("bytes", bytes_default), 1);
  const double idle_s = arguments.real("idle", idle_default_s) * scale;
  arguments.finish();
  if (count > consumers_max) bench::leave(bench::exit_wrong_arguments, "too many consumers");

  start_all(count);
  bench::Random random(2757);
  std::memset(static_cast<void*>(&handed), 0, sizeof handed);
  const long base_kib = bench::rss_now_kib();
  uint64_t ops = 0;
  size_t taken_most = 0;
  const double start_s = bench::now_s();
  for (size_t at = 0; at < count; at++) {
    const size_t taken = take_blocks(bytes, random);
    if (taken > taken_most) taken_most = taken;
    ops += 2 * handed.count;
    sem_post(&consumers[at].may_free);
    sem_wait(&consumer_is_done);
  }
  const double elapsed_s = bench::now_s() - start_s;
  const long at_once_kib = bench::rss_now_kib();
  bench::sleep_s(idle_s);
  const long idle_kib = bench::rss_now_kib();
  for (size_t at = 0; at < count; at++) sem_post(&consumers[at].may_end);
  for (size_t at = 0; at < count; at++) pthread_join(consumers[at].id, nullptr);

  const double per_thread = 1.0 / static_cast<double>(count);
  bench::Result result("Ci idle consumers", count + 1,
                       static_cast<double>(idle_kib - base_kib) * per_thread, "KiB/thread", false,
                       ops, elapsed_s);
  result.number("idle_s", idle_s);
  result.number("kib_per_thread_at_once", static_cast<double>(at_once_kib - base_kib) * per_thread);
  result.count("peak_requested_bytes", taken_most);
  result.print();
  return 0;
}
