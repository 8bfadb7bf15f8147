// SPDX-License-Identifier: MIT
//
// Owns: the facts about an ELF file that the command needs: its loader, its libraries, and the
// Talus note. The note is section .note.talus, owner "Talus", type 1. Its descriptor is the version
// string with its terminating zero.
// Invariant: the file is not trusted. Each offset and size is checked against the file before use,
// and a damaged part reads as absent.
// Must not know: processes, environments, or why a file is read.

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
  std::string interpreter;  // the loader; empty: a static program or a library
  std::vector<std::string> needed;
  std::string soname;
  std::optional<std::string> talus_version;  // of the embedded Talus, if any
};

// Nothing if the file cannot be read or is not an ELF file. A 32-bit or big-endian file has only
// its class and its machine.
std::optional<ElfFacts> read_elf(const std::string& path);

// Whether the file defines a function `name` that other objects can bind to. Nothing if the file
// has no section table.
std::optional<bool> defines_function(const std::string& path, const std::string& name);

// The places where a loaded file keeps the addresses of a function that the loader resolved.
struct FunctionSlots {
  uint64_t first_address = 0;       // of the first page, before relocation
  std::vector<uint64_t> addresses;  // before relocation
};

// No slots if the file is damaged or does not import the function `name`.
FunctionSlots slots_of_function(const std::string& path, const std::string& name);

// Which symbols count: those that other objects can bind to, or all in the file's tables.
enum class SymbolScope { exported, any };

// The zero-terminated text at the start of the char array `name`. Nothing if the file does not
// define or does not list it.
std::optional<std::string> read_text_symbol(const std::string& path, const std::string& name,
                                            SymbolScope scope);

// A function in the symbol tables of a file, as they are before relocation.
struct FunctionSymbol {
  uint64_t begin, end;
  std::string name;
};

// The functions that the file defines, by address: of its whole symbol table, or where it has none,
// of what other objects can bind to. Nothing if the file cannot be read or is not an ELF file.
std::optional<std::vector<FunctionSymbol>> functions_of(const std::string& path);

// A shared library for this machine that seems to provide malloc.
bool is_preloadable_allocator(const std::string& path);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_ELF_FILE_HPP
