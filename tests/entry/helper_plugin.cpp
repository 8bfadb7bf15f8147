// SPDX-License-Identifier: MIT
// tests/entry/helper_plugin: a plugin that carries Talus is closed while its helper runs.
//
// The helper must be gone before its code is; and when a process ends with such a plugin open.
// Usage: helper_plugin PLUGIN
#include <dlfcn.h>
#include <pthread.h>

#include "helper_watch.hpp"

namespace {

using namespace watch;

const char* plugin_path;

void* open_plugin() {
  void* handle = dlopen(plugin_path, RTLD_LAZY | RTLD_LOCAL);
  EXPECT(handle != nullptr);
  return handle;
}

// On a thread of its own, which ends: one that has used a plugin keeps it loaded.
void* use_plugin(void* handle) {
  const auto allocate = reinterpret_cast<Allocate>(dlsym(handle, "plugin_malloc"));
  const auto release = reinterpret_cast<Release>(dlsym(handle, "plugin_free"));
  EXPECT(allocate != nullptr && release != nullptr);
  free_much(allocate, release);
  EXPECT(comes_true([] { return thread_count() == 3; }));
  return nullptr;
}

void call_plugins_helper(void* handle) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, nullptr, use_plugin, handle) == 0);
  EXPECT(pthread_join(thread, nullptr) == 0);
  // The kernel lists a thread for a moment after it was joined.
  EXPECT(comes_true([] { return thread_count() == 2; }));
}

bool is_loaded() {
  void* again = dlopen(plugin_path, RTLD_NOW | RTLD_NOLOAD);
  if (again != nullptr) dlclose(again);
  return again != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  plugin_path = argv[1];
  for (long round = 0; round < 20; round++) {
    void* handle = open_plugin();
    call_plugins_helper(handle);
    sleep_ms(7 * round);  // at rest, or at work
    EXPECT(dlclose(handle) == 0);
    EXPECT(!is_loaded());
    EXPECT(comes_true([] { return thread_count() == 1; }));
  }
  in_child([] {
    call_plugins_helper(open_plugin());
    exit(0);
  });
  in_child([] {
    call_plugins_helper(open_plugin());
    _exit(0);
  });
  return 0;
}
