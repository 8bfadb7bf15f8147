// SPDX-License-Identifier: MIT
//
// Owns: the PATH search and the reading of a program's first bytes, see program.hpp. The command
// does its own search instead of execvp's, because it inspects the program before the start.
// Invariant: answers that decide the exit status match a POSIX shell. A file without execute
// permission is remembered but does not end the search.
// Must not know: what is done with the answer.

#include "program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace talus::tool {
namespace {

ProgramSearch look_at(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    return errno == EACCES ? ProgramSearch::not_executable : ProgramSearch::missing;
  }
  if (!S_ISREG(status.st_mode)) return ProgramSearch::not_executable;
  return ::eaccess(path.c_str(), X_OK) == 0 ? ProgramSearch::found : ProgramSearch::not_executable;
}

struct Interpreter {
  std::string path;      // empty: the file is not a script
  std::string argument;  // at most one word
};

// The interpreter in a first line "#! path argument".
Interpreter script_interpreter(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char start[256] = {};
  file.read(start, sizeof start - 1);
  const std::string text(start, static_cast<size_t>(file.gcount()));
  if (text.rfind("#!", 0) != 0) return {};
  std::istringstream words(text.substr(2, text.find('\n') - 2));
  Interpreter interpreter;
  words >> interpreter.path >> interpreter.argument;
  return interpreter;
}

// `#! /usr/bin/env python3` becomes python3 as found in the PATH.
std::string program_of_env(const Interpreter& interpreter) {
  const bool is_env = std::filesystem::path(interpreter.path).filename() == "env";
  const std::string& name = interpreter.argument;
  if (!is_env || name.empty() || name[0] == '-' || name.find('=') != std::string::npos) return {};
  const ProgramPath found = find_program(name);
  return found.search == ProgramSearch::found ? found.path : "";
}

// A loader has no interpreter but honours LD_PRELOAD when it is run as a program.
bool is_loader(const ElfFacts& facts) { return facts.soname.rfind("ld-", 0) == 0; }

ProgramKind kind_of_image(const std::string& path, const std::optional<ElfFacts>& facts) {
  if (!facts) return ProgramKind::unknown;
  if (!facts->is_64_bit || facts->machine != own_machine) return ProgramKind::foreign;
  if (facts->interpreter.empty() && !is_loader(*facts)) {
    return facts->talus_version ? ProgramKind::embedded : ProgramKind::fixed;
  }
  return gains_privileges(path) ? ProgramKind::secure : ProgramKind::dynamic;
}

std::string machine_name(const ElfFacts& facts) {
  switch (facts.machine) {
    case EM_386:
      return "32-bit x86";
    case EM_X86_64:
      return facts.is_64_bit ? "x86-64" : "x32";
    case EM_ARM:
      return "32-bit ARM";
    case EM_AARCH64:
      return facts.is_64_bit ? "AArch64" : "32-bit AArch64";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "POWER";
    case EM_S390:
      return "S/390";
    default:
      return fmt::format("the ELF machine {}", facts.machine);
  }
}

std::string own_machine_name() {
  ElfFacts own;
  own.is_64_bit = true;
  own.machine = own_machine;
  return machine_name(own);
}

bool is_readable(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

}  // namespace

// A set-user-ID program of the current user gains no privileges.
bool gains_privileges(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::getuid()) return true;
  const mode_t set_group = S_ISGID | S_IXGRP;
  if ((status.st_mode & set_group) == set_group && status.st_gid != ::getgid()) return true;
  const bool has_capabilities = ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  return has_capabilities && ::getuid() != 0;
}

ProgramPath find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return {look_at(name), name};
  if (name.empty()) return {ProgramSearch::missing, name};
  const char* const path = std::getenv("PATH");
  std::string_view folders = path != nullptr ? path : "/bin:/usr/bin";
  ProgramPath result{ProgramSearch::missing, name};
  for (;;) {
    const size_t end = folders.find(':');
    const std::string folder(folders.substr(0, end));
    const std::string candidate = folder.empty() ? "./" + name : folder + "/" + name;
    const ProgramSearch search = look_at(candidate);
    if (search == ProgramSearch::found) return {search, candidate};
    // A folder, or a file in a folder without search permission, is not the wanted program.
    std::error_code error;
    if (search == ProgramSearch::not_executable &&
        std::filesystem::is_regular_file(candidate, error)) {
      result = {search, candidate};
    }
    if (end == std::string_view::npos) return result;
    folders.remove_prefix(end + 1);
  }
}

// Follows the kernel's rules. For files that the kernel refuses it follows the rules of `talus
// run`.
Program inspect_program(const std::string& path) {
  constexpr int interpreters_max = 5;  // the kernel's limit
  Program program{ProgramKind::unknown, path, path, {}};
  for (int i = 0; i <= interpreters_max; i++) {
    program.facts = read_elf(program.image);
    if (program.facts || !is_readable(program.image)) break;
    const Interpreter interpreter = script_interpreter(program.image);
    const std::string executed = program_of_env(interpreter);
    if (interpreter.path.empty() && program.image == shell_path) break;
    if (interpreter.path.empty()) program.called_as = shell_path;
    if (!executed.empty()) program.called_as = executed;
    program.image = interpreter.path.empty() ? shell_path
                    : executed.empty()       ? interpreter.path
                                             : executed;
    if (i == interpreters_max) program.kind = ProgramKind::script;
  }
  if (program.kind != ProgramKind::script) {
    program.kind = kind_of_image(program.image, program.facts);
  }
  return program;
}

std::string why_not_preloadable(const Program& program) {
  switch (program.kind) {
    case ProgramKind::dynamic:
    case ProgramKind::embedded:
      return {};
    case ProgramKind::fixed:
      return fmt::format("{} is statically linked, nothing can be preloaded into it",
                         program.image);
    case ProgramKind::secure:
      return fmt::format(
          "{} gains privileges (set-user-ID, set-group-ID or capabilities), "
          "the loader ignores LD_PRELOAD there",
          program.image);
    case ProgramKind::foreign:
      return fmt::format("{} is built for {}, libtalus.so for {}", program.image,
                         machine_name(*program.facts), own_machine_name());
    case ProgramKind::script:
      return "its chain of script interpreters is longer than the kernel follows";
    case ProgramKind::unknown:
      return fmt::format("{} cannot be read, or is neither an ELF program nor a script",
                         program.image);
  }
  return {};
}

// A loader that is the program itself has no interpreter. Older loaders have a malloc of their own.
std::string why_passed_over(const Program& program) {
  if (program.kind != ProgramKind::dynamic || program.facts->interpreter.empty()) return {};
  if (defines_function(program.image, "malloc") != true) return {};
  return program.image + " defines a malloc of its own, which comes before any preloaded one";
}

// The functions that php exports identify it, whatever its file is called.
std::string what_ends_it(const Program& program) {
  const bool is_php = program.kind == ProgramKind::dynamic &&
                      defines_function(program.image, "zend_startup_module") == true;
  if (!is_php) return {};
  return program.image +
         " is php, which opens its extensions with RTLD_DEEPBIND: they keep the C library's "
         "malloc, and the process ends when a block passes between them; php -n opens none and "
         "runs";
}

}  // namespace talus::tool
