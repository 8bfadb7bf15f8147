// SPDX-License-Identifier: MIT
// process/start: what happens once, when the process or library starts and ends.
//
// Owns: the order of these steps. Invariant: allocation works before the start and after the end.
// The start adds only what needs an environment: options (unless the first block already read
// them), limits of the machine, fork handlers, the counting mode. A privileged process (AT_SECURE)
// ignores its environment. It reads the kernel's files, because no other process can have written
// them. Called on: the thread that runs constructors, usually before main. Many units of a
// header-only program may call these steps; they run once.
#ifndef TALUS_PROCESS_START_HPP
#define TALUS_PROCESS_START_HPP

#include <sys/resource.h>
#include <unistd.h>

#include "base/base.hpp"
#include "settings/machine.hpp"
#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "settings/version.hpp"
#include "os/guards.hpp"
#include "os/os.hpp"
#include "os/report.hpp"
#include "os/text.hpp"
#include "heap/allocated.hpp"
#include "heap/purge_request.hpp"
#include "parsing/fill_text.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/option_number.hpp"
#include "parsing/options_text.hpp"
#include "modes/reported.hpp"
#include "machine/cgroup.hpp"
#include "machine/kernel_file.hpp"
#include "modes/chain.hpp"
#include "modes/checked.hpp"
#include "modes/allocated.hpp"
#include "modes/counting.hpp"
#include "modes/fill.hpp"
#include "modes/guarded.hpp"
#include "modes/hardened.hpp"
#include "modes/hardened_large.hpp"
#include "modes/mapped.hpp"
#include "modes/mapped_place.hpp"
#include "modes/mapped_slots.hpp"
#include "modes/profile.hpp"
#include "statistics/print_statistics.hpp"
#include "configuration/configuration.hpp"
#include "configuration/option_target.hpp"
#include "configuration/own_configuration.hpp"
#include "configuration/told_mistakes.hpp"
#include "statistics/statistics.hpp"
#include "threads/helper.hpp"
#include "threads/threads.hpp"
#include "process/faults.hpp"
#include "process/fork.hpp"
#include "process/provider.hpp"

