// SPDX-License-Identifier: MIT
// tests/death/unlocked: mistakes with locks at which clang must refuse to compile.
//
// Owns: one function for each mistake, chosen by TALUS_MISTAKE; CMakeLists.txt has the message that
// each must give. 0 is the same work without a mistake.
#include "heap/registry.hpp"

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
#else
uint32_t look() noexcept {
  Held held{registry.lock};
  return static_cast<uint32_t>(registry.cache_count) + heap_limit(held);
}
#endif

}  // namespace talus::core
