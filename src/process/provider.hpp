// SPDX-License-Identifier: MIT
// process/provider: where the process's memory comes from, as TALUS_PROVIDER says.
//
// Owns: the two providers that a process can have: memory taken at the start, and a file.
// Invariant: when the provider cannot start, it writes one line of warning and the kernel provides.
// Blocks from before the start stay where they are. Called on: the thread that runs constructors.
#ifndef TALUS_PROCESS_PROVIDER_HPP
#define TALUS_PROCESS_PROVIDER_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/text.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"

namespace talus::core {

struct ProcessMemory {
  ProvidedRange prealloc;  // base 0: none, or space has it
  FileStore file;
};
TALUS_CONSTINIT inline ProcessMemory process_memory;

inline ProvidedRange take_prealloc(size_t bytes_min, size_t) noexcept {
  const ProvidedRange all = process_memory.prealloc;
  if (all.bytes < bytes_min) return {};
  process_memory.prealloc = {};
  return all;
}
inline constexpr PageProvider prealloc_alone = {take_prealloc, nullptr, nullptr, false, true};
inline constexpr PageProvider prealloc_first = {take_prealloc, nullptr, nullptr, true, false};

inline ProvidedRange take_from_file(size_t bytes_min, size_t bytes_requested) noexcept {
  return process_memory.file.reserve(bytes_min, bytes_requested);
}
inline bool commit_in_file(uintptr_t base, size_t bytes, size_t room_bytes) noexcept {
  return process_memory.file.commit(base, bytes, room_bytes);
}
inline bool purge_in_file(uintptr_t base, size_t bytes) noexcept {
  return process_memory.file.purge(base, bytes);
}
inline constexpr PageProvider growing_file = {take_from_file, commit_in_file, purge_in_file, false,
                                              false};
inline constexpr PageProvider whole_file = {take_from_file, nullptr, nullptr, false, false};

// Commits all of these pages, as huge pages where the options allow them.
inline bool populate_all(void* at, size_t bytes) noexcept {
  if (options.thp != HugePages::never) os::System::advise_huge(at, bytes);
  return os::System::populate(at, bytes, os::page_bytes());
}

// Passes the memory to space, which uses all or nothing.
inline bool use_prealloc(void* at, size_t bytes) noexcept {
  process_memory.prealloc = {reinterpret_cast<uintptr_t>(at), bytes};
  Held held{space.lock()};
  const bool is_alone = !options.provider.falls_back;
  return space.use_provider(held, is_alone ? prealloc_alone : prealloc_first, bytes);
}
inline bool start_prealloc(size_t requested) noexcept {
  const size_t bytes = round_up(requested, arena_alignment);
  // Keeps it apart from any other arena: one unused slice on both sides.
  const size_t wide_bytes = bytes + 2 * arena_alignment;
  auto* wide = static_cast<char*>(os::map_aligned(nullptr, wide_bytes, arena_alignment));
  if (wide == nullptr) return false;
  char* at = wide + arena_alignment;
  if (populate_all(at, bytes) && use_prealloc(at, bytes)) return true;
  os::System::unmap(wide, wide_bytes);
  return false;
}

inline bool start_file(const ProviderChoice& request) noexcept {
  FileStore& file = process_memory.file;
  const size_t bytes = round_up(request.bytes, arena_alignment);
  if (!file.open(request.directory, bytes, request.grows)) return false;
  // A fork waits for this lock, so it knows the file from the moment of its first use.
  Held held{space.lock()};
  const bool is_set = request.grows ? space.use_provider(held, growing_file, 0)
                                    : space.use_provider(held, whole_file, bytes);
  if (is_set) {
    file_stores.add(file);
  } else {
    file.close();
  }
  return is_set;
}

// After the options are known. `warn` takes a line.
template <typename Warn>
TALUS_START void start_provider(Warn warn) noexcept {
  ProviderChoice& request = options.provider;
  if (request.kind == ProviderKind::os) return;
  const bool is_file = request.kind == ProviderKind::file;
  if (!(is_file ? start_file(request) : start_prealloc(request.bytes))) {
    TextBuffer<2 * option_text_bytes_max> line;
    line.put("talus: TALUS_PROVIDER: ");
    if (is_file) {
      line.put("no file with room for it can be made in ").put(request.directory);
    } else {
      line.put("there is not enough memory");
    }
    warn(line.put("; keeping os").data());
    request = ProviderChoice{};
  }
}

// True when free memory can go back to the kernel. If not, no thread need look after it.
inline bool gives_memory_back() noexcept {
  const ProviderChoice& choice = options.provider;
  return choice.kind == ProviderKind::file ? choice.grows
                                           : choice.kind == ProviderKind::os || choice.falls_back;
}

}  // namespace talus::core

#endif  // TALUS_PROCESS_PROVIDER_HPP
