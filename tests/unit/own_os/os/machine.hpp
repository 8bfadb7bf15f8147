// SPDX-License-Identifier: MIT
// tests/unit/own_os/os/machine: a small operating system that is not Linux.
//
// Its memory is one array, cut into pages of 16 KiB that are free, closed (reserved, without
// access) or open. Its clock moves when it is read or slept on. It has one thread, no files and no
// group of the contract (os/contract.hpp), as a port has on its first day.
// Owns: the array, and the state of each page. Invariants: a page reads as zero when it is opened.
// A page that loses its access gets a mark; a write to the mark is found when the page is opened
// again. A call that breaks the contract ends the process with a line.
// Called on: the main thread. Must not know: Talus, and Linux.
#ifndef TALUS_TESTS_UNIT_OWN_OS_OS_MACHINE_HPP
#define TALUS_TESTS_UNIT_OWN_OS_OS_MACHINE_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/base.hpp"

namespace talus::core::test {

class Machine {
 public:
  static constexpr size_t page_bytes = 16 * kib;
  static constexpr size_t page_count = size_t{1} << 16;

  void* map(void* hint, size_t bytes) { return take(hint, bytes, Page::open); }
  void* reserve(size_t bytes) { return take(nullptr, bytes, Page::closed); }
  bool unmap(void* at, size_t bytes) {
    const size_t first = first_of(at, bytes, "unmap");
    for (size_t i = first; i < first + bytes / page_bytes; i++) {
      if (pages_[i] == Page::free) fail("unmap of a free page");
      drop(i, Page::free);
    }
    return true;
  }
  bool purge(void* at, size_t bytes) {
    const size_t first = first_of(at, bytes, "purge");
    for (size_t i = first; i < first + bytes / page_bytes; i++) {
      if (pages_[i] != Page::open) fail("purge of a page without access");
      clear(i);
    }
    return true;
  }
  bool allow(void* at, size_t bytes) {
    const size_t first = first_of(at, bytes, "allow");
    for (size_t i = first; i < first + bytes / page_bytes; i++) {
      if (pages_[i] == Page::free) fail("allow of a free page");
      if (pages_[i] == Page::closed) open(i);
    }
    allowed_count_ += bytes / page_bytes;
    return true;
  }
  bool decommit(void* at, size_t bytes) {
    const size_t first = first_of(at, bytes, "decommit");
    for (size_t i = first; i < first + bytes / page_bytes; i++) {
      if (pages_[i] == Page::free) fail("decommit of a free page");
      drop(i, Page::closed);
    }
    withdrawn_count_ += bytes / page_bytes;
    return true;
  }

  uint64_t now_ns() { return now_ns_ += 1000; }
  void pass_ms(uint64_t milliseconds) { now_ns_ += milliseconds * 1000000; }

  // What the pages say, for tests.
  size_t open_pages() const { return count(Page::open); }
  size_t free_pages() const { return count(Page::free); }
  // Open pages that hold anything but zeros: what a process would have in memory.
  size_t written_pages() const {
    size_t found = 0;
    for (size_t i = 0; i < page_count; i++) found += pages_[i] == Page::open && !is_zero(i);
    return found;
  }
  bool has(const void* at) const { return to_page(at) < page_count; }
  bool is_open(const void* at) const { return has(at) && pages_[to_page(at)] == Page::open; }
  // No page without access was written to.
  bool is_sound() const {
    for (size_t i = 0; i < page_count; i++) {
      if (pages_[i] != Page::open && was_open_[i] && is_changed(i)) return false;
    }
    return true;
  }
  // Pages that lost what was written to them.
  size_t dropped_count() const { return dropped_count_; }
  size_t allowed_count() const { return allowed_count_; }
  size_t withdrawn_count() const { return withdrawn_count_; }

  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "machine: %s\n", what);
    std::abort();
  }

 private:
  enum class Page : unsigned char { free, closed, open };
  static constexpr int mark = 0x5e;

  static char* at(size_t page) { return memory_ + page * page_bytes; }
  static size_t to_page(const void* at) {
    return (reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(memory_)) / page_bytes;
  }
  size_t first_of(const void* at, size_t bytes, const char* call) const {
    const size_t offset = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(memory_);
    const bool is_inside = offset < sizeof memory_ && bytes <= sizeof memory_ - offset;
    if (offset % page_bytes != 0 || bytes % page_bytes != 0 || bytes == 0 || !is_inside) {
      std::fprintf(stderr, "machine: %s of %p, %zu bytes\n", call, at, bytes);
      std::abort();
    }
    return offset / page_bytes;
  }
  bool are_free(size_t first, size_t number) const {
    if (first + number > page_count) return false;
    for (size_t i = first; i < first + number; i++) {
      if (pages_[i] != Page::free) return false;
    }
    return true;
  }
  void* take(void* hint, size_t bytes, Page state) {
    if (bytes % page_bytes != 0 || bytes == 0) fail("a length that is no multiple of a page");
    const size_t number = bytes / page_bytes;
    size_t first = has(hint) ? to_page(hint) : page_count;
    if (!are_free(first, number)) first = find_free(number);
    if (first == page_count) return nullptr;
    for (size_t i = first; i < first + number; i++) {
      if (state == Page::open) {
        open(i);
      } else {
        drop(i, state);
      }
    }
    return at(first);
  }
  size_t find_free(size_t number) const {
    size_t length = 0;
    for (size_t i = 0; i < page_count; i++) {
      length = pages_[i] == Page::free ? length + 1 : 0;
      if (length == number) return i + 1 - number;
    }
    return page_count;
  }

  void open(size_t page) {
    if (is_changed(page)) fail("a page without access was written to");
    if (is_marked_[page]) std::memset(at(page), 0, page_bytes);
    is_marked_[page] = false;
    was_open_[page] = true;
    pages_[page] = Page::open;
  }
  // What was never written stays untouched, so that this machine needs little memory itself.
  void drop(size_t page, Page state) {
    if (pages_[page] == Page::open && !is_zero(page)) {
      std::memset(at(page), mark, page_bytes);
      is_marked_[page] = true;
      dropped_count_++;
    }
    pages_[page] = state;
  }
  void clear(size_t page) {
    if (is_zero(page)) return;
    std::memset(at(page), 0, page_bytes);
    dropped_count_++;
  }
  bool is_zero(size_t page) const { return has_only(page, 0); }
  bool is_changed(size_t page) const { return !has_only(page, is_marked_[page] ? mark : 0); }
  bool has_only(size_t page, char letter) const {
    const char* first = at(page);
    return *first == letter && std::memcmp(first, first + 1, page_bytes - 1) == 0;
  }
  size_t count(Page state) const {
    size_t found = 0;
    for (const Page page : pages_) found += page == state;
    return found;
  }

  alignas(slice_bytes) static inline char memory_[page_count * page_bytes];
  Page pages_[page_count] = {};
  bool is_marked_[page_count] = {};
  bool was_open_[page_count] = {};
  uint64_t now_ns_ = 1000000000;
  size_t dropped_count_ = 0, allowed_count_ = 0, withdrawn_count_ = 0;
};
inline Machine machine;

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_OWN_OS_OS_MACHINE_HPP
