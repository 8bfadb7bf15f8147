// SPDX-License-Identifier: MIT
// space/fresh_pages: keeps threads that take untouched addresses at the same time out of each
// other's huge pages.
//
// The first touch of a huge page clears all of it, in a hundred microseconds or many more. A second
// thread that touches it meanwhile clears another one, which the kernel then discards. Two threads
// that fill memory cleared twice as much as they got. So the thread that begins a huge page keeps
// it for itself until it is surely present. Other threads take from present pages, or begin the
// next one.
// Owns: the pages that were begun last. Invariants: a thread takes from a page of its own, from one
// that was begun long enough ago, or from one that no thread began. The rest of a begun page is
// taken before the next one is begun. All rests together are only a small part of what the process
// uses; beyond that, threads share pages.
// Called on: under the space lock. Must not know: which code takes addresses, and what for.
#ifndef TALUS_SPACE_FRESH_PAGES_HPP
#define TALUS_SPACE_FRESH_PAGES_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core {

// The thread that takes addresses, and the time. Threads are distinguished by the 64 KiB of stack
// on which they run, which needs nothing of libc. Two threads may look the same, and one may look
// different in each call. That costs only time or room, as much as without this distinction.
struct Taker {
  uintptr_t thread = 0;
  uint64_t now_ns = 0;

  static Taker caller() noexcept {
    const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return Taker{frame >> 16, os::System::now_ns()};
  }
};

class FreshPages {
 public:
  static constexpr size_t page_bytes = arena_alignment;
  // After this time a begun page is present.
  static constexpr uint64_t begin_ns = 1'000'000;

  // Where to take `bytes` of untouched memory, instead of at `base`, where a free range begins that
  // ends at `end`. The result lies in that range, or where another free range begins.
  // `free_at(address)`: the untouched bytes of the range that begins there, 0 if none does. The
  // process uses `given_bytes`.
  template <typename FreeAt>
  uintptr_t choose(uintptr_t base, uintptr_t end, size_t bytes, size_t given_bytes,
                   const Taker& taker, FreeAt free_at) noexcept {
    const Page* begun = find(base);
    size_t begun_bytes = 2 * page_bytes;  // this page, and another
    for (const Page& page : pages_) {
      const size_t rest = page.rest != 0 ? free_at(page.rest) : 0;
      if (rest >= bytes && is_open_to(page, taker)) return page.rest;
      if (rest != 0 && &page != begun) begun_bytes += page_bytes;
    }
    if (begun == nullptr || is_open_to(*begun, taker)) return base;
    if (begun_bytes > given_bytes / given_part) return base;
    const uintptr_t next = page_of(base) + page_bytes;
    return next + bytes <= end ? next : base;
  }
  // [base, end) was taken, and lies where huge pages were asked for.
  void note_taken(uintptr_t base, uintptr_t end, const Taker& taker) noexcept {
    Page* first = find(base);
    Page* last = find(end - 1);
    if (first != nullptr && first != last) *first = Page{};
    const bool is_full = page_of(end) == end;
    if (is_full && last != nullptr) *last = Page{};
    if (is_full) return;
    if (last == nullptr) {
      last = &pages_[turn_++ % pages_max];
      last->begun = taker;
    }
    last->rest = end;
  }

 private:
  static constexpr size_t pages_max = 16;
  static constexpr size_t given_part = 8;

  struct Page {
    uintptr_t rest = 0;  // where its untaken part begins; 0: there is no page
    Taker begun;
  };

  static uintptr_t page_of(uintptr_t address) noexcept { return round_down(address, page_bytes); }
  static bool is_open_to(const Page& page, const Taker& taker) noexcept {
    const bool is_there = taker.now_ns - page.begun.now_ns >= begin_ns;
    return is_there || page.begun.thread == taker.thread;
  }
  Page* find(uintptr_t address) noexcept {
    for (Page& page : pages_) {
      if (page_of(page.rest) == page_of(address)) return &page;
    }
    return nullptr;
  }

  Page pages_[pages_max];
  size_t turn_ = 0;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_FRESH_PAGES_HPP
