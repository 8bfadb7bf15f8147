// SPDX-License-Identifier: MIT
//
// Owns: the search for a program as a shell does it (PATH, not found, not executable). Also whether
// a preloaded library can act in the program. Static programs have no loader, privileged programs
// ignore LD_PRELOAD, and for a script its interpreter counts.
// Invariant: only reads; starts nothing and changes nothing.
// Must not know: options, or the place of libtalus.so.

#ifndef TALUS_TOOLS_TALUS_PROGRAM_HPP
#define TALUS_TOOLS_TALUS_PROGRAM_HPP

#include <optional>
#include <string>

#include "elf_file.hpp"

namespace talus::tool {

enum class ProgramSearch { found, missing, not_executable };

struct ProgramPath {
  ProgramSearch search;
  std::string path;  // the file to execute, or the file that was refused
};

// A name with a slash is a path. Other names are searched in each folder of PATH.
ProgramPath find_program(const std::string& name);

enum class ProgramKind {
  dynamic,   // its loader honours LD_PRELOAD
  embedded,  // cannot be preloaded, but Talus is linked into it
  fixed,     // static: cannot be preloaded
  secure,    // gains privileges at its start: the loader ignores LD_PRELOAD
  foreign,   // for another machine or word size than the library's
  script,    // a chain of scripts longer than the kernel's limit
  unknown    // cannot be read
};

struct Program {
  ProgramKind kind;
  std::string image;              // the file the kernel will load: the program or its interpreter
  std::string called_as;          // the path the kernel passes to the process; for a script its own
  std::optional<ElfFacts> facts;  // of the image
};

// The reader of files that are neither ELF nor a script with #!, as in every shell.
constexpr const char* shell_path = "/bin/sh";

// `path` is a result of find_program. Follows #! as far as the kernel does, and env to its program.
Program inspect_program(const std::string& path);

// The kernel sets AT_SECURE for the loader and Talus when a file changes the user, the group or the
// capabilities.
bool gains_privileges(const std::string& path);

// The reason why a preloaded library will not act in the program; empty: it will.
std::string why_not_preloadable(const Program& program);

// The reason why the program will not use a preloaded malloc: it defines malloc itself, where the
// loader looks first. Empty: it will use it.
std::string why_passed_over(const Program& program);

// The known reason why the program will end although Talus is active in it; empty: none.
std::string what_ends_it(const Program& program);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROGRAM_HPP
