// SPDX-License-Identifier: MIT
// os/linux/vdso: the clock of the kernel's own library, which is mapped into each process.
//
// Owns: the look-up of one function in that ELF image. The clock is read under locks. The C
// library's clock_gettime may be wrapped by a preloaded library that allocates (a faked time, a
// profiler), so it must not be called. Called on: any thread, at any time; threads that come first
// at the same time find the same answer. Format: System V gABI, "Object files"; vdso(7).
#ifndef TALUS_OS_LINUX_VDSO_HPP
#define TALUS_OS_LINUX_VDSO_HPP

#include <elf.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/base.hpp"

namespace talus::core::os {

using ClockFunction = int (*)(clockid_t clock, timespec* now);

TALUS_START bool is_same_text(const char* left, const char* right) noexcept {
  while (*left != '\0' && *left == *right) left++, right++;
  return *left == *right;
}

#if defined(__s390x__)
using HashWord = uint64_t;  // alone among the processors
#else
using HashWord = uint32_t;
#endif

// The tables of the image that a look-up needs.
struct VdsoTables {
  uintptr_t bias = 0;  // address in memory less address in the file
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const HashWord* hash = nullptr;      // DT_HASH: buckets, then chains; the chains count symbols
  const uint32_t* gnu_hash = nullptr;  // DT_GNU_HASH, used where there is no DT_HASH
};

// What the dynamic section of an image says. Loaders write addresses there; the kernel leaves
// offsets.
TALUS_START void add_tables(const Elf64_Dyn* entry, VdsoTables& tables) noexcept {
  for (; entry != nullptr && entry->d_tag != DT_NULL; entry++) {
    const bool is_address = tables.bias != 0 && entry->d_un.d_ptr >= tables.bias;
    const uintptr_t at = entry->d_un.d_ptr + (is_address ? 0 : tables.bias);
    if (entry->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const Elf64_Sym*>(at);
    if (entry->d_tag == DT_STRTAB) tables.names = reinterpret_cast<const char*>(at);
    if (entry->d_tag == DT_HASH) tables.hash = reinterpret_cast<const HashWord*>(at);
    if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = reinterpret_cast<const uint32_t*>(at);
  }
}
TALUS_START VdsoTables vdso_tables(uintptr_t base) noexcept {
  VdsoTables tables;
  if (base == 0) return tables;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(base);
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(base + header->e_phoff);
  const Elf64_Dyn* entry = nullptr;
  for (unsigned i = 0; i < header->e_phnum; i++) {
    if (segments[i].p_type == PT_LOAD && tables.bias == 0) {
      tables.bias = base + segments[i].p_offset - segments[i].p_vaddr;
    } else if (segments[i].p_type == PT_DYNAMIC) {
      entry = reinterpret_cast<const Elf64_Dyn*>(tables.bias + segments[i].p_vaddr);
    }
  }
  add_tables(entry, tables);
  return tables;
}

TALUS_START uint32_t vdso_symbol_count(const VdsoTables& tables) noexcept {
  if (tables.hash != nullptr) return static_cast<uint32_t>(tables.hash[1]);
  if (tables.gnu_hash == nullptr) return 0;
  // The last chain ends with the last symbol; its last entry has the lowest bit set.
  const uint32_t bucket_count = tables.gnu_hash[0], first = tables.gnu_hash[1];
  const uint32_t* buckets = tables.gnu_hash + 4 + tables.gnu_hash[2] * 2;
  const uint32_t* chains = buckets + bucket_count;
  uint32_t last = 0;
  for (uint32_t i = 0; i < bucket_count; i++) {
    if (buckets[i] > last) last = buckets[i];
  }
  if (last < first) return 0;
  while ((chains[last - first] & 1) == 0) last++;
  return last + 1;
}

// The address of a name; 0: the image does not define it.
TALUS_COLD uintptr_t find_in_image(const VdsoTables& tables, const char* name) noexcept {
  if (tables.symbols == nullptr || tables.names == nullptr) return 0;
  const uint32_t count = vdso_symbol_count(tables);
  for (uint32_t i = 0; i < count; i++) {
    const Elf64_Sym& symbol = tables.symbols[i];
    const char* found = tables.names + symbol.st_name;
    if (symbol.st_shndx == SHN_UNDEF) continue;
    if (is_same_text(found, name)) return tables.bias + symbol.st_value;
  }
  return 0;
}

// The kernel's clock_gettime; null: this kernel has none.
TALUS_COLD ClockFunction find_vdso_clock() noexcept {
  const VdsoTables tables = vdso_tables(getauxval(AT_SYSINFO_EHDR));
  uintptr_t found = find_in_image(tables, "__vdso_clock_gettime");
  if (found == 0) found = find_in_image(tables, "__kernel_clock_gettime");
  return reinterpret_cast<ClockFunction>(found);
}

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_VDSO_HPP
