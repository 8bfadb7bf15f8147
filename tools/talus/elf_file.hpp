// SPDX-License-Identifier: MIT
//
// Owns: what the command needs to know about an ELF file: which loader it asks for, which
// libraries, and whether it carries Talus, told by a note (section .note.talus, owner "Talus",
// type 1, descriptor: the version string with its zero).
// Invariant: the file is never trusted: each offset and size is checked against the file before it
// is followed, and a damaged part reads as absent.
// Must not know: processes, environments, or why somebody asks.

#ifndef TALUS_TOOLS_TALUS_ELF_FILE_HPP
#define TALUS_TOOLS_TALUS_ELF_FILE_HPP

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace talus::tool {

#if defined(__x86_64__)
constexpr uint16_t own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t own_machine = EM_AARCH64;
#else
#error "the command is built for x86-64 and AArch64"
#endif

struct ElfFacts {
  bool is_64_bit = false;
  uint16_t machine = 0;     // EM_*
  std::string interpreter;  // the loader it asks for; empty: static, or a library
  std::vector<std::string> needed;
  std::string soname;
  std::optional<std::string> talus_version;  // of the Talus inside, if there is one
};

// Nothing if the file cannot be read or is no ELF file. Of a 32-bit or big-endian file only the
// class and the machine are told.
std::optional<ElfFacts> read_elf(const std::string& path);

// Whether other objects can bind to a function `name` that this file defines; nothing where the
// file has no section table to look it up in.
std::optional<bool> defines_function(const std::string& path, const std::string& name);

// Where a loaded file keeps the addresses of a function that the loader looked up for it.
struct FunctionSlots {
  uint64_t first_address = 0;       // of the first page, before it was moved
  std::vector<uint64_t> addresses;  // before they were moved
};

// No slots where the file is damaged, or calls no function `name` of others.
FunctionSlots slots_of_function(const std::string& path, const std::string& name);

// Which symbols count: those that other objects can bind to, or all that the file still lists.
enum class SymbolScope { exported, any };

// The zero-terminated text that an object `name`, an array of char, begins with; nothing where the
// file defines none, or none that is listed.
std::optional<std::string> read_text_symbol(const std::string& path, const std::string& name,
                                            SymbolScope scope);

// A shared library of this machine that, as far as can be told, brings malloc.
bool is_preloadable_allocator(const std::string& path);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_ELF_FILE_HPP
