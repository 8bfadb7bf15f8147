// A library comes, allocates in threads with thread_local objects, and goes again (N14).
//
// Threads call into the plugin and outlive the dlclose; their destructors run late. Blocks the
// plugin took are freed after it is gone. Sixty rounds: nothing crashes, and resident memory may
// drift by 1 MiB over the last forty.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../plugin_path.hpp"
#include "../probe.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

namespace {

using Take = void* (*)(std::size_t);

struct Task {
  Take take;
  void* block;
  pthread_barrier_t barrier;
};

void* call_plugin(void* argument) {
  auto* task = static_cast<Task*>(argument);
  task->block = task->take(5000);
  pthread_barrier_wait(&task->barrier);  // the plugin has been called
  pthread_barrier_wait(&task->barrier);  // the plugin has been closed
  return nullptr;
}

void run_round(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    probe::fail("dlopen: %s", dlerror());
    return;
  }
  Task task{};
  task.take = reinterpret_cast<Take>(dlsym(plugin, "take_in_plugin"));
  pthread_barrier_init(&task.barrier, nullptr, 2);
  pthread_t thread;
  pthread_create(&thread, nullptr, call_plugin, &task);
  pthread_barrier_wait(&task.barrier);
  void* own = task.take(300);
  dlclose(plugin);
  pthread_barrier_wait(&task.barrier);
  pthread_join(thread, nullptr);
  pthread_barrier_destroy(&task.barrier);
  PROBE_EXPECT(probe::is_filled(task.block, 5000, 5000), "the plugin's block changed");
  PROBE_EXPECT(probe::is_filled(own, 300, 300), "the plugin's block changed");
  free(task.block);
  free(own);
}

}  // namespace

int main() {
  char path[probe::path_bytes_max];
  if (!probe::plugin_path(path, "unload_plugin.so")) return 1;
  for (int i = 0; i < 20; ++i) run_round(path);
  const std::size_t warm = probe::resident_bytes();
  for (int i = 0; i < 40; ++i) run_round(path);
  const std::size_t grown = probe::saturating_difference(probe::resident_bytes(), warm);
  PROBE_EXPECT(grown <= probe::mib, "forty rounds leave %zu KiB", grown / 1024);
  return probe::verdict();
}
