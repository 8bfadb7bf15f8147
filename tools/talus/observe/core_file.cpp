// SPDX-License-Identifier: MIT
//
// Owns: the headers and notes of a core file, read by libelf.
// Invariant: the file is not trusted. Each offset and count is checked before its use.
// Must not know: what the bytes mean.

#include "observe/core_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <signal.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace talus::tool {
namespace {

constexpr size_t page_bytes = 4096;  // of the comparison; no property of the machine

// All bytes, or fewer at the end of the file.
size_t read_at(int descriptor, uint64_t offset, size_t bytes, char* to) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(descriptor, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

CoreFile::CoreFile(const std::string& path)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status {};
  if (descriptor_ < 0) throw NoCoreFile(fmt::format("{}: {}", path, std::strerror(errno)));
  try {
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      throw NoCoreFile("is no file");
    }
    read_headers();
  } catch (const NoCoreFile& error) {
    ::close(descriptor_);
    throw NoCoreFile(fmt::format("{}: {}", path, error.what()));
  }
}

CoreFile::~CoreFile() {
  for (const auto& [path, descriptor] : files_) {
    if (descriptor >= 0) ::close(descriptor);
  }
  ::close(descriptor_);
}

void CoreFile::read(const std::vector<Piece>& pieces) const {
  for (const Piece& piece : pieces) {
    for (size_t done = 0; done < piece.bytes;) {
      const size_t got = read_some(piece.address + done, piece.bytes - done, piece.to + done);
      if (got == 0) {
        throw Implausible(
            fmt::format("the address {:#x} is not in the core file", piece.address + done));
      }
      done += got;
    }
  }
}

size_t CoreFile::read_some(uint64_t address, size_t bytes, char* to) const {
  const auto behind =
      std::upper_bound(segments_.begin(), segments_.end(), address,
                       [](uint64_t wanted, const Segment& at) { return wanted < at.begin; });
  if (behind != segments_.begin()) {
    const Segment& at = *(behind - 1);
    if (address < at.end) {
      const size_t part = std::min<uint64_t>(bytes, at.end - address);
      return read_at(descriptor_, at.offset + (address - at.begin), part, to);
    }
  }
  return read_from_mapped_file(address, bytes, to);
}

bool CoreFile::is_same_file(const Mapping& mapping, int descriptor) const {
  for (const Mapping& first : mappings_) {
    if (first.path != mapping.path || first.offset != 0) continue;
    for (const Segment& segment : segments_) {
      if (segment.begin != first.begin || segment.end - segment.begin < page_bytes) continue;
      char then[page_bytes], now[page_bytes];
      return read_at(descriptor_, segment.offset, page_bytes, then) == page_bytes &&
             read_at(descriptor, 0, page_bytes, now) == page_bytes &&
             std::memcmp(then, now, page_bytes) == 0;
    }
  }
  return false;
}

size_t CoreFile::read_from_mapped_file(uint64_t address, size_t bytes, char* to) const {
  for (const Mapping& mapping : mappings_) {
    if (mapping.path.empty() || address < mapping.begin || address >= mapping.end) continue;
    auto known = files_.find(mapping.path);
    if (known == files_.end()) {
      int file = ::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
      if (file >= 0 && !is_same_file(mapping, file)) {
        ::close(file);
        file = -1;
      }
      known = files_.emplace(mapping.path, file).first;
    }
    if (known->second < 0) return 0;
    const size_t part = std::min<uint64_t>(bytes, mapping.end - address);
    return read_at(known->second, mapping.offset + (address - mapping.begin), part, to);
  }
  return 0;
}

namespace {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

}  // namespace

