// SPDX-License-Identifier: MIT
//
// Owns: finding a program as the shell would (PATH, not found, not executable) and telling whether
// a preloaded library can act in it: static programs have no loader, privileged ones ignore
// LD_PRELOAD, and of a script the interpreter is what counts.
// Invariant: looks only; starts nothing and changes nothing.
// Must not know: options, or where libtalus.so lies.

#ifndef TALUS_TOOLS_TALUS_PROGRAM_HPP
#define TALUS_TOOLS_TALUS_PROGRAM_HPP

#include <optional>
#include <string>

#include "elf_file.hpp"

namespace talus::tool {

enum class ProgramSearch { found, missing, not_executable };

struct ProgramPath {
  ProgramSearch search;
  std::string path;  // the file to execute, or the one that was in the way
};

// With a slash in it a name is a path; else each folder of PATH is tried.
ProgramPath find_program(const std::string& name);

enum class ProgramKind {
  dynamic,   // has a loader, which honours LD_PRELOAD
  embedded,  // nothing to preload, but Talus is linked into it
  fixed,     // static: nothing can be preloaded
  secure,    // gains privileges when started: the loader ignores LD_PRELOAD
  foreign,   // for another machine or word size than the library
  script,    // scripts, more in a row than the kernel follows
  unknown    // could not be read
};

struct Program {
  ProgramKind kind;
  std::string image;              // the file the kernel will load: the program or its interpreter
  std::string called_as;          // the path the kernel tells the process: of a script its own
  std::optional<ElfFacts> facts;  // of the image
};

// What reads a file that is neither ELF nor a script with #!, as in every shell.
constexpr const char* shell_path = "/bin/sh";

// `path` is what find_program found. Follows #! as far as the kernel does, and env to its program.
Program inspect_program(const std::string& path);

// The kernel tells the loader and Talus to be careful (AT_SECURE) when the user, group or
// capabilities of an executable file are not simply ours.
bool gains_privileges(const std::string& path);

// Why a preloaded library will not act in such a program, in words; empty where it will.
std::string why_not_preloadable(const Program& program);

// Why a preloaded malloc will not be found in a program that can be preloaded: it defines malloc
// itself, where the loader looks first. Empty where it does not.
std::string why_passed_over(const Program& program);

// What is known to end a program although Talus is active in it, in words; empty: nothing.
std::string what_ends_it(const Program& program);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROGRAM_HPP
