// SPDX-License-Identifier: MIT
//
// Owns: the memory of another process as a source of bytes, and the record of one look at it.
// Invariant: a read returns all bytes or fails. It never stops, signals or changes the process.
// Must not know: what the bytes mean.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_MEMORY_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_MEMORY_HPP

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

namespace talus::tool {

// A number or a pointer was not as it can be. In a running process the look may have been torn.
struct Implausible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The memory that was read is gone: its process has ended, or it runs another program (exec).
struct Lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Piece {
  uint64_t address;
  size_t bytes;
  char* to;
};

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;
  // Reads all pieces, in their order. Throws Implausible if one cannot be read, and Lost.
  virtual void read(const std::vector<Piece>& pieces) const = 0;
};

inline std::vector<char> bytes_at(const Memory& memory, uint64_t address, size_t bytes) {
  std::vector<char> read(bytes);
  memory.read({{address, bytes, read.data()}});
  return read;
}
template <typename Value>
Value value_at(const Memory& memory, uint64_t address) {
  Value value;
  memory.read({{address, sizeof value, reinterpret_cast<char*>(&value)}});
  return value;
}

// The thread by which the memory of a process is reached: its main thread. Once that has ended
// before others, by pthread_exit, the kernel reaches it by one of those alone. The process's own id
// if no thread has memory, or the kernel does not tell.
int thread_with_memory(int pid);
// The folder with the files of that thread, such as maps and root.
std::string memory_folder(int pid);

// By process_vm_readv.
class ProcessMemory : public Memory {
 public:
  explicit ProcessMemory(int pid);
  void read(const std::vector<Piece>& pieces) const override;
  // Tries one byte. 0, or the kernel's error.
  int why_not(uint64_t address) const;
  // By which other calls reach the same memory, and the folder with its files.
  int thread() const { return thread_; }
  std::string folder() const;

 private:
  ssize_t read_once(const std::vector<iovec>& local, const std::vector<iovec>& remote) const;
  [[noreturn]] void refuse(uint64_t address, int error) const;

  int pid_;
  mutable int thread_;   // that had memory when it was last asked
  std::string program_;  // differs from program to program; empty: not known
};

// Keeps a copy of all that was read, so that a second look can tell whether any of it changed.
class Look {
 public:
  explicit Look(const Memory& memory) : memory_(memory) {}

  // The bytes stay where they are as long as the look lives.
  const char* read(uint64_t address, size_t bytes);
  // The same for several, in one call of the kernel for many of them.
  std::vector<const char*> read_all(const std::vector<std::pair<uint64_t, size_t>>& pieces);
  // The same in any order, with fewer and larger reads where pieces lie close together.
  std::vector<const char*> read_scattered(const std::vector<std::pair<uint64_t, size_t>>& pieces);
  // Reads all of it again, in the same order. True: every byte is as it was.
  bool is_unchanged() const;

 private:
  struct Known {
    uint64_t address;
    size_t bytes;
    const char* copy;
  };
  char* make_room(size_t bytes);

  const Memory& memory_;
  std::deque<std::vector<char>> room_;
  size_t room_used_ = 0;
  std::vector<Known> known_;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_MEMORY_HPP
