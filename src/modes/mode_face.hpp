// SPDX-License-Identifier: MIT
// modes/mode_face: the face that a mode puts before a thread's cache.
//
// Owns: what the faces of all modes have. Its lists stay empty and its id matches nothing, so that
// every call takes the slow path. Invariant: it lies in metadata, so it outlives its thread.
// Called on: any thread. Must not know: what a mode does.
#ifndef TALUS_MODES_MODE_FACE_HPP
#define TALUS_MODES_MODE_FACE_HPP

#include "heap/heap.hpp"
#include "space/space.hpp"

namespace talus {

struct ModeFace : HeapFace {
  ThreadCache* cache = nullptr;  // constant; null: any thread that has none any more
};

inline ThreadCache* cache_of_mode_face(HeapFace& face) noexcept {
  return static_cast<ModeFace&>(face).cache;
}

// A face for this cache; null: there is no memory.
template <typename Face>
Face* make_mode_face(Locked& held, const FaceOperations& operations, ThreadCache* cache) noexcept {
  void* memory = space.take_metadata(held, sizeof(Face));
  if (memory == nullptr) return nullptr;
  auto* face = static_cast<Face*>(memory);
  face->cache = cache;
  close_face(*face, operations);
  return face;
}

}  // namespace talus

#endif  // TALUS_MODES_MODE_FACE_HPP
