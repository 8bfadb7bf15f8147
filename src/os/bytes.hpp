// SPDX-License-Identifier: MIT
// os/bytes: copying, filling and clearing memory.
//
// Owns: nothing; names libc's memcpy, memmove and memset, which pick the best code for the CPU at
// run time and allocate nothing. Only this file does, so that the floors above include no libc
// header.
#ifndef TALUS_OS_BYTES_HPP
#define TALUS_OS_BYTES_HPP

#include <string.h>

namespace talus::core {

inline void copy_bytes(void* to, const void* from, size_t bytes) noexcept {
  memcpy(to, from, bytes);
}
// The two may overlap.
inline void move_bytes(void* to, const void* from, size_t bytes) noexcept {
  memmove(to, from, bytes);
}
inline void fill_bytes(void* at, unsigned char byte, size_t bytes) noexcept {
  memset(at, byte, bytes);
}
inline void clear_bytes(void* at, size_t bytes) noexcept { memset(at, 0, bytes); }
// A clear that the compiler may not drop, even if the bytes are never read afterwards.
inline void clear_secret(void* at, size_t bytes) noexcept {
  memset(at, 0, bytes);
  asm volatile("" : : "r"(at) : "memory");
}

}  // namespace talus::core

#endif  // TALUS_OS_BYTES_HPP
