// Where a probe finds the libraries built for it: the folder `plugins` beside its own executable.
//
// The path is read from the kernel, so that programs may be copied elsewhere together; it is built
// in the caller's buffer because nothing here may allocate. False, with a message, if the kernel
// gives no path or it does not fit.
// SPDX-License-Identifier: MIT
#pragma once

#include "probe.hpp"

#include <unistd.h>

namespace probe {

constexpr std::size_t path_bytes_max = 4096;

inline bool plugin_path(char (&path)[path_bytes_max], const char* name) {
  const ssize_t length = readlink("/proc/self/exe", path, path_bytes_max - 100);
  if (length <= 0) {
    fail("no path of the running program");
    return false;
  }
  path[length] = 0;
  char* end = std::strrchr(path, '/');
  std::snprintf(end, path_bytes_max - static_cast<std::size_t>(end - path), "/plugins/%s", name);
  return true;
}

}  // namespace probe
