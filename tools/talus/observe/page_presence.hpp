// SPDX-License-Identifier: MIT
//
// Owns: which pages of a process are resident, as the kernel tells it in /proc/PID/pagemap.
// Invariant: only reads.
// Must not know: what lies in the pages.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_PAGE_PRESENCE_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_PAGE_PRESENCE_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace talus::tool {

class PagePresence {
 public:
  explicit PagePresence(const std::string& process);
  // Of a process without /proc, as a core file: each page counts as resident.
  PagePresence();
  PagePresence(const PagePresence&) = delete;
  PagePresence& operator=(const PagePresence&) = delete;
  ~PagePresence();

  // The kernel answers.
  bool is_known() const { return descriptor_ >= 0; }
  // True: no answer of the kernel, each page counts as resident.
  bool is_assumed() const { return is_assumed_; }
  // Asks about a range of whole pages, for bytes_in(). False: the kernel does not tell. A part of
  // the range of the last look is not asked about again.
  bool look(uint64_t base, uint64_t bytes);
  // What was seen so far is old.
  void forget() { pages_.clear(); }
  // Resident bytes from one address to another, within the range of the last look.
  uint64_t bytes_in(uint64_t from, uint64_t to) const;
  // Whether each page of a range has contents, resident or swapped out. All of them, where the
  // kernel does not tell.
  std::vector<bool> contents(uint64_t from, uint64_t to) const;
  uint64_t page_bytes() const { return page_bytes_; }

 private:
  bool read(uint64_t base, std::vector<uint64_t>& pages) const;

  int descriptor_;  // constant; -1: it cannot be opened
  bool is_assumed_ = false;
  uint64_t page_bytes_, base_ = 0;
  std::vector<uint64_t> pages_;
  std::vector<uint64_t> resident_before_;  // for each page of the range and for its end
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_PAGE_PRESENCE_HPP
