// SPDX-License-Identifier: MIT
// process/threads: how a thread gets its cache and what happens to it when the thread ends.
//
// Owns: how the end of a thread becomes known. libtalus.so and programs, never unloaded, have a
// key: its destructor runs after those of the program's own thread-locals. Any other object that
// carries Talus asks libc to call it as a thread-local's destructor: libc then keeps the object
// mapped as long as such a thread lives. Invariants: this_context is set before anything that might
// allocate is called; a thread that ended once never gets a cache again (late destructors work on
// slabs, under locks). Called on: the thread itself.
#ifndef TALUS_PROCESS_THREADS_HPP
#define TALUS_PROCESS_THREADS_HPP

#include <pthread.h>

#include "bounded/life.hpp"
#include "modes/counting.hpp"
#include "modes/mapped.hpp"
#include "process/library_parts.hpp"
#include "process/own_configuration.hpp"

extern "C" {
// Null in a program with a fixed address, not in others.
extern void* __dso_handle __attribute__((visibility("hidden")));
// glibc, not musl.
int __cxa_thread_atexit_impl(void (*call)(void*), void* with, void* object)
    __attribute__((weak, visibility("default")));
[[gnu::weak]] extern const talus::LibraryParts talus_library_parts;
const talus::LibraryParts talus_library_parts = {};
}

namespace talus {

inline bool may_be_unloaded() noexcept {
  return __dso_handle != nullptr && !talus_library_parts.stays_loaded && !os::is_in_program();
}

struct ThreadEnd {
  Lock lock;
  Atomic<bool> has_key;           // set once under the lock, cleared when the library is unloaded
  Atomic<uint32_t> ending_count;  // threads inside thread_ends
  pthread_key_t key = 0;
};
inline ThreadEnd thread_end;

// What a thread sees whose cache has ended: late destructors, and libc's own.
inline ThreadContext& context_after_end() noexcept {
  if (mapped::is_on()) return mapped::late_context();
  if (shared_counts_calls.load_relaxed()) return counting::late_context();  // [init]
  return ended_context;
}

// The last act of a thread as far as it has a cache.
TALUS_USUAL void thread_ends(void* value) noexcept {
  thread_end.ending_count.fetch_add_relaxed(1);  // [hint] forget_threads waits for it to fall
  auto& cache = *static_cast<ThreadCache*>(value);
  end_bounded_thread();
  depart(cache, context_after_end());
  end_cache(cache);
  thread_end.ending_count.fetch_sub_relaxed(1);  // [hint] as above
}

// Makes the calling thread's end known. False: it cannot, so that its cache is not reused, and
// nobody may reach for its context: memory is lost to others, nothing breaks.
TALUS_USUAL bool watch_thread(ThreadCache& cache) noexcept {
  if (may_be_unloaded() && &__cxa_thread_atexit_impl != nullptr) {
    return __cxa_thread_atexit_impl(thread_ends, &cache, &__dso_handle) == 0;
  }
  if (!thread_end.has_key.load_acquire()) {
    Locked held{thread_end.lock};
    if (!thread_end.has_key.load_relaxed()) {  // [own] the lock
      if (pthread_key_create(&thread_end.key, thread_ends) != 0) return false;
      thread_end.has_key.store_release(true);
    }
  }
  return pthread_setspecific(thread_end.key, &cache) == 0;
}

// What a thread that has this cache sees: the cache itself, or the mode of the process before it.
inline ThreadContext& context_before(ThreadCache& cache) noexcept {
  if (mapped::is_on()) return mapped::context_for(cache);
  if (shared_counts_calls.load_relaxed()) return counting::context_for(cache);  // [init]
  return cache;
}

TALUS_HOOK ThreadCache* cache_of_new_thread(ThreadContext&) noexcept {
  if (environ != nullptr) configure_process();
  salvage_cache();  // a fork may have left some behind; each new thread cares for one
  ThreadCache* cache = attach_cache();
  if (cache == nullptr) return nullptr;
  set_context(context_before(*cache));
  if (watch_thread(*cache)) attend(*cache);
  request_cache_purge();
  return cache;
}

// Before the code is unloaded, where only a key could be had: no thread may call into it when it
// ends, and those that are about to leave it get time to do so. (libc does not say who is on the
// way in: who is between libc's look at the key and the first line of thread_ends is not seen.)
TALUS_START void forget_threads() noexcept {
  Locked held{thread_end.lock};
  if (!thread_end.has_key.load_relaxed()) return;  // [own] the lock
  thread_end.has_key.store_release(false);
  pthread_key_delete(thread_end.key);
  for (int wait = 0; wait < 10000000; wait++) {
    if (thread_end.ending_count.load_acquire() == 0) return;
    arch::pause();
  }
}

}  // namespace talus

#endif  // TALUS_PROCESS_THREADS_HPP
