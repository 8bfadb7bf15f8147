// SPDX-License-Identifier: MIT
// os/own_object: whether this code is part of the program, or of an object loaded beside it.
//
// Owns: nothing but the question. The kernel says where the program's segments are described, and
// the linker where the ELF header of the object begins that this is linked into. Not asked: the
// value of __dso_handle, which tells a program only if that has a fixed address; the first object
// of dl_iterate_phdr, which in a namespace of its own (dlmopen) may be a plugin. A program that is
// started by way of its loader (ld.so program) is told, too: the loader corrects what the kernel
// said; where one does not, this code counts as loaded beside. Called on: any thread, at any time,
// also before libc is ready. Format: System V gABI, "Object files"; getauxval(3).
#ifndef TALUS_OS_OWN_OBJECT_HPP
#define TALUS_OS_OWN_OBJECT_HPP

#include <elf.h>
#include <sys/auxv.h>

#include "base/base.hpp"

extern "C" {
// By the linker, where the header is in memory; null elsewhere.
extern const Elf64_Ehdr __ehdr_start __attribute__((weak, visibility("hidden")));
}

namespace talus::os {

// Of the program that the process was started for: it stays until the process ends.
TALUS_COLD bool is_in_program() noexcept {
  if (&__ehdr_start == nullptr) return false;
  return reinterpret_cast<uintptr_t>(&__ehdr_start) + __ehdr_start.e_phoff == getauxval(AT_PHDR);
}

}  // namespace talus::os

#endif  // TALUS_OS_OWN_OBJECT_HPP
