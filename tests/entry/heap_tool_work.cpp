// SPDX-License-Identifier: MIT
// tests/entry/heap_tool_work: C++ that allocates, with or without a heap tool before Talus.
//
// As the first argument says: `counts` prints how many blocks of operator new and delete the
// preloaded tool saw (heap_tool.c). `patches` counts the same by functions that it writes into the
// tables of libtalus.so while it runs, as memray does, and takes out again. `mismatches` passes a
// block of new to free. The mode `checked` reports that, unless the block came from a tool.
// One thread, then a second one that begins under the tool.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

namespace {

constexpr size_t bytes = 1104, aligned_bytes = 1280, alignment = 64;
constexpr unsigned rounds = 500;  // more than any list of a thread holds

// The compiler may leave out pairs of new and delete, but not calls by these.
void* (*volatile make)(size_t) = static_cast<void* (*)(size_t)>(&::operator new);
void* (*volatile make_array)(size_t, const std::nothrow_t&) = &::operator new[];
void* (*volatile make_aligned)(size_t, std::align_val_t) = &::operator new;
void (*volatile end)(void*) = static_cast<void (*)(void*)>(&::operator delete);
void (*volatile end_sized)(void*, size_t) = &::operator delete;
void (*volatile end_aligned)(void*, std::align_val_t) = &::operator delete;

// 2 * rounds blocks, rounds / 10 aligned ones; all are freed.
void work() {
  std::vector<void*> blocks, arrays;
  for (unsigned i = 0; i < rounds; i++) {
    blocks.push_back(make(bytes));
    arrays.push_back(make_array(bytes, std::nothrow));
    std::memset(blocks.back(), 1, bytes);
    if (i % 10 == 0)
      end_aligned(make_aligned(aligned_bytes, std::align_val_t{alignment}),
                  std::align_val_t{alignment});
  }
  for (void* block : blocks) end(block);
  for (void* block : arrays) end_sized(block, bytes);
}
void work_twice() {
  work();
  std::thread{work}.join();
}

unsigned number(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  return found == nullptr ? 0 : *static_cast<unsigned*>(found);
}

// What a patch calls in place of these names.
unsigned made, made_aligned, freed;
void* (*real_malloc)(size_t);
void* (*real_aligned_alloc)(size_t, size_t);
void (*real_free)(void*);
std::vector<void*> kept;
thread_local bool is_inside;

void keep(void* block) {
  is_inside = true;
  kept.push_back(block);
  is_inside = false;
}
void* patched_malloc(size_t wanted) {
  void* block = real_malloc(wanted);
  if (wanted == bytes && !is_inside) {
    made++;
    keep(block);
  }
  return block;
}
void* patched_aligned_alloc(size_t at, size_t wanted) {
  void* block = real_aligned_alloc(at, wanted);
  made_aligned += wanted == aligned_bytes;
  if (wanted == aligned_bytes) keep(block);
  return block;
}
void patched_free(void* block) {
  for (size_t i = kept.size(); block != nullptr && !is_inside && i > 0; i--) {
    if (kept[i - 1] != block) continue;
    freed++;
    kept[i - 1] = nullptr;
    break;
  }
  real_free(block);
}

struct Patch {
  const char* name;
  void* function;
};

// Writes each function to the words that the loader filled in for its name in libtalus.so.
int patch_object(dl_phdr_info* info, size_t, void* patches) {
  if (std::strstr(info->dlpi_name, "libtalus") == nullptr) return 0;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela)* relocations = nullptr;
  size_t count = 0;
  const auto at = [&](ElfW(Addr) address) {  // glibc has written whole addresses, musl has not
    return address < info->dlpi_addr ? address + info->dlpi_addr : address;
  };
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
      const ElfW(Addr) address = at(entry->d_un.d_ptr);
      if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address);
      if (entry->d_tag == DT_RELA) relocations = reinterpret_cast<const ElfW(Rela)*>(address);
      if (entry->d_tag == DT_RELASZ) count = entry->d_un.d_val / sizeof(ElfW(Rela));
    }
  }
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < count; i++) {
    const char* name = names + symbols[relocations[i].r_info >> 32].st_name;
    for (const Patch* patch = static_cast<const Patch*>(patches); patch->name != nullptr; patch++) {
      if (std::strcmp(name, patch->name) != 0) continue;
      const uintptr_t word = info->dlpi_addr + relocations[i].r_offset;
      mprotect(reinterpret_cast<void*>(word / page * page), 2 * page, PROT_READ | PROT_WRITE);
      *reinterpret_cast<void* volatile*>(word) = patch->function;
    }
  }
  return 0;
}
template <typename Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}
void patch(void* malloc_to, void* aligned_alloc_to, void* free_to) {
  Patch patches[] = {{"malloc", malloc_to},
                     {"aligned_alloc", aligned_alloc_to},
                     {"free", free_to},
                     {nullptr, nullptr}};
  dl_iterate_phdr(patch_object, patches);
}

void say(const char* when, unsigned seen, unsigned seen_aligned, unsigned ended) {
  std::printf("%s: made %u, aligned %u, freed %u\n", when, seen, seen_aligned, ended);
}

int count_patched() {
  real_malloc = reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_DEFAULT, "malloc"));
  real_aligned_alloc =
      reinterpret_cast<void* (*)(size_t, size_t)>(dlsym(RTLD_DEFAULT, "aligned_alloc"));
  real_free = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "free"));
  kept.reserve(1 << 16);
  work();
  say("before", made, made_aligned, freed);
  patch(address_of(&patched_malloc), address_of(&patched_aligned_alloc), address_of(&patched_free));
  // The tool is found when a list next runs empty.
  std::vector<void*> more;
  for (unsigned i = 0; i < 20 * rounds && made == 0; i++) more.push_back(make(bytes));
  say("found", made != 0, made_aligned, freed);
  made = made_aligned = freed = 0;
  work_twice();
  say("patched", made, made_aligned, freed);
  patch(address_of(real_malloc), address_of(real_aligned_alloc), address_of(real_free));
  made = made_aligned = freed = 0;
  work_twice();
  say("after", made, made_aligned, freed);
  for (void* block : more) end(block);
  return 0;
}

// A name whose address a program that is not position independent takes from itself.
void* (*volatile taken)(size_t) = &std::malloc;

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  if (std::strcmp(arguments[1], "patches") == 0) return count_patched();
  if (std::strcmp(arguments[1], "mismatches") == 0) {
    std::free(taken(1));
    std::free(make(bytes));
    return 0;
  }
  work_twice();
  say("counted", number("heap_tool_made"), number("heap_tool_made_aligned"),
      number("heap_tool_freed"));
  return 0;
}
