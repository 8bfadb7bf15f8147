// Recognisable contents for blocks, and the small random numbers probes draw.
//
// A block filled from a seed can be checked later without remembering its bytes: overlap with
// another block, a lost copy or a moved write shows as a mismatch. Blocks are written at both ends
// and once per page, so that checking megabytes stays cheap but every page is touched.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace probe {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}

  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() >> 11) % limit; }

  std::size_t between(std::size_t low, std::size_t high) { return low + below(high - low + 1); }

 private:
  std::uint64_t state_;
};

// Bytes written densely at each end; between them one byte per `pattern_stride`.
constexpr std::size_t pattern_end_bytes = 128;
constexpr std::size_t pattern_stride = 1024;

inline unsigned char pattern_byte(std::size_t seed, std::size_t offset) {
  return static_cast<unsigned char>((seed * 131 + offset * 7 + (offset >> 10)) | 1);
}

template <typename Visit>
inline void visit_pattern(std::size_t size, Visit visit) {
  const std::size_t head = size < pattern_end_bytes ? size : pattern_end_bytes;
  for (std::size_t i = 0; i < head; ++i) visit(i);
  for (std::size_t i = head; i + pattern_end_bytes < size; i += pattern_stride) visit(i);
  const std::size_t tail = size > 2 * pattern_end_bytes ? size - pattern_end_bytes : head;
  for (std::size_t i = tail; i < size; ++i) visit(i);
}

inline void fill(void* block, std::size_t size, std::size_t seed) {
  auto* bytes = static_cast<unsigned char*>(block);
  visit_pattern(size, [&](std::size_t i) { bytes[i] = pattern_byte(seed, i); });
}

inline bool is_filled(const void* block, std::size_t size, std::size_t seed) {
  const auto* bytes = static_cast<const unsigned char*>(block);
  bool is_same = true;
  visit_pattern(size, [&](std::size_t i) { is_same &= bytes[i] == pattern_byte(seed, i); });
  return is_same;
}

// Every byte, because a dirty byte anywhere breaks calloc's promise.
inline bool is_zero(const void* block, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(block);
  if (size == 0) return true;
  return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

}  // namespace probe
