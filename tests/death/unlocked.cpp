// SPDX-License-Identifier: MIT
// tests/death/unlocked: mistakes with locks at which clang must refuse to compile.
//
// Owns: one function for each mistake, chosen by TALUS_MISTAKE; CMakeLists.txt has the message that
// each must give. 0 is the same work without a mistake.
#include "heap/registry.hpp"
#include "store/slabs.hpp"

namespace talus::core {

#if TALUS_MISTAKE == 1  // reads what a lock guards
size_t look() noexcept { return registry.cache_count; }
#elif TALUS_MISTAKE == 2  // calls what needs a lock, with a proof that no longer holds it
uint32_t look() noexcept {
  Held held{registry.lock};
  held.unlock_for_a_while();
  const uint32_t limit = heap_limit(held);
  held.lock_again();
  return limit;
}
#elif TALUS_MISTAKE == 3  // leaves a lock locked
void look(bool is_done) noexcept {
  registry.lock.lock();
  if (is_done) return;
  registry.lock.unlock();
}
#elif TALUS_MISTAKE == 4  // does not look whether it got the lock
size_t look() noexcept {
  registry.lock.try_lock();
  return registry.cache_count;
}
#elif TALUS_MISTAKE == 5  // has the proof of another lock
uint32_t look() noexcept {
  Held held{space.lock()};
  return heap_limit(held);
}
#elif TALUS_MISTAKE == 6  // asks address space without its lock
size_t look() noexcept { return space.dirty_bytes(); }
#elif TALUS_MISTAKE == 7  // takes a range after the proof let the lock go
size_t look() noexcept {
  Held held{space.lock()};
  held.unlock_for_a_while();
  const size_t slices = space.take(held, 1).slices;
  held.lock_again();
  return slices;
}
#elif TALUS_MISTAKE == 8  // takes a descriptor that another thread may take
Slab* look(size_t index) noexcept { return descriptor_pool.unused[index]; }
#else
uint32_t look() noexcept {
  Held held{registry.lock};
  return static_cast<uint32_t>(registry.cache_count) + heap_limit(held);
}
size_t look_at_space(size_t index) noexcept {
  Held held{space.lock()};
  if (descriptor_pool.unused[index] != nullptr) return space.dirty_bytes();
  return space.take(held, 1).slices;
}
#endif

}  // namespace talus::core
