// SPDX-License-Identifier: MIT
// threads/threads: how a thread gets its cache, and what happens to it when the thread ends.
//
// libtalus.so and programs are never unloaded. They use a key, whose destructor runs after those of
// the program's own thread-locals. Any other object with Talus asks libc to call it as the
// destructor of a thread-local. libc then keeps the object mapped while such a thread lives.
//
// Owns: how the end of a thread becomes known. Invariants: this_context is set before any call that
// might allocate. A thread that has ended never gets a cache again: late destructors work on slabs,
// under locks. Called on: the thread itself.
#ifndef TALUS_THREADS_THREADS_HPP
#define TALUS_THREADS_THREADS_HPP

#include <pthread.h>

#include "base/base.hpp"
#include "settings/options.hpp"
#include "arch/arch.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "bounded/life.hpp"
#include "heap/allocated.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/modes.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "cache/idle_caches.hpp"
#include "paths/free_slow.hpp"
#include "modes/chain.hpp"
#include "modes/checked.hpp"
#include "modes/hardened.hpp"
#include "configuration/own_configuration.hpp"
#include "threads/library_parts.hpp"

extern "C" {
// Null in a program with a fixed address, not in others.
extern void* __dso_handle __attribute__((visibility("hidden")));
// In glibc, not in musl.
int __cxa_thread_atexit_impl(void (*call)(void*), void* with, void* object)
    __attribute__((weak, visibility("default")));
[[gnu::weak]] extern const talus::core::LibraryParts talus_library_parts;
const talus::core::LibraryParts talus_library_parts = {};
}

namespace talus::core {

inline bool may_be_unloaded() noexcept {
  return __dso_handle != nullptr && !talus_library_parts.stays_loaded && !os::is_in_program();
}

struct ThreadEnd {
  ThreadEndLock lock;
  Atomic<bool> has_key;           // set once under the lock, cleared when the library is unloaded
  Atomic<uint32_t> ending_count;  // threads inside thread_ends
  pthread_key_t key = 0;
};
TALUS_CONSTINIT inline ThreadEnd thread_end;

// The last act of a thread that has a cache.
TALUS_USUAL void thread_ends(void* value) noexcept {
  thread_end.ending_count.hint_add(1);  // forget_threads waits for it to fall
  TALUS_ASSERT(value != nullptr);
  auto& cache = *static_cast<ThreadCache*>(value);
  end_bounded_thread();
  depart(cache, context_after_end());
  end_cache(cache);
  thread_end.ending_count.hint_sub(1);  // as before
}

// Makes the calling thread's end known. False: it cannot. Then no thread reuses the cache, and none
// may touch its context. Its memory stays unused, but nothing breaks.
TALUS_USUAL bool watch_thread(ThreadCache& cache) noexcept {
  if (may_be_unloaded() && &__cxa_thread_atexit_impl != nullptr) {
    return __cxa_thread_atexit_impl(thread_ends, &cache, &__dso_handle) == 0;
  }
  if (!thread_end.has_key.load_acquire()) {
    Held held{thread_end.lock};
    if (!thread_end.has_key.load_own()) {  // under the lock
      if (pthread_key_create(&thread_end.key, thread_ends) != 0) return false;
      thread_end.has_key.store_release(true);
    }
  }
  return pthread_setspecific(thread_end.key, &cache) == 0;
}

TALUS_HOOK ThreadCache* cache_of_new_thread(ThreadContext&) noexcept {
  // The caller looked at the context of a new thread, and a call in between made the cache. A
  // second cache would keep the address of this_context when the thread is gone.
  ThreadContext& now = current_context();
  if (TALUS_UNLIKELY(!is_of_new_thread(now))) return cache_behind(now);
  if (environ != nullptr) configure_process();
  if (TALUS_UNLIKELY(options.mode == HeapMode::checked)) checked::begin();
  if (TALUS_UNLIKELY(options.mode == HeapMode::hardened)) hardened::begin();
  salvage_cache();  // a fork may have orphaned some; each new thread adopts one
  ThreadCache* cache = attach_cache();
  if (cache == nullptr) {
    note_partial();  // the thread is in no mode
    return nullptr;
  }
  // Another thread had this cache.
  if (TALUS_UNLIKELY(cache->shared_told_bytes.load_own() != 0)) begin_allocated(*cache);
  TALUS_ASSERT(cache->shared_busy.load_own() == 0);
  TALUS_ASSERT(cache->shared_state.load_own() == OwnerState::active);
  set_context(context_for(*cache));
  if (watch_thread(*cache)) {
    attend(*cache);
    look_again(*cache);
  }
  request_cache_purge();
  return cache;
}

// Before the code is unloaded, in an object that has only a key. No ending thread may call into the
// code, and threads already in it get time to leave. This misses a thread between libc's read of
// the key and the first line of thread_ends, because libc does not report it.
TALUS_START void forget_threads() noexcept {
  Held held{thread_end.lock};
  if (!thread_end.has_key.load_own()) return;  // under the lock
  thread_end.has_key.store_release(false);
  pthread_key_delete(thread_end.key);
  for (int wait = 0; wait < 10000000; wait++) {
    if (thread_end.ending_count.load_acquire() == 0) return;
    arch::pause();
  }
}

}  // namespace talus::core

#endif  // TALUS_THREADS_THREADS_HPP
