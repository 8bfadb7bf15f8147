// SPDX-License-Identifier: MIT
// os/report: the messages for a program that misuses its heap, and the last message of fatal().
//
// Owns: one cold function for each fault of the program; tests/death tests their texts. Invariant:
// allocates nothing, locks nothing, works on a 16 KiB stack. The functions do not return. Must not
// know: heaps and slabs; callers pass what they know as plain numbers.
#ifndef TALUS_OS_REPORT_HPP
#define TALUS_OS_REPORT_HPP

#include "base/base.hpp"
#include "os/text.hpp"

namespace talus::core {

namespace report {

// Runs before abort(): the thread stops using its heap (modes/reported.hpp). Null: nothing. Set at
// start.
inline Atomic<void (*)() noexcept> shared_last_act;

// Writes the text and ends the process (os/os.hpp).
[[noreturn]] TALUS_HOOK void stop(const Text& text) noexcept;

inline Text begin(const char* fault, const void* pointer) noexcept {
  Text text;
  text.put("talus: ").put(fault).put(" ").put_hex(reinterpret_cast<uintptr_t>(pointer));
  return text;
}

// free() of a block that is free already.
[[noreturn]] TALUS_COLD void double_free(const void* pointer, size_t block_bytes) noexcept {
  stop(begin("double free of", pointer)
           .put(" (a free block of ")
           .put_number(block_bytes)
           .put(" bytes)\n"));
}

// Another call than free() with a block that is free.
[[noreturn]] TALUS_APART void freed_block(const void* pointer, size_t block_bytes,
                                          const char* call) noexcept {
  stop(begin("use of the freed block", pointer)
           .put(" in ")
           .put(call)
           .put("() (a free block of ")
           .put_number(block_bytes)
           .put(" bytes)\n"));
}

// The start of a place for a block that no call has returned.
[[noreturn]] TALUS_APART void never_given(const void* pointer, size_t block_bytes,
                                          const char* call) noexcept {
  stop(begin("invalid pointer", pointer)
           .put(" passed to ")
           .put(call)
           .put("() (no call returned this block of ")
           .put_number(block_bytes)
           .put(" bytes)\n"));
}

// The block is C++'s and the call is C's, or the other way round; or one of new and new[].
[[noreturn]] TALUS_APART void wrong_call(const void* pointer, size_t block_bytes,
                                         const char* made_by, const char* call) noexcept {
  stop(begin("mismatched free of", pointer)
           .put(" (a block of ")
           .put_number(block_bytes)
           .put(" bytes from ")
           .put(made_by)
           .put(", passed to ")
           .put(call)
           .put(")\n"));
}

// A size in free_sized() or operator delete that no block of this size serves.
[[noreturn]] TALUS_APART void wrong_size(const void* pointer, size_t block_bytes,
                                         size_t bytes) noexcept {
  stop(begin("wrong size in the free of", pointer)
           .put(" (")
           .put_number(bytes)
           .put(" bytes, of a block of ")
           .put_number(block_bytes)
           .put(" bytes)\n"));
}

// A pointer into a block, but not to its start.
[[noreturn]] TALUS_COLD void interior_pointer(const void* pointer, const void* block,
                                              size_t block_bytes) noexcept {
  stop(begin("invalid free of", pointer)
           .put(" (not the start of a block; it points ")
           .put_number(reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(block))
           .put(" bytes into ")
           .put_number(block_bytes)
           .put(" bytes at ")
           .put_hex(reinterpret_cast<uintptr_t>(block))
           .put(")\n"));
}

// A pointer that Talus never returned, or whose memory was freed since.
[[noreturn]] TALUS_COLD void foreign_pointer(const void* pointer, const char* call) noexcept {
  stop(begin("invalid pointer", pointer)
           .put(" passed to ")
           .put(call)
           .put("() (not a block of this heap: freed twice, or from another allocator)\n"));
}

// The bytes behind a block changed. `bytes` is what was requested; block_bytes: it is not known.
[[noreturn]] TALUS_APART void write_behind(const void* pointer, size_t bytes, size_t block_bytes,
                                           const char* call) noexcept {
  Text text = begin("write behind block", pointer);
  text.put(bytes != block_bytes ? " (" : " (a place of ").put_number(bytes);
  stop(text.put(" bytes; found by ").put(call).put("())\n"));
}

// A free block changed. Its first changed byte has this offset.
[[noreturn]] TALUS_APART void write_after_free(const void* pointer, size_t offset,
                                               size_t block_bytes) noexcept {
  stop(begin("write after free in block", pointer)
           .put(" (byte ")
           .put_number(offset)
           .put(" of a place of ")
           .put_number(block_bytes)
           .put(" bytes)\n"));
}

// A heap that talus_heap_new never made, or that was destroyed.
[[noreturn]] TALUS_COLD void dead_heap(uintptr_t handle, const char* call) noexcept {
  stop(begin("invalid heap", reinterpret_cast<const void*>(handle))
           .put(" passed to ")
           .put(call)
           .put("() (destroyed, or never made)\n"));
}

}  // namespace report

[[noreturn]] TALUS_HOOK void fatal(const char* expression, const char* file, int line) noexcept {
  Text text;
  text.put("talus: internal error, please report: ")
      .put(expression)
      .put(" at ")
      .put(file)
      .put(":")
      .put_number(static_cast<uint64_t>(line))
      .put("\n");
  report::stop(text);
}

}  // namespace talus::core

#endif  // TALUS_OS_REPORT_HPP
