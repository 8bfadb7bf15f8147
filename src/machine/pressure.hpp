// SPDX-License-Identifier: MIT
// machine/pressure: the memory pressure of the machine, as its kernel measures it.
//
// Owns: reading /proc/pressure/memory (pressure stall information). Its first line is "some
// avg10=12.34 avg60=...": the share of the last ten seconds in which at least one task waited for
// memory. Invariants: those of kernel_file; a kernel without the file has no pressure. Called on:
// the background thread. Must not know: what follows from pressure.
#ifndef TALUS_MACHINE_PRESSURE_HPP
#define TALUS_MACHINE_PRESSURE_HPP

#include "parsing/option_number.hpp"
#include "machine/kernel_file.hpp"

namespace talus::core {

// In hundredths of a per cent.
inline constexpr uint32_t pressure_max = 10000;

// The pressure in the text; 0: the text has another form.
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

}  // namespace talus::core

#endif  // TALUS_MACHINE_PRESSURE_HPP