namespace talus::core {

// Written once each: constructors, and destructors, run one after the other.
struct ProcessLife {
  Atomic<bool> has_started;
  Atomic<bool> has_ended;
};
TALUS_CONSTINIT inline ProcessLife process_life;

// Says what the machine allows, and the resulting limits.
template <size_t Capacity>
void put_limits(TextBuffer<Capacity>& text) noexcept {
  const auto put_bytes = [&text](const char* name, size_t bytes) {
    char number[32];
    OptionLine line(number, sizeof number);
    add_option_number(line, OptionUnit::bytes, bytes);
    text.put(name).put(bytes != 0 ? number : "none");
  };
  put_bytes("; memory limit ", machine.memory_bytes);
  text.put(", processors ").put_number(within_quota(os::System::cpu_count()));
  put_bytes(", soft limit ", limits.soft_bytes.load_init());
  put_bytes(", hard limit ", limits.hard_bytes.load_init());
}

inline void say_options() noexcept {
  TextBuffer<3072> text;
  text.put("talus ").put(version_text).put(":");
  for (const OptionRow& row : option_rows) {
    char value[option_text_bytes_max + 8];
    format_option_value(options, row, value, sizeof value);
    text.put(" ").put(row.name).put("=").put(value);
    const OptionOrigin& origin = option_origins[row.id];
    if (origin.source == OptionSource::builtin) continue;
    OptionLine line(value, sizeof value);
    add_option_origin(line, origin, options);
    text.put(" (").put(value).put(")");
  }
  put_limits(text);
  text.put("\n");
  os::System::write_error(text.data(), text.length());
  if (os::System::is_purge_broken()) {
    warn(
        "talus: MADV_DONTNEED is answered and clears nothing here (an emulator or a sandbox), so "
        "no memory is given back");
  }
  const bool is_share = options.limit_soft.kind == AmountKind::percent ||
                        options.limit_hard.kind == AmountKind::percent;
  if (is_share && machine.memory_bytes == 0) {
    warn("talus: no memory limit was found, so a limit that is a percentage of it is none");
  }
}

// Learns what the machine allows, and what the options mean on it.
inline void find_limits() noexcept {
  machine = read_machine_limits();
  limits.set(effective_limits(options, machine));
}

// The calling thread counts from here on; others from their first call.
TALUS_APART void start_counting() noexcept {
  begin_mode(counting::mode);
  counting::shared.shared_is_on.store_release(1);
  allocated::ask(AllocatedAskers::command);
}

// The most mappings that the kernel allows this process; the kernel's default if it does not say.
inline size_t mappings_allowed() noexcept {
  char text[32];
  if (read_text("/proc/sys/vm/max_map_count", text) == 0) return 65530;
  return read_digits(text).value;
}

// Guards that divide mappings get a quarter of them.
TALUS_APART void bound_guards() noexcept { guards.bound_mappings(mappings_allowed() / 4); }

// The value of a variable; null: there is none, or the process may not trust it.
TALUS_COLD const char* own_environment_value(const char* name) noexcept {
  if (environ == nullptr || os::System::is_secure()) return nullptr;
  for (char** variable = environ; *variable != nullptr; variable++) {
    if (const char* value = environment_value(*variable, name)) return value;
  }
  return nullptr;
}

TALUS_APART void start_fill() noexcept {
  const bool is_perturb = options.fill.kind == FillKind::perturb;
  fill::begin(is_perturb ? fill_of_perturb(own_environment_value("MALLOC_PERTURB_"))
                         : options.fill);
}

// Half of the addresses that the process may have: the rest is for all other uses. 0: no bound.
inline size_t addresses_for_slots() noexcept {
  const uint64_t limit = os::System::address_bytes_max();
  return limit == RLIM_INFINITY ? 0 : limit / 2;
}

// The hardened mode makes such blocks for large requests. It sets no handler of faults: a program
// may well live with one of its own.
TALUS_APART void start_mapped() noexcept {
  mapped::Settings settings;
  if (options.mode != HeapMode::mapped) settings.guard = mapped::Guard::at_start;
  settings.quarantine_bytes = options.quarantine_bytes;
  settings.blocks = options.mapped_blocks;
  settings.mappings = options.mapped_mappings;
  if (settings.mappings == 0) settings.mappings = mappings_allowed() / 4 * 3;
  settings.address_bytes = addresses_for_slots();
  if (options.mode == HeapMode::hardened) {
    return mapped::prepare(settings, hardened::mode, hardened::large_operations);
  }
  mapped::begin(settings);
  watch_faults();
}

// In a mapped mode each block lies between pages without access already.
TALUS_APART void start_guarded() noexcept {
  if (is_mapped(options.mode)) {
    return warn("talus: TALUS_GUARD does nothing in mode mapped, where each block is guarded");
  }
  guarded::begin(options.guard);
  if (options.guard_report) watch_faults();
}

// Starts what the options print_stats* ask for. Samples by the clock alone do not need counting.
TALUS_START void prepare_statistics() noexcept {
  if (is_trigger_on(each_bytes)) {
    counting::tell_each(options.print_stats_bytes, print_as_options_say);
  }
  if (is_trigger_on(at_exit) || is_trigger_on(each_bytes)) start_counting();
}
TALUS_START void start_clock_samples() noexcept {
  begin_clock_samples();
  if (has_clock_samples()) start_helper();
}

TALUS_START void process_starts() noexcept {
  if (process_life.has_started.load_init()) return;
  process_life.has_started.store_init(true);
  process_started_ns.store_init(os::System::now_ns());
  report::shared_last_act.store_init(&reported::begin);
  configure_process();
  find_limits();
  start_provider(warn_once);
  if (own_configuration.told.has_new() && !os::System::is_secure() && !may_be_unloaded()) {
    hand_on_told_mistakes();
  }
  if (options.verbose) say_options();
  if (options.mode == HeapMode::checked) checked::begin();
  if (options.mode == HeapMode::hardened) hardened::begin();
  prepare_statistics();  // the order of the modes
  if (options.fill.kind != FillKind::none) start_fill();
  if (is_mapped(options.mode) || options.mode == HeapMode::hardened) start_mapped();
  if (options.profile != 0) profile::begin(options.profile);
  if (options.guard != 0) start_guarded();
  if (options.guard_pages) bound_guards();
  if (options.observers == Observers::any) os::System::admit_observers();
  watch_forks();
  if (gives_memory_back() || has_clock_samples()) allow_helper();
  start_clock_samples();
}

// Code that stays loaded may leave a running helper behind. The helper may wait for a lock of its
// ender, which calls exit in a signal handler. Other threads may also end in this code.
inline constexpr uint64_t exit_patience_ms = 200;

TALUS_START void process_ends() noexcept {
  if (process_life.has_ended.load_init()) return;
  process_life.has_ended.store_init(true);
  if (options.mode == HeapMode::hardened) hardened::prove_waiting();
  const bool is_left = may_be_unloaded();
  if (is_left) forget_faults();
  end_helper_for_ever(is_left ? helper_patience_ms : exit_patience_ms);
  if (is_trigger_on(at_exit)) print_as_options_say();
  if (is_left) forget_threads();
}

}  // namespace talus::core

#endif  // TALUS_PROCESS_START_HPP
