// SPDX-License-Identifier: MIT
// tests/entry/plugin: a shared object that carries Talus as a header, hidden from all others.
//
// Owns: four exported functions; everything else of it must be invisible (plugins_main looks).
#include <talus/bounded.hpp>

#include <optional>

#define PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

PLUGIN_EXPORT void* plugin_malloc(size_t bytes) { return talus_malloc(bytes); }
PLUGIN_EXPORT void plugin_free(void* pointer) { talus_free(pointer); }
PLUGIN_EXPORT size_t plugin_usable_size(const void* pointer) { return talus_usable_size(pointer); }

namespace {

// Destroyed after the end of its thread as Talus knows it, when it was there before.
struct User {
  std::optional<talus::bounded_cache> cache;
};
thread_local User user;
talus::bounded pools{8, 1 << 16};

}  // namespace

PLUGIN_EXPORT void plugin_use_cache() {
  User& own = user;
  own.cache.emplace(pools);
  own.cache->deallocate(own.cache->allocate(100));
}
