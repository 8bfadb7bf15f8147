// SPDX-License-Identifier: MIT
//
// Owns: the calls of process_vm_readv, and the copies of a look.
// Invariant: one call names at most as many pieces as the kernel takes, and a bounded number of
// bytes.
// Must not know: what the bytes mean.

#include "observe/memory.hpp"

#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "file_text.hpp"
#include "process_word.hpp"

namespace talus::tool {
namespace {

constexpr size_t pieces_max = 512;
constexpr size_t bytes_at_a_time = size_t{8} << 20;
constexpr size_t room_bytes = size_t{256} << 10;
constexpr uint64_t gap_bytes_max = 256;  // read along, rather than begin another piece
constexpr size_t piece_bytes_max = size_t{1} << 30;

iovec range_of(uint64_t address, size_t bytes) {
  return {reinterpret_cast<void*>(address), bytes};  // NOLINT: an address of the other process
}

// Where the kernel laid out the running program, at random. Empty: it has ended, or is not for us.
std::string program_of(const std::string& folder) {
  return text_of_file(folder + "/auxv").value_or("");
}

std::string folder_of(int pid, int thread) {
  return thread == pid ? fmt::format("/proc/{}", pid)
                       : fmt::format("/proc/{}/task/{}", pid, thread);
}

// How often the thread that is read may end while others go on.
constexpr int threads_max = 16;

}  // namespace

int thread_with_memory(int pid) {
  errno = 0;
  if (!program_of(fmt::format("/proc/{}", pid)).empty() || errno == EACCES || errno == EPERM) {
    return pid;
  }
  std::error_code lost;
  for (auto at = std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), lost);
       !lost && at != std::filesystem::directory_iterator(); at.increment(lost)) {
    const int thread = process_of_word(at->path().filename());
    if (thread != 0 && thread != pid && !program_of(at->path()).empty()) return thread;
  }
  return pid;
}

std::string memory_folder(int pid) { return folder_of(pid, thread_with_memory(pid)); }

ProcessMemory::ProcessMemory(int pid)
    : pid_(pid), thread_(thread_with_memory(pid)), program_(program_of(folder())) {}

std::string ProcessMemory::folder() const { return folder_of(pid_, thread_); }

void ProcessMemory::refuse(uint64_t address, int error) const {
  if (error == ESRCH) throw Lost("it has ended");
  const std::string program = program_of(memory_folder(pid_));
  if (!program_.empty() && program.empty()) throw Lost("it has ended");
  if (program != program_) throw Lost("it runs another program now");
  throw Implausible(fmt::format("the address {:#x} cannot be read", address));
}

// The main thread may have ended since, and the rest of the process have gone on.
ssize_t ProcessMemory::read_once(const std::vector<iovec>& local,
                                 const std::vector<iovec>& remote) const {
  ssize_t got = -1;
  for (int tries = 0; tries < threads_max; tries++) {
    got = ::process_vm_readv(thread_, local.data(), local.size(), remote.data(), remote.size(), 0);
    if (got >= 0 || errno != ESRCH) break;
    const int other = thread_with_memory(pid_);
    errno = ESRCH;
    if (other == thread_) break;
    thread_ = other;
  }
  return got;
}

void ProcessMemory::read(const std::vector<Piece>& pieces) const {
  for (size_t first = 0; first < pieces.size();) {
    std::vector<iovec> local, remote;
    size_t bytes = 0, end = first;
    while (end < pieces.size() && end - first < pieces_max && bytes < bytes_at_a_time) {
      local.push_back({pieces[end].to, pieces[end].bytes});
      remote.push_back(range_of(pieces[end].address, pieces[end].bytes));
      bytes += pieces[end++].bytes;
    }
    const ssize_t got = read_once(local, remote);
    if (got != static_cast<ssize_t>(bytes)) {
      const int error = got < 0 ? errno : 0;
      size_t left = got < 0 ? 0 : static_cast<size_t>(got);
      while (left >= pieces[first].bytes && first + 1 < end) left -= pieces[first++].bytes;
      refuse(pieces[first].address, error);
    }
    first = end;
  }
}

int ProcessMemory::why_not(uint64_t address) const {
  char byte = 0;
  const iovec local{&byte, 1}, remote = range_of(address, 1);
  return read_once({local}, {remote}) == 1 ? 0 : errno;
}

char* Look::make_room(size_t bytes) {
  if (room_.empty() || room_.back().size() - room_used_ < bytes) {
    room_.emplace_back(std::max(bytes, room_bytes));
    room_used_ = 0;
  }
  char* const place = room_.back().data() + room_used_;
  room_used_ += (bytes + 7) / 8 * 8;
  room_used_ = std::min(room_used_, room_.back().size());
  return place;
}

const char* Look::read(uint64_t address, size_t bytes) {
  return read_all({{address, bytes}}).front();
}

std::vector<const char*> Look::read_all(const std::vector<std::pair<uint64_t, size_t>>& pieces) {
  std::vector<Piece> wanted;
  std::vector<const char*> copies;
  for (const auto& [address, bytes] : pieces) {
    if (bytes > piece_bytes_max) throw Implausible(fmt::format("{} bytes in one piece", bytes));
    wanted.push_back({address, bytes, make_room(bytes)});
    copies.push_back(wanted.back().to);
  }
  memory_.read(wanted);
  for (const Piece& piece : wanted) known_.push_back({piece.address, piece.bytes, piece.to});
  return copies;
}

std::vector<const char*> Look::read_scattered(
    const std::vector<std::pair<uint64_t, size_t>>& pieces) {
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return pieces[a].first < pieces[b].first; });
  std::vector<std::pair<uint64_t, size_t>> joined;
  std::vector<size_t> home(pieces.size());
  for (const size_t i : order) {
    const auto [address, bytes] = pieces[i];
    const uint64_t end = joined.empty() ? 0 : joined.back().first + joined.back().second;
    if (!joined.empty() && address <= end + gap_bytes_max) {
      joined.back().second = std::max(end, address + bytes) - joined.back().first;
    } else {
      joined.emplace_back(address, bytes);
    }
    home[i] = joined.size() - 1;
  }
  const std::vector<const char*> copies = read_all(joined);
  std::vector<const char*> found;
  for (size_t i = 0; i < pieces.size(); i++) {
    found.push_back(copies[home[i]] + (pieces[i].first - joined[home[i]].first));
  }
  return found;
}

bool Look::is_unchanged() const {
  std::vector<char> again;
  for (size_t first = 0; first < known_.size();) {
    size_t bytes = 0, end = first;
    while (end < known_.size() && end - first < pieces_max && bytes < bytes_at_a_time) {
      bytes += known_[end++].bytes;
    }
    again.resize(bytes);
    std::vector<Piece> pieces;
    char* to = again.data();
    for (size_t i = first; i < end; i++) {
      pieces.push_back({known_[i].address, known_[i].bytes, to});
      to += known_[i].bytes;
    }
    try {
      memory_.read(pieces);
    } catch (const Implausible&) {
      return false;
    }
    for (size_t i = first; i < end; i++) {
      if (std::memcmp(known_[i].copy, pieces[i - first].to, known_[i].bytes) != 0) return false;
    }
    first = end;
  }
  return true;
}

}  // namespace talus::tool
