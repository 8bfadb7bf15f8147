// SPDX-License-Identifier: MIT
// process/pressure: how much the machine suffers from a lack of memory, by its kernel's own word.
//
// Owns: reading /proc/pressure/memory (pressure stall information), whose first line is
// "some avg10=12.34 avg60=...": the part of the last ten seconds in which at least one task waited
// for memory. Invariants: those of kernel_file; a kernel that does not tell has no pressure.
// Called on: the helper thread. Must not know: what follows from pressure.
#ifndef TALUS_PROCESS_PRESSURE_HPP
#define TALUS_PROCESS_PRESSURE_HPP

#include "process/kernel_file.hpp"
#include "process/option_number.hpp"

namespace talus {

// Hundredths of a per cent, 0 to 10000.
inline constexpr uint32_t pressure_max = 10000;

// The pressure that the text tells; 0 if it is not such a text.
inline uint32_t pressure_in(const char* text) noexcept {
  static constexpr char start[] = "some avg10=";
  for (const char* letter = start; *letter != '\0'; letter++, text++) {
    if (*text != *letter) return 0;
  }
  const Digits whole = read_digits(text);
  if (whole.end == text || whole.overflow || *whole.end != '.') return 0;
  const Digits part = read_digits(whole.end + 1);
  if (part.end != whole.end + 3 || *part.end != ' ') return 0;  // always two places
  if (whole.value >= 100) return pressure_max;
  return static_cast<uint32_t>(whole.value * 100 + part.value);
}

inline uint32_t read_memory_pressure(const char* path = "/proc/pressure/memory") noexcept {
  char text[128];
  return read_text(path, text) != 0 ? pressure_in(text) : 0;
}

}  // namespace talus

#endif  // TALUS_PROCESS_PRESSURE_HPP
