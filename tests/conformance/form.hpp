// How large and how long a probe runs: a short form on every build, the promise in full for a soak.
//
// CONFORMANCE_SOAK=1 asks for the full form; CONFORMANCE_SECONDS=N sets the length of the probes
// that run for a time. A form that needs more memory than the machine has free is made smaller, and
// the figures say what was run. Reading the environment and /proc allocates nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "measure.hpp"

#include <cstdlib>

namespace probe {

inline bool is_soak() {
  const char* given = std::getenv("CONFORMANCE_SOAK");
  return given != nullptr && *given != 0 && *given != '0';
}

inline double seconds_asked(double short_seconds, double soak_seconds) {
  const char* given = std::getenv("CONFORMANCE_SECONDS");
  const double seconds = given != nullptr ? std::atof(given) : 0;
  if (seconds > 0) return seconds;
  return is_soak() ? soak_seconds : short_seconds;
}

inline std::size_t form(std::size_t short_form, std::size_t soak_form) {
  return is_soak() ? soak_form : short_form;
}

inline std::size_t available_bytes() { return kilobyte_field("/proc/meminfo", "MemAvailable:"); }

// The largest of `bytes`, its half, its quarter and so on of which the machine has three times as
// much free: a probe must not drive its neighbours out of memory.
inline std::size_t fitting_bytes(std::size_t bytes) {
  const std::size_t room = available_bytes();
  while (room != 0 && bytes > room / 3) bytes /= 2;
  return bytes;
}

// The factor by which a figure may be above its bar. It is 1 unless CONFORMANCE_TOLERANCE (per
// cent) is set: with it a suite says that it runs beside other work and looks for regressions only.
inline double tolerance() {
  const char* percent = std::getenv("CONFORMANCE_TOLERANCE");
  return percent == nullptr ? 1.0 : 1.0 + std::strtod(percent, nullptr) / 100;
}

}  // namespace probe
