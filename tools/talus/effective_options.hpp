// SPDX-License-Identifier: MIT
//
// Owns: the options in effect for a process, running or not yet started, each with its source.
// Invariant: computed by the code that runs inside libtalus.so (process/configuration.hpp), so
// list and library agree; files are read as they are now, which a process may have read before.
// Must not know: how a process is looked at.

#ifndef TALUS_TOOLS_TALUS_EFFECTIVE_OPTIONS_HPP
#define TALUS_TOOLS_TALUS_EFFECTIVE_OPTIONS_HPP

#include <optional>
#include <string>
#include <vector>

namespace talus::tool {

// What the options of a process depend on.
struct ProcessFacts {
  std::vector<std::string> environment;     // NAME=value
  std::optional<std::string> program_text;  // talus_options
  std::string called_as;                    // the path that was executed; empty: not known
  std::string file;                         // the executable's path; of a script the interpreter's
  std::string root;                         // in front of paths of files
  unsigned user_id = 0;                     // the effective one
  bool is_secure = false;                   // AT_SECURE
};

struct EffectiveOption {
  std::string name;
  std::string value;
  std::string source;  // "environment", "preset tiny, /etc/talus.conf:3"
  bool is_for_files;   // a file can say the same
};

struct LookedAtFile {
  std::string path;
  std::string state;  // "read", "absent", or why it was left out
};

struct EffectiveOptions {
  std::vector<EffectiveOption> options;
  std::vector<LookedAtFile> files;
  std::vector<std::string> warnings;  // as the process says them
};

EffectiveOptions find_effective_options(const ProcessFacts& facts);

// For `talus check`: one line per option, then one per mistake.
void print_effective_options(const ProcessFacts& facts);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_EFFECTIVE_OPTIONS_HPP
