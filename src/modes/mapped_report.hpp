// SPDX-License-Identifier: MIT
// modes/mapped_report: describes a mapped block in words.
//
// Owns: MappedBlock, which holds the facts, and the texts of reports. Invariants: it allocates
// nothing and takes no lock, so a handler of SIGSEGV may call it. A descriptor stays one for ever,
// so a read during another thread's change is at worst out of date. tests/death tests the texts.
// Must not know: how blocks are made.
#ifndef TALUS_MODES_MAPPED_REPORT_HPP
#define TALUS_MODES_MAPPED_REPORT_HPP

#include "base/base.hpp"
#include "os/report.hpp"
#include "os/text.hpp"
#include "space/space.hpp"
#include "heap/special.hpp"

namespace talus::core::mapped {

enum class State : uint8_t { unused, live, freed };

// A block in its own slot of slices. Written under the space lock, except where a comment says
// more.
struct MappedBlock : SpecialBlock {
  uintptr_t slot = 0;   // address of the slot; constant while the slot exists
  size_t slices = 0;    // constant while the slot exists
  uintptr_t start = 0;  // of the block
  size_t bytes = 0;     // as the program requested
  uintptr_t pages = 0;  // with access while the block is live
  size_t page_bytes = 0;
  MappedBlock* next = nullptr;  // in a queue
  uint32_t allocated_by = 0;    // thread ids; 0: not known
  uint32_t freed_by = 0;
  State state = State::unused;
  bool has_own_mapping = false;  // the slot was mapped for this block alone
  bool has_guards = false;       // the slot's pages without access are guards, not a mapping

  uintptr_t end() const noexcept { return start + bytes; }
  uintptr_t pages_end() const noexcept { return pages + page_bytes; }
};

// The longest report has about 180 letters.
using Line = Text;

inline void put_thread(Line& line, const char* did, uint32_t thread) noexcept {
  line.put(did);
  if (thread == 0) {
    line.put("an unknown thread");
  } else {
    line.put("thread ").put_number(thread);
  }
}

// "100 bytes at 0x..., allocated by thread 7, freed by thread 8"
inline void put_block(Line& line, const MappedBlock& block) noexcept {
  line.put_number(block.bytes).put(" bytes at ").put_hex(block.start);
  put_thread(line, ", allocated by ", block.allocated_by);
  if (block.state == State::freed) put_thread(line, ", freed by ", block.freed_by);
}

// Reports free() of a block that is free already.
[[noreturn]] TALUS_APART void report_double_free(const MappedBlock& block) noexcept {
  Line line;
  line.put("talus: double free of ").put_hex(block.start).put(" (a freed block of ");
  put_block(line, block);
  report::stop(line.put(")\n"));
}

// Reports any other call with a freed block.
[[noreturn]] TALUS_APART void report_freed(const MappedBlock& block, const char* call) noexcept {
  Line line;
  line.put("talus: invalid pointer ")
      .put_hex(block.start)
      .put(" passed to ")
      .put(call)
      .put("() (a freed block of ");
  put_block(line, block);
  report::stop(line.put(")\n"));
}

// Reports a write at `changed`, beside the block that is being freed.
[[noreturn]] TALUS_APART void report_damage(const MappedBlock& block, uintptr_t changed,
                                            uint32_t thread) noexcept {
  Line line;
  line.put("talus: write at ").put_hex(changed).put(", ");
  const bool is_before = changed < block.start;
  line.put_number(is_before ? block.start - changed : changed - block.end())
      .put(is_before ? " bytes before" : " bytes behind")
      .put(" the block of ");
  line.put_number(block.bytes).put(" bytes at ").put_hex(block.start);
  put_thread(line, ", allocated by ", block.allocated_by);
  put_thread(line, "; noticed when freed by ", thread);
  report::stop(line.put("\n"));
}

// Distance of an address from a block, in bytes; 0: inside.
inline size_t distance_to(const MappedBlock& block, uintptr_t address) noexcept {
  if (address < block.start) return block.start - address;
  return address < block.end() ? 0 : address - block.end() + 1;
}

// The block whose slot contains an address; null: none.
inline const MappedBlock* block_of_slot(uintptr_t address,
                                        const SpecialOperations& operations) noexcept {
  if (!PageMap::covers(address) || !is_special(page_map.word_of(address))) return nullptr;
  const SpecialBlock* special = special_of(reinterpret_cast<void*>(address));
  if (special == nullptr) return nullptr;
  if (special->shared_operations.load_init() != &operations) return nullptr;
  const auto* block = static_cast<const MappedBlock*>(special);
  return block->state == State::unused ? nullptr : block;
}

// The block to which an access without permission most likely belongs. This is the nearest of the
// block in its slot and the blocks one slice before and behind. Null: no mapped block is near.
inline const MappedBlock* block_near(uintptr_t address,
                                     const SpecialOperations& operations) noexcept {
  const uintptr_t looks[] = {address, address - slice_bytes, address + slice_bytes};
  const MappedBlock* nearest = nullptr;
  for (const uintptr_t look : looks) {
    const MappedBlock* block = block_of_slot(look, operations);
    if (block == nullptr) continue;
    const bool is_nearer =
        nearest == nullptr || distance_to(*block, address) < distance_to(*nearest, address);
    if (is_nearer) nearest = block;
  }
  return nearest;
}

// Describes an address that could not be accessed. False: nothing is known of it.
inline bool describe_fault(Line& line, uintptr_t address,
                           const SpecialOperations& operations) noexcept {
  const MappedBlock* block = block_near(address, operations);
  if (block == nullptr) return false;
  line.put("talus: fault at ").put_hex(address).put(", ");
  if (address < block->start) {
    line.put_number(block->start - address).put(" bytes before");
  } else if (address < block->end()) {
    line.put_number(address - block->start).put(" bytes into");
  } else {
    line.put_number(address - block->end()).put(" bytes behind");
  }
  line.put(block->state == State::freed ? " the freed block of " : " the live block of ");
  put_block(line, *block);
  line.put("\n");
  return true;
}

}  // namespace talus::core::mapped

#endif  // TALUS_MODES_MAPPED_REPORT_HPP
