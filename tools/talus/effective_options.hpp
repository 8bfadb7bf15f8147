// SPDX-License-Identifier: MIT
//
// Owns: the options in effect for a process, running or not yet started, each with its source.
// Invariant: the code that runs inside libtalus.so computes them (configuration/configuration.hpp),
// so the command and the library agree. Files are read as they are now; a running process may have
// read earlier contents.
// Must not know: how a process is inspected.

#ifndef TALUS_TOOLS_TALUS_EFFECTIVE_OPTIONS_HPP
#define TALUS_TOOLS_TALUS_EFFECTIVE_OPTIONS_HPP

#include <optional>
#include <string>
#include <vector>

namespace talus::tool {

// The facts that decide the options of a process.
struct ProcessFacts {
  std::vector<std::string> environment;     // NAME=value
  std::optional<std::string> program_text;  // talus_options
  std::string called_as;                    // the path that was executed; empty: not known
  std::string file;        // the executable's path; for a script, its interpreter's
  std::string root;        // prefix for the paths of files
  unsigned user_id = 0;    // the effective user
  bool is_secure = false;  // AT_SECURE
};

struct EffectiveOption {
  std::string name;
  std::string value;
  std::string source;  // "environment", "preset tiny, /etc/talus.conf:3"
  bool is_for_files;   // a configuration file can set the same
};

struct LookedAtFile {
  std::string path;
  std::string state;  // "read", "absent", or why the file was skipped
};

struct EffectiveOptions {
  std::vector<EffectiveOption> options;
  std::vector<LookedAtFile> files;
  std::vector<std::string> warnings;  // as the process prints them
};

EffectiveOptions find_effective_options(const ProcessFacts& facts);

// Prints one line for each option, then one for each mistake, for `talus check`.
void print_effective_options(const ProcessFacts& facts);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_EFFECTIVE_OPTIONS_HPP