void CoreFile::read_headers() {
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(descriptor_, ELF_C_READ, nullptr));
  GElf_Ehdr header;
  size_t count = 0;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getclass(elf.get()) != ELFCLASS64 ||
      gelf_getehdr(elf.get(), &header) == nullptr || header.e_type != ET_CORE ||
      elf_getphdrnum(elf.get(), &count) != 0) {
    throw NoCoreFile("is no core file of a 64-bit process");
  }
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr at;
    if (gelf_getphdr(elf.get(), static_cast<int>(i), &at) == nullptr) continue;
    if (at.p_type == PT_LOAD && at.p_filesz != 0) {
      segments_.push_back({at.p_vaddr, at.p_vaddr + at.p_filesz, at.p_offset});
    }
    if (at.p_type == PT_LOAD) {
      mappings_.push_back({at.p_vaddr, at.p_vaddr + at.p_memsz, at.p_offset, true, ""});
    }
    if (at.p_type != PT_NOTE) continue;
    Elf_Data* const notes =
        elf_getdata_rawchunk(elf.get(), static_cast<int64_t>(at.p_offset), at.p_filesz, ELF_T_NHDR);
    GElf_Nhdr note;
    size_t name = 0, body = 0;
    for (size_t next = 0; notes != nullptr;) {
      next = gelf_getnote(notes, next, &note, &name, &body);
      if (next == 0) break;
      const char* const description = static_cast<const char*>(notes->d_buf) + body;
      if (note.n_type == NT_FILE) read_mapped_files(description, note.n_descsz);
      if (note.n_type == NT_PRSTATUS) read_thread(description, note.n_descsz);
      if (note.n_type == NT_SIGINFO) read_signal(description, note.n_descsz);
      if (note.n_type == NT_PRPSINFO && note.n_descsz >= sizeof(elf_prpsinfo)) {
        elf_prpsinfo facts;
        std::memcpy(&facts, description, sizeof facts);
        process_id_ = static_cast<uint64_t>(facts.pr_pid);
      }
    }
  }
  std::sort(segments_.begin(), segments_.end(),
            [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
}

// The notes of a thread begin with this one.
void CoreFile::read_thread(const char* description, size_t bytes) {
  elf_prstatus status;
  if (bytes < sizeof status) return;
  std::memcpy(&status, description, sizeof status);
#if defined(__x86_64__)
  constexpr size_t code_register = 16;  // rip
#else
  constexpr size_t code_register = 32;  // pc
#endif
  thread_ = static_cast<uint64_t>(status.pr_pid);
  code_address_ = status.pr_reg[code_register];
}

// The first deadly one counts: the kernel writes the thread that died first.
void CoreFile::read_signal(const char* description, size_t bytes) {
  siginfo_t info;
  if (signal_ || bytes < sizeof info) return;
  std::memcpy(&info, description, sizeof info);
  constexpr int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP};
  if (std::find(std::begin(deadly), std::end(deadly), info.si_signo) == std::end(deadly)) return;
  CoreSignal found;
  found.number = info.si_signo;
  found.code = info.si_code;
  found.thread = thread_;
  found.code_address = code_address_;
  const bool is_fault = info.si_signo == SIGSEGV || info.si_signo == SIGBUS;
  if (is_fault) found.address = reinterpret_cast<uint64_t>(info.si_addr);
  signal_ = found;
}

// Count and page size; start, end and offset in pages of each mapping; their names.
void CoreFile::read_mapped_files(const char* description, size_t bytes) {
  uint64_t head[2];
  if (bytes < sizeof head) return;
  std::memcpy(head, description, sizeof head);
  const auto [count, page] = head;
  if (count > (bytes - sizeof head) / (3 * sizeof(uint64_t))) return;
  size_t name = sizeof head + count * 3 * sizeof(uint64_t);
  for (uint64_t i = 0; i < count && name < bytes; i++) {
    uint64_t place[3];
    std::memcpy(place, description + sizeof head + i * sizeof place, sizeof place);
    const size_t length = ::strnlen(description + name, bytes - name);
    mappings_.push_back(
        {place[0], place[1], place[2] * page, true, std::string(description + name, length)});
    name += length + 1;
  }
}

}  // namespace talus::tool
