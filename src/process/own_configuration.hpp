// SPDX-License-Identifier: MIT
// process/own_configuration: this process's options, once.
//
// Owns: the moment when options are read: when the first thread gets its cache, as far as libc has
// an environment by then, else when the process starts. So they count from the first block on, for
// all but the little that the loader and libc themselves allocate before. Invariant: they are read
// once; a thread that comes meanwhile goes on with what there is, which is sound at any moment.
// Called on: any thread, in slow paths.
#ifndef TALUS_PROCESS_OWN_CONFIGURATION_HPP
#define TALUS_PROCESS_OWN_CONFIGURATION_HPP

#include <sys/auxv.h>
#include <unistd.h>

#include "heap/registry.hpp"
#include "os/text.hpp"
#include "process/configuration.hpp"

extern "C" {
// The program's own options, if it has some: see talus.h.
extern const char talus_options[] __attribute__((weak, visibility("default")));
}

namespace talus {

inline Atomic<uint32_t> configuration_is_read;

inline void warn(const char* line) noexcept {
  TextBuffer<option_warning_bytes_max + 2> text;
  text.put(line).put("\n");
  os::System::write_error(text.data(), text.length());
}

TALUS_START void read_own_configuration() noexcept {
  ConfigurationFacts facts;
  facts.environment = environ;
  facts.program_text = talus_options;
  facts.called_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  facts.user_id = static_cast<uint32_t>(getauxval(AT_EUID));
  facts.is_secure = os::System::is_secure();
  configure(facts, OptionTarget{options, option_origins}, warn);
  if (options.list_bytes != list_bytes_max) bound_lists(options.list_bytes);
  if (options.libc_calls) os::page_watch.go_by_libc();
}

// Only the first call does anything.
TALUS_START void configure_process() noexcept {
  if (configuration_is_read.load_relaxed() != 0) return;  // [hint] asked again
  uint32_t unread = 0;
  if (configuration_is_read.cas_acq_rel(unread, 1)) read_own_configuration();
}

}  // namespace talus

#endif  // TALUS_PROCESS_OWN_CONFIGURATION_HPP
