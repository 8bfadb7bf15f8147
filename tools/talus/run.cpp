// SPDX-License-Identifier: MIT
//
// Owns: `talus run`. It checks the settings, puts the library first in LD_PRELOAD and replaces this
// process with the program. It starts no shell, and without a leak check no child. So quoting, exit
// status, signals and the process id are the program's own.
// Invariant: the program's argv is the array that the command got. Nothing starts if a setting or
// the library is wrong.
// Must not know: what the options do.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "command.hpp"
#include "elf_file.hpp"
#include "library.hpp"
#include "loader_listing.hpp"
#include "profile/leak_check.hpp"
#include "program.hpp"
#include "setting.hpp"

namespace talus::tool {
namespace {

// Calls execve. A file that is neither ELF nor a script with #! is run by sh, as in every shell.
int execute(const std::string& path, bool is_elf, std::vector<char*> arguments) {
  arguments.push_back(nullptr);
  ::execve(path.c_str(), arguments.data(), environ);
  if (errno == ENOEXEC && !is_elf) {
    std::string shell = shell_path;
    std::string script = path;
    std::vector<char*> shell_arguments{shell.data(), script.data()};
    shell_arguments.insert(shell_arguments.end(), arguments.begin() + 1, arguments.end());
    ::execve(shell.c_str(), shell_arguments.data(), environ);
  }
  const int error = errno;
  complain(fmt::format("{}: {}", path, std::strerror(error)));
  return error == ENOENT ? exit_not_found : exit_not_executable;
}

// For another file the loader only prints a warning, and the program would run without Talus.
bool is_talus_library(const std::string& path) {
  const std::optional<ElfFacts> facts = read_elf(path);
  return facts && facts->is_64_bit && facts->machine == own_machine && facts->talus_version &&
         !facts->soname.empty();
}

// Warns of obstacles to Talus that do not stop the program. A file that cannot be read may still
// run.
void warn_of(const Program& program) {
  if (program.kind == ProgramKind::unknown || program.kind == ProgramKind::script) return;
  const bool is_embedded = program.facts && program.facts->talus_version;
  const std::string reason = why_not_preloadable(program);
  const std::string later = is_embedded ? "" : why_passed_over(program);
  if (program.kind == ProgramKind::foreign) {
    complain(fmt::format("warning: {}: if it runs here, it runs without Talus", reason));
  } else if (!reason.empty() || !later.empty()) {
    complain("warning: runs without Talus: " + reason + later);
  }
}

// glibc's loader skips a library that it cannot preload; musl's loader ends the program.
bool is_loadable(const Program& program, const std::string& preload) {
  if (program.kind != ProgramKind::dynamic || !has_musl_loader(program)) return true;
  return list_objects(program, preload).is_good;
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
    complain(fmt::format("{}: not a Talus library for this machine", library.path));
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
  warn_of(inspected);
  const auto is_without_extensions = [](const char* word) { return std::string(word) == "-n"; };
  const std::string end = what_ends_it(inspected);
  if (!end.empty() &&
      std::none_of(request.program.begin() + 1, request.program.end(), is_without_extensions)) {
    complain("warning: " + end);
  }
  const std::string preload = preload_with(library.path, std::getenv("LD_PRELOAD"));
  if (!is_loadable(inspected, preload)) {
    complain(fmt::format("{}: its loader {} could not load it with {}", inspected.image,
                         inspected.facts->interpreter, library.path));
    return exit_not_executable;
  }
  ::setenv("LD_PRELOAD", preload.c_str(), 1);
  const auto start = [&] {
    return execute(program.path, read_elf(program.path).has_value(), request.program);
  };
  return request.is_leak_check ? run_with_leak_check(start) : start();
}

}  // namespace talus::tool
