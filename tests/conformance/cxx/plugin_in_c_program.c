/* A C program that loads a C++ plugin: the plugin's new must still throw (N30, N14).
 *
 * The allocator is in the process before any C++ runtime. The plugin brings the runtime with
 * RTLD_LOCAL, so that a look-up in the global scope does not find it. operator new, found first in
 * the preloaded allocator, has to reach bad_alloc and the new handler all the same. An argument is
 * the path of another plugin, which carries its runtime within itself.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** arguments) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
  if (length <= 0) return 77;
  path[length] = 0;
  strcpy(strrchr(path, '/'), "/plugins/cxx_plugin.so");
  if (count > 1) snprintf(path, sizeof(path), "%s", arguments[1]);
  for (int i = 0; i < 20; ++i) {
    void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
      fprintf(stderr, "dlopen: %s\n", dlerror());
      return 1;
    }
    const char* (*run)(void) = (const char* (*)(void))dlsym(plugin, "run_cxx_plugin");
    const char* complaint = run != NULL ? run() : "run_cxx_plugin is missing";
    if (complaint != NULL) {
      fprintf(stderr, "plugin: %s\n", complaint);
      return 1;
    }
    dlclose(plugin);
  }
  return 0;
}
