// SPDX-License-Identifier: MIT
// fuzz/contents.cpp: words by seed and place, written and compared.
#include "contents.hpp"

#include <string.h>

#include "thread.hpp"

namespace fuzz {
namespace {

constexpr size_t whole_bytes_max = 96 * kib;
constexpr size_t page_bytes = 4 * kib;
constexpr size_t tail_bytes = 64;
constexpr size_t far_page = 6000;
constexpr size_t word_bytes = sizeof(uint64_t);

uint8_t byte_of(uint64_t word, size_t offset) {
  return static_cast<uint8_t>(word >> (offset % word_bytes * 8));
}

bool is_page_written(uint64_t seed, size_t page) {
  if (page == 0) return true;
  return (mix_bits(seed ^ page) & (page > far_page ? 511 : 15)) == 0;
}

// visit(from, to) for each range of [0, bytes) that is written, until it says no.
template <typename Visit>
void visit_ranges(const Contents& contents, size_t bytes, Visit visit) {
  if (contents.bytes <= whole_bytes_max) {
    visit(size_t{0}, bytes);
    return;
  }
  for (size_t page = 0; page * page_bytes < bytes; page++) {
    if (!is_page_written(contents.seed, page)) continue;
    const size_t end = (page + 1) * page_bytes;
    if (!visit(page * page_bytes, end < bytes ? end : bytes)) return;
  }
  if (bytes == contents.bytes) visit(bytes - tail_bytes, bytes);
}

void write_range(const Contents& contents, uint8_t* block, size_t from, size_t to) {
  for (; from < to && from % word_bytes != 0; from++) {
    block[from] = byte_of(contents.word(from / word_bytes), from);
  }
  for (; from + word_bytes <= to; from += word_bytes) {
    const uint64_t word = contents.word(from / word_bytes);
    memcpy(block + from, &word, word_bytes);
  }
  for (; from < to; from++) block[from] = byte_of(contents.word(from / word_bytes), from);
}

size_t first_lost_in(const Contents& contents, const uint8_t* block, size_t from, size_t to) {
  while (from < to) {
    const uint64_t word = contents.word(from / word_bytes);
    if (from % word_bytes == 0 && from + word_bytes <= to) {
      uint64_t found;
      memcpy(&found, block + from, word_bytes);
      if (found == word) {
        from += word_bytes;
        continue;
      }
    }
    if (block[from] != byte_of(word, from)) return from;
    from++;
  }
  return nowhere;
}

size_t first_nonzero_in(const uint8_t* block, size_t from, size_t to) {
  while (from < to) {
    if (from % word_bytes == 0 && from + word_bytes <= to) {
      uint64_t found;
      memcpy(&found, block + from, word_bytes);
      if (found == 0) {
        from += word_bytes;
        continue;
      }
    }
    if (block[from] != 0) return from;
    from++;
  }
  return nowhere;
}

}  // namespace

uint64_t Contents::word(size_t index) const {
  return (seed + index * 0x9e3779b97f4a7c15u) ^ (seed >> 17);
}

void Contents::write(void* block) const {
  const Interruptible loops;
  visit_ranges(*this, bytes, [&](size_t from, size_t to) {
    write_range(*this, static_cast<uint8_t*>(block), from, to);
    return true;
  });
}

size_t Contents::first_lost(const void* block, size_t bytes_max) const {
  const Interruptible loops;
  size_t lost = nowhere;
  visit_ranges(*this, bytes < bytes_max ? bytes : bytes_max, [&](size_t from, size_t to) {
    lost = first_lost_in(*this, static_cast<const uint8_t*>(block), from, to);
    return lost == nowhere;
  });
  return lost;
}

size_t first_nonzero(const void* block, size_t from, size_t to) {
  constexpr size_t sample_bytes = 256;
  if (to <= from) return nowhere;
  const auto* bytes = static_cast<const uint8_t*>(block);
  if (to - from <= mib || one_in(12)) {
    const Interruptible loops;
    return first_nonzero_in(bytes, from, to);
  }
  size_t offsets[40];
  for (size_t& offset : offsets) offset = from + draw(to - from - sample_bytes);
  const Interruptible loops;
  size_t found = first_nonzero_in(bytes, from, from + page_bytes);
  if (found == nowhere) found = first_nonzero_in(bytes, to - page_bytes, to);
  for (size_t i = 0; found == nowhere && i < sizeof offsets / sizeof offsets[0]; i++) {
    found = first_nonzero_in(bytes, offsets[i], offsets[i] + sample_bytes);
  }
  return found;
}

}  // namespace fuzz
