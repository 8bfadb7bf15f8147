// SPDX-License-Identifier: MIT
// tests/doors/plugin: a shared object that carries Talus as a header, hidden from all others.
//
// Owns: three exported functions; everything else of it must be invisible (plugins_main looks).
#include <talus/talus.hpp>

#define PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

PLUGIN_EXPORT void* plugin_malloc(size_t bytes) { return talus_malloc(bytes); }
PLUGIN_EXPORT void plugin_free(void* pointer) { talus_free(pointer); }
PLUGIN_EXPORT size_t plugin_usable_size(const void* pointer) { return talus_usable_size(pointer); }
