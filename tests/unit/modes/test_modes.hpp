// SPDX-License-Identifier: MIT
// tests/unit/modes/test_modes: an observer and a diverter, beside the shipped modes.
//
// Owns: a record of all live blocks, and a small quarantine. The record finds a block that an
// observer is told of twice or never. The quarantine finds a block that is written to, or handed
// out, while it waits there.
// Called on: any thread. Both use the C library's malloc, which is not the one under test.
#ifndef TALUS_TESTS_UNIT_MODES_TEST_MODES_HPP
#define TALUS_TESTS_UNIT_MODES_TEST_MODES_HPP

#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "modes/chain.hpp"
#include "paths/resize.hpp"

namespace talus::core::test {

struct Record {
  std::mutex lock;
  std::unordered_map<void*, size_t> live;  // with what was asked for
  std::unordered_set<void*> waiting;       // in the quarantine
  uint64_t begun = 0, ended = 0, resized = 0, refused = 0, diverted = 0;
  std::string fault;  // the first one

  void blame(const char* what) {
    if (fault.empty()) fault = what;
  }
  // Blocks from before the modes are not known.
  bool knows(void* block) {
    const std::lock_guard<std::mutex> held{lock};
    return live.count(block) != 0;
  }
};
inline Record record;

inline void begin_block(void* block, size_t bytes) {
  if (!record.live.emplace(block, bytes).second) record.blame("a block began twice");
  if (record.waiting.count(block) != 0) record.blame("a block in quarantine was handed out");
}
inline void end_block(void* block) {
  if (record.live.erase(block) == 0) record.blame("a block ended that had not begun");
}

inline void record_allocate(ModeThread, void* block, size_t bytes) noexcept {
  const std::lock_guard<std::mutex> held{record.lock};
  begin_block(block, bytes);
  record.begun++;
  if (facts_of(block, "test").usable_bytes < bytes) record.blame("too small");
}
inline void record_free(ModeThread, void* block) noexcept {
  const std::lock_guard<std::mutex> held{record.lock};
  end_block(block);
  record.ended++;
}
inline thread_local void* resized_block = nullptr;
inline thread_local size_t resized_bytes = 0;
inline void record_begin_resize(ModeThread, void* block) noexcept {
  const std::lock_guard<std::mutex> held{record.lock};
  if (resized_block != nullptr) record.blame("two resizes at once");
  resized_block = block;
  resized_bytes = record.live[block];
  end_block(block);
}
inline void record_end_resize(ModeThread, void*, size_t, void* block, size_t bytes) noexcept {
  const std::lock_guard<std::mutex> held{record.lock};
  if (resized_block == nullptr) record.blame("the end of a resize that had not begun");
  begin_block(block != nullptr ? block : resized_block, block != nullptr ? bytes : resized_bytes);
  (block != nullptr ? record.resized : record.refused)++;
  resized_block = nullptr;
}

constexpr Mode make_observer() noexcept {
  Mode mode;
  mode.name = "observer";
  mode.note_allocate = record_allocate;
  mode.note_free = record_free;
  mode.begin_resize = record_begin_resize;
  mode.end_resize = record_end_resize;
  return mode;
}
inline constexpr Mode observer = make_observer();

// The last blocks that a thread freed, oldest first after `next`.
struct Quarantine {
  static constexpr size_t places = 32;
  void* blocks[places] = {};
  size_t next = 0;
};
inline constexpr int waiting_byte = 0x5e;

// The block was not written to since it came. It goes the plain way.
inline void leave_quarantine(ThreadCache* cache, void* block) noexcept {
  const size_t bytes = facts_of(block, "test").usable_bytes;
  const auto* at = static_cast<const unsigned char*>(block);
  bool is_same = true;
  for (size_t i = 0; i < bytes && i < 512; i++) is_same &= at[i] == waiting_byte;
  {
    const std::lock_guard<std::mutex> held{record.lock};
    record.waiting.erase(block);
    if (!is_same) record.blame("a block in quarantine was written to");
  }
  free_plain(cache, block);
}
inline bool quarantine_block(ModeThread thread, void* block) noexcept {
  if (thread.cache == nullptr) return false;  // without an end there is no way home
  const size_t bytes = facts_of(block, "test").usable_bytes;
  memset(block, waiting_byte, bytes < 512 ? bytes : 512);
  {
    const std::lock_guard<std::mutex> held{record.lock};
    record.diverted++;
    if (!record.waiting.insert(block).second) record.blame("a block was diverted twice");
  }
  auto& own = *static_cast<Quarantine*>(thread.state);
  void*& place = own.blocks[own.next++ % Quarantine::places];
  void* oldest = place;
  place = block;
  if (oldest != nullptr) leave_quarantine(thread.cache, oldest);
  return true;
}
inline void empty_quarantine(ModeThread thread) noexcept {
  auto& own = *static_cast<Quarantine*>(thread.state);
  for (void*& block : own.blocks) {
    if (block != nullptr) leave_quarantine(thread.cache, block);
    block = nullptr;
  }
}
constexpr Mode make_quarantine() noexcept {
  Mode mode;
  mode.name = "quarantine";
  mode.state_bytes = sizeof(Quarantine);
  mode.divert = quarantine_block;
  mode.end_thread = empty_quarantine;
  return mode;
}
inline constexpr Mode quarantine = make_quarantine();

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_MODES_TEST_MODES_HPP
