// SPDX-License-Identifier: MIT
// configuration/own_configuration: reads this process's options, once.
//
// It reads them when the first thread gets its cache, if libc has an environment by then. Otherwise
// it reads them when the process starts. So options hold from the first block on. The exception is
// the little that the loader and libc allocate before.
//
// Owns: the moment of reading. Invariant: options are read once. A thread that comes meanwhile uses
// the present values, which are sound at any moment. Called on: any thread, in slow paths.
#ifndef TALUS_CONFIGURATION_OWN_CONFIGURATION_HPP
#define TALUS_CONFIGURATION_OWN_CONFIGURATION_HPP

#include <sys/auxv.h>
#include <unistd.h>

#include "base/base.hpp"
#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "os/text.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/registry.hpp"
#include "paths/alloc.hpp"
#include "configuration/configuration.hpp"
#include "configuration/option_target.hpp"
#include "configuration/told_mistakes.hpp"

extern "C" {
// The program's own options, if it defines them: see talus.h.
extern const char talus_options[] __attribute__((weak, visibility("default")));
}

namespace talus::core {

// What the process has read of its options.
struct OwnConfiguration {
  Atomic<uint32_t> shared_is_read;     // not 0: a thread reads the options, or has read them
  ToldMistakes told;                   // mistakes that this process or an ancestor wrote
  bool is_told_variable_read = false;  // whether `told` has what the ancestors wrote
};
TALUS_CONSTINIT inline OwnConfiguration own_configuration;

inline void warn(const char* line) noexcept {
  TextBuffer<option_warning_bytes_max + 2> text;
  text.put(line).put("\n");
  os::System::write_error(text.data(), text.length());
}

// Does not repeat a warning that an ancestor process wrote.
TALUS_COLD void warn_once(const char* line) noexcept {
  if (!own_configuration.is_told_variable_read) {
    own_configuration.is_told_variable_read = true;
    const bool is_listened_to = environ != nullptr && !os::System::is_secure();
    for (char** variable = environ; is_listened_to && *variable != nullptr; variable++) {
      const char* value = environment_value(*variable, told_variable);
      if (value == nullptr) continue;
      own_configuration.told.inherit(value);
      break;
    }
  }
  if (own_configuration.told.is_new(line)) warn(line);
}

// Makes a new environment: the present one has no room, and belongs to the C library. Code that may
// be unloaded must not do this, because the program would keep a pointer into it.
TALUS_COLD void hand_on_told_mistakes() noexcept {
  ToldText text;
  own_configuration.told.put(text);
  size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) count++;
  const size_t pointers = (count + 2) * sizeof(char*);
  void* const block = allocate(pointers + text.length() + 1);
  if (block == nullptr) return;
  char** const variables = static_cast<char**>(block);
  char* const variable = static_cast<char*>(block) + pointers;
  for (size_t i = 0; i <= text.length(); i++) variable[i] = text.data()[i];
  size_t used = 0;
  variables[used++] = variable;
  for (size_t i = 0; i < count; i++) {
    if (environment_value(environ[i], told_variable) == nullptr) variables[used++] = environ[i];
  }
  variables[used] = nullptr;
  environ = variables;
}

TALUS_START void start_at_random() noexcept {
  const bool has_seed = options.random != 1;
  const uint64_t bits = has_seed ? mix_bits(options.random) : os::System::random_bits();
  Held held{space.lock()};
  space.start_at_random(held, bits);
}

TALUS_START void read_own_configuration() noexcept {
  ConfigurationFacts facts;
  facts.environment = environ;
  facts.program_text = talus_options;
  facts.called_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  facts.user_id = static_cast<uint32_t>(getauxval(AT_EUID));
  facts.is_secure = os::System::is_secure();
  configure(facts, OptionTarget{options, option_origins}, warn_once);
  if (options.list_bytes != list_bytes_max) bound_lists(options.list_bytes);
  if (options.random != 0) start_at_random();
  if (options.libc_calls) os::page_watch.go_by_libc();
}

// Only the first call has an effect.
TALUS_START void configure_process() noexcept {
  if (own_configuration.shared_is_read.load_hint() != 0) return;  // the CAS rechecks
  uint32_t unread = 0;
  if (own_configuration.shared_is_read.cas_acq_rel(unread, 1)) read_own_configuration();
}

}  // namespace talus::core

#endif  // TALUS_CONFIGURATION_OWN_CONFIGURATION_HPP
