// SPDX-License-Identifier: MIT
//
// Owns: one object file with the option parser in it, and with the reading of files, compiled with
// the library's flags. The table test reads its undefined symbols: neither may reach into libc.
// Invariant: everything of configuration.hpp that the library calls is called here.
// Must not know: anything; it is never linked or run.

#include "configuration/configuration.hpp"

talus::OptionsResult probe_parse(const char* const* envp, talus::Options& out,
                                 talus::WarningSink sink) {
  return talus::parse_options(envp, out, sink);
}

std::size_t probe_format(const talus::Options& options, std::size_t index, char* buffer,
                         std::size_t bytes) {
  return talus::format_option_value(options, talus::option_rows[index], buffer, bytes);
}

talus::ConfigurationResult probe_configure(const talus::ConfigurationFacts& facts,
                                           talus::OptionTarget target, talus::WarningSink sink) {
  return talus::configure(facts, target, sink);
}
