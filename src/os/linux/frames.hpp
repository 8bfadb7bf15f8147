// SPDX-License-Identifier: MIT
// os/linux/frames: what a walk through a stack asks of the kernel.
//
// Owns: nothing. Contract: os/contract.hpp, the group frames. The kernel copies the mask of
// rt_sigprocmask before it refuses the unknown operation, so its answer says whether the mask can
// be read. Nearly all sandboxes let the call pass. Called on: any thread. Must not know: its
// callers.
#ifndef TALUS_OS_LINUX_FRAMES_HPP
#define TALUS_OS_LINUX_FRAMES_HPP

#include <elf.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "os/linux/kernel_call.hpp"
#include "os/linux/vdso.hpp"

namespace talus::core::os {

struct LinuxFrames : KernelCall {
  static constexpr bool has_frames = true;

  static bool is_readable(const void* word) noexcept {
    constexpr long unknown_operation = -1;
    const long result =
        call(SYS_rt_sigprocmask, unknown_operation, to_long(word), 0, sizeof(uint64_t));
    return result == invalid_argument;
  }
  // The kernel lays the random bytes above the first frame.
  static uintptr_t first_stack_end() noexcept { return getauxval(AT_RANDOM); }
  static uintptr_t kernel_image() noexcept { return getauxval(AT_SYSINFO_EHDR); }
  // The kernel tells where the program's segments are listed, which is behind its head.
  static uintptr_t program_image() noexcept {
    return round_down(getauxval(AT_PHDR), getauxval(AT_PAGESZ));
  }
  // The loader lists its objects for debuggers. Those of the start come first, and never go.
  TALUS_APART static uintptr_t libc_function(const char* name) noexcept {
    const uintptr_t list = find_in_image(vdso_tables(getauxval(AT_BASE)), "_r_debug");
    if (list == 0) return 0;
    const LoadedObject* object = reinterpret_cast<const LoadedObjects*>(list)->first;
    while (object != nullptr && !is_libc(object->path)) object = object->next;
    if (object == nullptr) return 0;
    VdsoTables tables;
    tables.bias = object->bias;
    add_tables(object->dynamic, tables);
    return find_in_image(tables, name);
  }

 private:
  struct LoadedObject {  // link.h: link_map
    uintptr_t bias;
    const char* path;
    const Elf64_Dyn* dynamic;
    const LoadedObject* next;
  };
  struct LoadedObjects {  // link.h: r_debug
    int version;
    const LoadedObject* first;
  };
  static bool is_libc(const char* path) noexcept {
    const char* file = path;
    for (; path != nullptr && *path != '\0'; path++) file = *path == '/' ? path + 1 : file;
    return file != nullptr && is_same_text(file, "libc.so.6");
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_FRAMES_HPP
