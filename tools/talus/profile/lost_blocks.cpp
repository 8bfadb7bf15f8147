// SPDX-License-Identifier: MIT
//
// Owns: see lost_blocks.hpp.
// Invariant: see lost_blocks.hpp.
// Must not know: see lost_blocks.hpp.

#include "profile/lost_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "observe/heap_pieces.hpp"
#include "observe/observe.hpp"

namespace talus::tool {
namespace {

using Part = std::pair<uint64_t, uint64_t>;  // from, to

// Blocks by address, and which of them a word points to.
class Pointed {
 public:
  explicit Pointed(const std::vector<LiveSample>& blocks) {
    for (size_t i = 0; i < blocks.size(); i++) rows_.push_back({blocks[i].address, i});
    std::sort(rows_.begin(), rows_.end());
    is_found_.resize(blocks.size());
    for (const LiveSample& block : blocks) {
      const uint64_t bytes = std::max<uint64_t>(block.bytes, 1);
      ends_.push_back(block.address + bytes);
      high_ = std::max(high_, block.address + bytes);
    }
  }
  void note(uint64_t word) {
    if (rows_.empty() || word < rows_.front().first || word >= high_) return;
    auto found = std::upper_bound(rows_.begin(), rows_.end(), std::pair(word, ~size_t{0}));
    const size_t block = (--found)->second;
    if (word < ends_[block]) is_found_[block] = true;
  }
  bool has(size_t block) const { return is_found_[block]; }

 private:
  std::vector<std::pair<uint64_t, size_t>> rows_;
  std::vector<uint64_t> ends_;  // in the order of the blocks
  std::vector<bool> is_found_;
  uint64_t high_ = 0;
};

// Where pointers do not count, by address.
std::vector<Part> left_out(const HeapSource& source, const Samples& samples) {
  std::vector<Part> parts = {{samples.records_begin, samples.records_end}};
  const Observation seen = observe(source.target(), Detail::pieces);
  for (const Numbers& numbers : seen.numbers) {
    for (const HeapPiece& piece : numbers.notes.pieces) {
      if (piece.use == PieceUse::metadata) parts.push_back({piece.base, piece.limit()});
    }
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

void scan(const Memory& memory, uint64_t from, uint64_t to, Pointed& pointed) {
  constexpr uint64_t chunk = uint64_t{1} << 20;
  for (uint64_t at = from; at < to; at += chunk) {
    std::vector<char> bytes;
    try {
      bytes = bytes_at(memory, at, std::min(chunk, to - at));
    } catch (const Implausible&) {
      continue;  // a hole, or pages of a device
    }
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes.size(); i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, sizeof word);
      pointed.note(word);
    }
  }
}

void scan_without(const Memory& memory, uint64_t from, uint64_t to, const std::vector<Part>& out,
                  Pointed& pointed) {
  for (const auto& [begin, end] : out) {
    if (end <= from || begin >= to) continue;
    if (begin > from) scan(memory, from, begin, pointed);
    from = std::max(from, end);
  }
  if (from < to) scan(memory, from, to, pointed);
}

}  // namespace

Samples only_lost(const HeapSource& source, const Samples& samples, const ExitMoment& moment) {
  Pointed pointed(samples.live);
  for (const uint64_t word : moment.registers) pointed.note(word);
  const std::vector<Part> out = left_out(source, samples);
  for (const Mapping& mapping : source.mappings()) {
    if (!mapping.is_readable || !mapping.is_writable) continue;
    const bool is_stack = moment.stack_top >= mapping.begin && moment.stack_top < mapping.end;
    const uint64_t from = is_stack ? moment.stack_top / 8 * 8 : mapping.begin;
    scan_without(source.memory(), from, mapping.end, out, pointed);
  }
  Samples lost = samples;
  lost.live.clear();
  for (SampledSite& site : lost.sites) {
    site.live = site.live_bytes = site.allocations = site.peak = 0;
    site.lives = {};
  }
  for (size_t i = 0; i < samples.live.size(); i++) {
    if (pointed.has(i)) continue;
    const LiveSample& block = samples.live[i];
    lost.live.push_back(block);
    lost.sites[block.site].live++;
    lost.sites[block.site].live_bytes += block.bytes;
  }
  return lost;
}

}  // namespace talus::tool
