// SPDX-License-Identifier: MIT
//
// Owns: see page_presence.hpp.
// Invariant: see page_presence.hpp.
// Must not know: what lies in the pages.

#include "observe/page_presence.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace talus::tool {
namespace {

constexpr uint64_t present = uint64_t{1} << 63, swapped = uint64_t{1} << 62;

}  // namespace

PagePresence::PagePresence(const std::string& process)
    : descriptor_(::open((process + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC)),
      page_bytes_(static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))) {}

PagePresence::PagePresence()
    : descriptor_(-1),
      is_assumed_(true),
      page_bytes_(static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))) {}

PagePresence::~PagePresence() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool PagePresence::read(uint64_t base, std::vector<uint64_t>& pages) const {
  size_t done = 0;
  const size_t wanted = pages.size() * sizeof(uint64_t);
  while (done < wanted) {
    const ssize_t got =
        ::pread(descriptor_, reinterpret_cast<char*>(pages.data()) + done, wanted - done,
                static_cast<off_t>(base / page_bytes_ * sizeof(uint64_t) + done));
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

bool PagePresence::look(uint64_t base, uint64_t bytes) {
  if (base >= base_ && base + bytes <= base_ + pages_.size() * page_bytes_) return true;
  base_ = base;
  pages_.assign(bytes / page_bytes_, present);
  if (is_assumed_) return true;
  return read(base, pages_);
}

std::vector<bool> PagePresence::contents(uint64_t from, uint64_t to) const {
  const uint64_t first = from / page_bytes_ * page_bytes_;
  std::vector<uint64_t> pages((to - first + page_bytes_ - 1) / page_bytes_);
  std::vector<bool> have(pages.size(), true);
  if (!is_known() || !read(first, pages)) return have;
  for (size_t i = 0; i < pages.size(); i++) have[i] = (pages[i] & (present | swapped)) != 0;
  return have;
}

uint64_t PagePresence::bytes_in(uint64_t from, uint64_t to) const {
  uint64_t found = 0;
  while (from < to) {
    const uint64_t page_end = from / page_bytes_ * page_bytes_ + page_bytes_;
    const uint64_t end = std::min(page_end, to);
    const uint64_t page = (from - base_) / page_bytes_;
    if (page < pages_.size() && (pages_[page] & present) != 0) found += end - from;
    from = end;
  }
  return found;
}

}  // namespace talus::tool
