// Destructors of thread-specific data allocate and free while the thread dies (N13).
//
// Keys set themselves again three times, so that their destructors run after all other destructors,
// the allocator's included; thread_local objects allocate in their destructors too. Every block is
// checked. 8000 threads, two at a time with all their blocks live; resident data may drift by 1 MiB
// after the first two thousand.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>
#include <pthread.h>

namespace {

constexpr std::size_t thread_total = 8000;
constexpr std::size_t round_threads = 1000;
constexpr std::size_t drift_max = probe::mib;
constexpr int rounds = 3;
constexpr int key_count = 3;

pthread_key_t keys[key_count];
std::atomic<std::size_t> key_destructions{0};
std::atomic<std::size_t> object_destructions{0};

struct Value {
  int key;
  int rounds_left;
  std::size_t size;
  unsigned char* bytes;
};

Value* make_value(int key, int rounds_left) {
  auto* value = static_cast<Value*>(malloc(sizeof(Value)));
  const std::size_t size = 100 + 3000 * static_cast<std::size_t>(key * rounds + rounds_left);
  *value = {key, rounds_left, size, static_cast<unsigned char*>(calloc(1, size))};
  probe::fill(value->bytes, size, size);
  return value;
}

void destroy_value(void* pointer) {
  auto* value = static_cast<Value*>(pointer);
  key_destructions.fetch_add(1);
  PROBE_EXPECT(probe::is_filled(value->bytes, value->size, value->size),
               "thread-specific data of key %d changed", value->key);
  if (value->rounds_left > 0) {
    pthread_setspecific(keys[value->key], make_value(value->key, value->rounds_left - 1));
  }
  value->bytes = static_cast<unsigned char*>(realloc(value->bytes, value->size * 2));
  free(value->bytes);
  free(value);
}

struct Object {
  void* block = nullptr;
  ~Object() {
    object_destructions.fetch_add(1);
    for (int i = 0; i < 20; ++i) {
      void* other = probe::opaque(malloc(64 + static_cast<std::size_t>(i) * 500));
      free(block);
      block = other;
    }
    free(block);
  }
};

thread_local Object object;
pthread_barrier_t both_live;

void* live_and_die(void*) {
  object.block = malloc(333);
  for (int key = 0; key < key_count; ++key) {
    pthread_setspecific(keys[key], make_value(key, rounds));
  }
  pthread_barrier_wait(&both_live);
  return nullptr;
}

void run_threads(std::size_t count) {
  for (std::size_t i = 0; i < count; i += 2) {
    pthread_t pair[2];
    for (pthread_t& thread : pair) pthread_create(&thread, nullptr, live_and_die, nullptr);
    for (const pthread_t thread : pair) pthread_join(thread, nullptr);
  }
}

}  // namespace

int main() {
  for (pthread_key_t& key : keys) pthread_key_create(&key, destroy_value);
  pthread_barrier_init(&both_live, nullptr, 2);
  probe::Drift drift;
  for (std::size_t i = 0; i < thread_total; i += round_threads) {
    run_threads(round_threads);
    drift.sample();
  }
  PROBE_EXPECT(drift.bytes() <= drift_max, "%zu threads leave %zu KiB", thread_total,
               drift.bytes() / 1024);
  probe::figure("drift", static_cast<double>(drift.bytes()) / 1024, "KiB");
  const std::size_t wanted = thread_total * key_count * (rounds + 1);
  PROBE_EXPECT(key_destructions == wanted, "%zu destructors ran", key_destructions.load());
  PROBE_EXPECT(object_destructions == thread_total, "%zu objects", object_destructions.load());
  return probe::verdict();
}
