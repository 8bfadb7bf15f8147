// SPDX-License-Identifier: MIT
// modes/mode_context: the context that a mode puts before a thread's cache.
//
// Owns: the part that the contexts of all modes share. Its lists stay empty and its id matches
// nothing, so every call takes the slow path. Invariant: it lies in metadata, so it outlives its
// thread. Called on: any thread. Must not know: what a mode does.
#ifndef TALUS_MODES_MODE_CONTEXT_HPP
#define TALUS_MODES_MODE_CONTEXT_HPP

#include "sync/ranked_lock.hpp"
#include "heap/heap.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"

namespace talus::core {

struct ModeContext : ThreadContext {
  ThreadCache* cache = nullptr;  // constant; null: any thread that has lost its cache
};

inline ThreadCache* cache_of_mode_context(ThreadContext& context) noexcept {
  return static_cast<ModeContext&>(context).cache;
}

// Makes a context for this cache; null: no memory.
template <typename Context>
Context* make_mode_context(Held<SpaceLock>& held, const ContextOperations& operations,
                           ThreadCache* cache) noexcept {
  void* memory = space.take_metadata(held, sizeof(Context));
  if (memory == nullptr) return nullptr;
  auto* context = static_cast<Context*>(memory);
  context->cache = cache;
  close_context(*context, operations);
  return context;
}

}  // namespace talus::core

#endif  // TALUS_MODES_MODE_CONTEXT_HPP
