// SPDX-License-Identifier: MIT
//
// Owns: see guarded_record.hpp.
// Invariant: see guarded_record.hpp.
// Must not know: see guarded_record.hpp.

#include "explain/guarded_record.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "observe/layout.hpp"

namespace talus::tool {
namespace {

constexpr uint64_t slots_max = 1 << 16, slot_bytes_max = 1 << 16, page_bytes_max = 1 << 20;

// Bytes between an address and a block; 0: it lies in the block.
uint64_t distance_to(const GuardedBlock& block, uint64_t address) {
  if (address < block.start) return block.start - address;
  return address < block.end() ? 0 : address - block.end() + 1;
}

class RecordReader {
 public:
  RecordReader(const Memory& memory, const Layout& layout)
      : memory_(memory),
        layout_(layout),
        trace_(layout, "trace", {"at_ns", "thread", "frame_count", "frames"}),
        slot_(layout, "guarded_slot", {"start", "bytes", "state"}) {}

  GuardedRecord read() {
    GuardedRecord record;
    const uint64_t guarded = layout_.root("guarded");
    pool_ = number("guarded", "pool", guarded);
    if (pool_ == 0) return record;
    record.mean_bytes = number("guarded", "mean_bytes", guarded);
    record.base = number("guarded_pool", "base", pool_);
    record.page_bytes = number("guarded_pool", "page_bytes", pool_);
    record.made = number("guarded_pool", "made", pool_);
    record.missed = number("guarded_pool", "missed", pool_);
    if (record.page_bytes == 0 || record.page_bytes > page_bytes_max) {
      throw Implausible("guarded blocks have pages of a wrong size");
    }
    read_event(record.event);
    read_slots(record);
    return record;
  }

 private:
  uint64_t number(std::string_view type, const char* name, uint64_t object) const {
    const View view(layout_, type, {name});
    return view.get(bytes_at(memory_, object + view.first_byte(), view.bytes()).data(), 0);
  }
  // `copy` is the whole trace.
  GuardedTrace trace_in(const char* copy) const {
    copy += trace_.first_byte();
    GuardedTrace trace;
    trace.at_ns = trace_.get(copy, 0);
    trace.thread = trace_.get(copy, 1);
    const uint64_t count = std::min<uint64_t>(trace_.get(copy, 2), trace_[3].count);
    for (uint64_t i = 0; i < count; i++) trace.frames.push_back(trace_.get(copy, 3, i));
    return trace;
  }
  uint64_t trace_bytes() const { return trace_.first_byte() + trace_.bytes(); }

  void read_event(GuardedEvent& event) const {
    const uint64_t kind = number("guarded_pool", "event_kind", pool_);
    if (kind > static_cast<uint64_t>(GuardedEventKind::damage)) {
      throw Implausible("an event of an unknown kind");
    }
    event.kind = static_cast<GuardedEventKind>(kind);
    event.address = number("guarded_pool", "event_address", pool_);
    const uint64_t at = pool_ + layout_.constant("guarded_pool.event_trace");
    event.trace = trace_in(bytes_at(memory_, at, trace_bytes()).data());
  }
  void read_slots(GuardedRecord& record) const {
    const uint64_t count = layout_.constant("guarded_slot.count");
    const uint64_t size = layout_.constant("guarded_slot.size");
    const uint64_t made = layout_.constant("guarded_slot.made");
    const uint64_t freed = layout_.constant("guarded_slot.freed");
    if (count > slots_max || size > slot_bytes_max ||
        std::max(made, freed) + trace_bytes() > size || slot_.first_byte() + slot_.bytes() > size) {
      throw Implausible("records of guarded blocks have a wrong size");
    }
    const std::vector<char> slots =
        bytes_at(memory_, pool_ + layout_.constant("guarded_pool.first_slot"), count * size);
    for (uint64_t i = 0; i < count; i++) {
      const char* const slot = slots.data() + i * size;
      GuardedBlock block;
      block.page = record.base + (2 * i + 1) * record.page_bytes;
      block.start = slot_.get(slot + slot_.first_byte(), 0);
      block.bytes = slot_.get(slot + slot_.first_byte(), 1);
      const uint64_t state = slot_.get(slot + slot_.first_byte(), 2);
      if (state > 2) throw Implausible("a guarded block in an unknown state");
      block.state = static_cast<GuardedState>(state);
      block.made = trace_in(slot + made);
      block.freed = trace_in(slot + freed);
      record.blocks.push_back(std::move(block));
    }
  }

  const Memory& memory_;
  const Layout& layout_;
  const View trace_, slot_;
  uint64_t pool_ = 0;
};

}  // namespace

bool GuardedRecord::has(uint64_t address) const {
  return address >= base && !blocks.empty() && address < blocks.back().page + 2 * page_bytes;
}

const GuardedBlock* GuardedRecord::near(uint64_t address) const {
  const GuardedBlock* nearest = nullptr;
  for (const GuardedBlock& block : blocks) {
    const bool is_beside =
        address >= block.page - page_bytes && address < block.page + 2 * page_bytes;
    if (!is_beside || block.state == GuardedState::unused) continue;
    if (nearest == nullptr || distance_to(block, address) < distance_to(*nearest, address)) {
      nearest = &block;
    }
  }
  return nearest;
}

size_t GuardedRecord::count(GuardedState state) const {
  return static_cast<size_t>(
      std::count_if(blocks.begin(), blocks.end(),
                    [state](const GuardedBlock& block) { return block.state == state; }));
}

GuardedRecord read_guarded(const Memory& memory, const TalusCopy& copy) {
  return RecordReader(memory, copy.layout).read();
}

uint64_t started_ns_of(const Memory& memory, const TalusCopy& copy) {
  return value_at<uint64_t>(memory, copy.layout.root("started_ns"));
}

}  // namespace talus::tool
