// SPDX-License-Identifier: MIT
//
// Owns: `talus run`: checks the settings, puts the library in front of LD_PRELOAD and replaces
// this process by the program. No shell and no child stand between, so quoting, exit status,
// signals and the process id are the program's own.
// Invariant: argv of the program is the very array given to us; nothing is started if anything
// about the settings or the library is wrong.
// Must not know: what the options do.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "command.hpp"
#include "elf_file.hpp"
#include "library.hpp"
#include "program.hpp"
#include "setting.hpp"

namespace talus::tool {
namespace {

// execve, and for a file that is neither ELF nor #! what every shell does: sh reads it.
int execute(const std::string& path, std::vector<char*> arguments) {
  arguments.push_back(nullptr);
  ::execve(path.c_str(), arguments.data(), environ);
  if (errno == ENOEXEC) {
    std::string shell = "/bin/sh";
    std::string script = path;
    std::vector<char*> shell_arguments{shell.data(), script.data()};
    shell_arguments.insert(shell_arguments.end(), arguments.begin() + 1, arguments.end());
    ::execve(shell.c_str(), shell_arguments.data(), environ);
  }
  const int error = errno;
  complain(fmt::format("{}: {}", path, std::strerror(error)));
  return error == ENOENT ? exit_not_found : exit_not_executable;
}

// The loader only grumbles at another file, and the program would run without Talus.
bool is_talus_library(const std::string& path) {
  const std::optional<ElfFacts> facts = read_elf(path);
  return facts && facts->is_64_bit && facts->machine == own_machine && facts->talus_version &&
         !facts->soname.empty();
}

}  // namespace

int run_program(const RunRequest& request) {
  if (!apply_settings(request.settings)) return exit_usage;
  const LibraryPath library = find_library(request.library);
  if (library.path.empty()) {
    complain(library.error);
    return exit_usage;
  }
  if (!is_talus_library(library.path)) {
    complain(fmt::format("{}: no Talus library of this machine", library.path));
    return exit_usage;
  }
  const std::string name = request.program.front();
  const ProgramPath program = find_program(name);
  if (program.search == ProgramSearch::missing) {
    complain(fmt::format("{}: not found", name));
    return exit_not_found;
  }
  if (program.search == ProgramSearch::not_executable) {
    complain(fmt::format("{}: not executable", program.path));
    return exit_not_executable;
  }
  const Program inspected = inspect_program(program.path);
  // A file of no known format will be read by sh, which can be preloaded.
  if (inspected.kind != ProgramKind::unknown && inspected.kind != ProgramKind::script) {
    const bool is_embedded = inspected.facts && inspected.facts->talus_version;
    const std::string reason = why_not_preloadable(inspected);
    const std::string later = is_embedded ? "" : why_passed_over(inspected);
    if (!reason.empty() || !later.empty())
      complain("warning: runs without Talus: " + reason + later);
  }
  const std::string preload = preload_with(library.path, std::getenv("LD_PRELOAD"));
  ::setenv("LD_PRELOAD", preload.c_str(), 1);
  return execute(program.path, request.program);
}

}  // namespace talus::tool
