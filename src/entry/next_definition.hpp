// SPDX-License-Identifier: MIT
// entry/next_definition: finds a function in later objects, without the loader's lock.
//
// dlsym would wait while another thread opens a library, whose constructor may wait for this
// thread. dl_iterate_phdr waits only while the list of objects changes. The search ignores
// versions, so it serves only names that a libc defines once. It skips objects without a GNU hash
// table.
//
// Owns: a search through the loaded objects, in the order of the program's symbols. Called on: any
// thread. Allocates nothing, keeps errno. Must not know: what is looked for.
#ifndef TALUS_ENTRY_NEXT_DEFINITION_HPP
#define TALUS_ENTRY_NEXT_DEFINITION_HPP

#include <link.h>

#include "base/base.hpp"

namespace talus::core {

// GNU's table: a header of four words, a bloom filter, the first symbol of each bucket, and the
// hash of each symbol. The lowest bit of a hash is set in the last symbol of a bucket.
struct SymbolTable {
  const uint32_t* hashes = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;

  static uint32_t hash_of(const char* name) noexcept {
    uint32_t hash = 5381;
    for (; *name != '\0'; name++) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
  }
  static bool are_equal(const char* a, const char* b) noexcept {
    while (*a != '\0' && *a == *b) a++, b++;
    return *a == *b;
  }

  // The symbol's value in the file; 0: the object does not define it.
  TALUS_START uintptr_t find(const char* name) const noexcept {
    if (hashes == nullptr || symbols == nullptr || names == nullptr || hashes[0] == 0) return 0;
    const uint32_t bucket_count = hashes[0], first_hashed = hashes[1], bloom_words = hashes[2];
    const uint32_t* buckets = hashes + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t* chain = buckets + bucket_count;
    const uint32_t wanted = hash_of(name);
    uint32_t index = buckets[wanted % bucket_count];
    if (index < first_hashed) return 0;
    for (;; index++) {
      const uint32_t hash = chain[index - first_hashed];
      const ElfW(Sym)& symbol = symbols[index];
      const bool is_function = (symbol.st_info & 0xf) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
      if ((hash | 1) == (wanted | 1) && is_function && are_equal(names + symbol.st_name, name)) {
        return symbol.st_value;
      }
      if ((hash & 1) != 0) return 0;
    }
  }
};

struct DefinitionSearch {
  const char* name = nullptr;
  uintptr_t behind = 0;  // an address in the object after which the search begins
  bool has_passed = false;
  uintptr_t found = 0;
};

TALUS_START int look_into_object(dl_phdr_info* object, size_t, void* search_given) noexcept {
  auto& search = *static_cast<DefinitionSearch*>(search_given);
  const uintptr_t base = object->dlpi_addr;
  SymbolTable table;
  bool is_behind = search.has_passed;
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && search.behind - base - part.p_vaddr < part.p_memsz) {
      search.has_passed = true;
    }
    if (part.p_type != PT_DYNAMIC || !is_behind) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(base + part.p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
      // Some loaders write addresses here; others leave offsets.
      uintptr_t at = entry->d_un.d_ptr;
      if (at < base) at += base;
      if (entry->d_tag == DT_GNU_HASH) table.hashes = reinterpret_cast<const uint32_t*>(at);
      if (entry->d_tag == DT_SYMTAB) table.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (entry->d_tag == DT_STRTAB) table.names = reinterpret_cast<const char*>(at);
    }
  }
  const uintptr_t value = table.find(search.name);
  if (value != 0) search.found = base + value;
  return value != 0 ? 1 : 0;
}

// The first function of this name in the objects after the one that holds `behind`; 0: none.
TALUS_START uintptr_t next_definition(const char* name, const void* behind) noexcept {
  DefinitionSearch search{name, reinterpret_cast<uintptr_t>(behind)};
  dl_iterate_phdr(look_into_object, &search);
  return search.found;
}
// The same in all objects.
TALUS_START uintptr_t first_definition(const char* name) noexcept {
  DefinitionSearch search{name};
  search.has_passed = true;
  dl_iterate_phdr(look_into_object, &search);
  return search.found;
}

}  // namespace talus::core

#endif  // TALUS_ENTRY_NEXT_DEFINITION_HPP
