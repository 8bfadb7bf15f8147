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
  const bool is_told = is_assumed_ || read(base, pages_);
  resident_before_.assign(1, 0);
  for (const uint64_t page : pages_) {
    resident_before_.push_back(resident_before_.back() + ((page & present) != 0 ? 1 : 0));
  }
  return is_told;
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
  from = std::max(from, base_);
  to = std::min(to, base_ + pages_.size() * page_bytes_);
  if (from >= to) return 0;
  const uint64_t first = (from - base_) / page_bytes_, last = (to - 1 - base_) / page_bytes_;
  uint64_t found = (resident_before_[last + 1] - resident_before_[first]) * page_bytes_;
  if ((pages_[first] & present) != 0) found -= from - base_ - first * page_bytes_;
  if ((pages_[last] & present) != 0) found -= base_ + (last + 1) * page_bytes_ - to;
  return found;
}

}  // namespace talus::tool
