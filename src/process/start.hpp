// SPDX-License-Identifier: MIT
// process/start: what happens once, when the process or library starts and ends.
//
// Owns: the order of these steps. Invariant: allocation works before the start and after the end;
// the start only adds what needs an environment (options, fork handlers, the counting mode).
// A privileged process (AT_SECURE) does not listen to its environment. Called on: the thread that
// runs constructors, before main in all usual cases; the steps run once however many units of a
// header-only program call them.
#ifndef TALUS_PROCESS_START_HPP
#define TALUS_PROCESS_START_HPP

#include <unistd.h>

#include "process/fork.hpp"
#include "process/options_env.hpp"
#include "process/summary.hpp"

namespace talus {

inline Atomic<bool> has_started;
inline Atomic<bool> has_ended;

inline void warn(const char* line) noexcept {
  TextBuffer<option_warning_bytes_max + 2> text;
  text.put(line).put("\n");
  os::System::write_error(text.data(), text.length());
}

inline void say_options() noexcept {
  TextBuffer<2048> text;
  text.put("talus ").put(version_text).put(":");
  for (const OptionRow& row : option_rows) {
    char value[option_text_bytes_max + 8];
    format_option_value(options, row, value, sizeof value);
    text.put(" ").put(row.name).put("=").put(value);
  }
  text.put("\n");
  os::System::write_error(text.data(), text.length());
}

// From here on every thread counts; the calling thread at once, others when they begin.
inline void start_counting() noexcept {
  counting::shared.is_on.store_relaxed(true);  // [init]
  HeapFace& face = *this_face;
  if (face.operations == nullptr) this_face = &counting::face_for(static_cast<ThreadCache&>(face));
}

inline bool wants_summary() noexcept {
  return options.print_stats.bytes[0] != '\0' && (options.print_stats_trigger & 1) != 0;
}

inline void process_starts() noexcept {
  if (has_started.load_relaxed()) return;  // [init] constructors run one after the other
  has_started.store_relaxed(true);         // [init]
  process_started_ns.store_relaxed(os::System::now_ns());  // [init]
  if (!os::System::is_secure() && environ != nullptr) parse_options(environ, options, warn);
  if (options.verbose) say_options();
  if (wants_summary()) start_counting();
  watch_forks();
}

inline void process_ends() noexcept {
  if (has_ended.load_relaxed()) return;  // [init] destructors run one after the other
  has_ended.store_relaxed(true);         // [init]
  if (wants_summary()) print_summary();
  forget_threads();
}

}  // namespace talus

#endif  // TALUS_PROCESS_START_HPP
