// SPDX-License-Identifier: MIT
// process/threads: how a thread gets its heap and what happens to it when the thread ends.
//
// Owns: the key whose destructor tells that a thread ends. Invariants: this_face is set before
// anything that might allocate is called; a thread that ended once never gets a heap again (late
// destructors work on the shared, locked heap). Called on: the thread itself.
#ifndef TALUS_PROCESS_THREADS_HPP
#define TALUS_PROCESS_THREADS_HPP

#include <pthread.h>

#include "modes/counting.hpp"

namespace talus {

struct ThreadEnd {
  Lock lock;
  Atomic<bool> has_key;  // set once under the lock, cleared when the library is unloaded
  Atomic<uint32_t> ending_count;  // threads inside thread_ends
  pthread_key_t key = 0;
};
inline ThreadEnd thread_end;

// The last act of a thread as far as it has a heap.
inline void thread_ends(void* value) noexcept {
  Heap& heap = *static_cast<Heap*>(value);
  thread_end.ending_count.fetch_add_relaxed(1);  // [hint] forget_threads waits for it to fall
  this_face = &dead_face;
  flush_all(heap);
  orphan_heap(heap);
  thread_end.ending_count.fetch_sub_relaxed(1);  // [hint] as above
}

// Makes the calling thread's end known. Failing means that its heap is not reused: memory is lost
// to others, nothing breaks.
inline void watch_thread(Heap& heap) noexcept {
  if (!thread_end.has_key.load_acquire()) {
    Locked held{thread_end.lock};
    if (!thread_end.has_key.load_relaxed()) {  // [own] the lock
      if (pthread_key_create(&thread_end.key, thread_ends) != 0) return;
      thread_end.has_key.store_release(true);
    }
  }
  pthread_setspecific(thread_end.key, &heap);
}

TALUS_HOOK Heap* heap_of_new_thread(HeapFace&) noexcept {
  Heap* heap = adopt_or_make_heap();
  if (heap == nullptr) return nullptr;
  // A heap left behind by a fork may still hold what its thread had.
  if (heap->needs_salvage) {
    heap->needs_salvage = false;
    flush_all(*heap);
  }
  const bool is_counting = counting::shared.is_on.load_relaxed();  // [init] before threads start
  this_face = is_counting ? &counting::face_for(*heap) : heap;
  watch_thread(*heap);
  return heap;
}

// Before the code is unloaded: no thread may call into it when it ends, and those that are about to
// leave it get time to do so. (libc does not say who is on the way in: a thread that is between
// libc's look at the key and the first line of thread_ends is not seen.)
inline void forget_threads() noexcept {
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
