// SPDX-License-Identifier: MIT
// os/own_object: whether this code is part of the program, or of an object loaded beside it.
//
// Owns: nothing. The kernel gives the address of the program's segment headers, and the linker
// gives the address of the ELF header of the object that contains this code. Two other ways do not
// work. The value of __dso_handle identifies a program only at a fixed address. The first object of
// dl_iterate_phdr may be a plugin in a namespace of its own (dlmopen). A program started through
// its loader (ld.so program) is recognised, too, because the loader corrects the kernel's value.
// Where the loader does not, this code counts as loaded beside. Called on: any thread, at any time,
// also before libc is ready. Format: System V gABI, "Object files"; getauxval(3).
#ifndef TALUS_OS_OWN_OBJECT_HPP
#define TALUS_OS_OWN_OBJECT_HPP

#include <elf.h>
#include <sys/auxv.h>

#include "base/base.hpp"

extern "C" {
// Defined by the linker where the header is in memory; null elsewhere.
extern const Elf64_Ehdr __ehdr_start __attribute__((weak, visibility("hidden")));
}

namespace talus::core::os {

// True: part of the program that the process was started for, so the code stays until the process
// ends.
TALUS_COLD bool is_in_program() noexcept {
  if (&__ehdr_start == nullptr) return false;
  return reinterpret_cast<uintptr_t>(&__ehdr_start) + __ehdr_start.e_phoff == getauxval(AT_PHDR);
}

}  // namespace talus::core::os

#endif  // TALUS_OS_OWN_OBJECT_HPP
