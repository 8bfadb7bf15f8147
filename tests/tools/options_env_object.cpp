// SPDX-License-Identifier: MIT
//
// Owns: one object file with the option parser in it, and with the reading of files, compiled with
// the library's flags. The table test reads its undefined symbols: neither may reach into libc.
// Invariant: everything of configuration.hpp that the library calls is called here.
// Must not know: anything; it is never linked or run.

#include "configuration/configuration.hpp"

talus::core::OptionsResult probe_parse(const char* const* envp, talus::core::Options& out,
                                       talus::core::WarningSink sink) {
  return talus::core::parse_options(envp, out, sink);
}

std::size_t probe_format(const talus::core::Options& options, std::size_t index, char* buffer,
                         std::size_t bytes) {
  return talus::core::format_option_value(options, talus::core::option_rows[index], buffer, bytes);
}

talus::core::ConfigurationResult probe_configure(const talus::core::ConfigurationFacts& facts,
                                                 talus::core::OptionTarget target,
                                                 talus::core::WarningSink sink) {
  return talus::core::configure(facts, target, sink);
}
