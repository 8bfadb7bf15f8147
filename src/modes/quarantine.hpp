// SPDX-License-Identifier: MIT
// modes/quarantine: freed blocks of a thread wait before they are used again.
//
//   a freed block -> a random place; the block that lay there -> first in, first out -> home
//
// A block that waits is zero, and its state is `freed`. So a second free is found as long as it
// waits, and a write to it when it is used next. When it comes out cannot be foreseen.
//
// Owns: the places of one thread, and its random numbers. Invariants: the owner changes it only
// while it is marked busy (cache/idle_caches.hpp), so another thread may empty it as it empties
// slow lists. A store of one word commits each step: the child of a fork may lose one block, and
// finds none twice. Called on: the owner, or the thread that empties its cache. Must not know:
// where blocks go.
#ifndef TALUS_MODES_QUARANTINE_HPP
#define TALUS_MODES_QUARANTINE_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/options.hpp"
#include "slab/contents.hpp"
#include "space/space.hpp"

namespace talus::core {

// Numbers that differ from thread to thread. All zero: not begun.
class RandomNumbers {
 public:
  TALUS_FAST uint64_t next() noexcept {
    if (TALUS_UNLIKELY(state_ == 0)) begin();
    state_ += 0x9e3779b97f4a7c15;
    const auto product =
        static_cast<unsigned __int128>(state_) * (state_ ^ contents_secret.words[0]);
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  // A number below this one, which is at most 2^32.
  TALUS_FAST size_t below(size_t bound) noexcept { return ((next() >> 32) * bound) >> 32; }

 private:
  TALUS_APART void begin() noexcept {
    state_ = mix_bits(contents_secret.words[1] ^ reinterpret_cast<uintptr_t>(this)) | 1;
  }
  uint64_t state_ = 0;
};

struct Quarantine {
  static constexpr size_t random_count = 64;
  static constexpr uint32_t queue_count = 4096;
  // Larger blocks would displace many others.
  static constexpr size_t block_part = 8;

  RandomNumbers numbers;
  size_t bytes = 0;
  uint32_t first = 0, end = 0;  // of the queue, before they wrap
  void* random[random_count] = {};
  void* queue[queue_count] = {};

  static size_t bytes_most() noexcept { return options.thread_quarantine_bytes; }
  TALUS_FAST static size_t bytes_of(const void* block) noexcept {
    const PageEntry word = page_map.word_of(reinterpret_cast<uintptr_t>(block));
    TALUS_ASSERT(word.is_slab());
    return size_class_table.rows[word.tag()].block_bytes;
  }

  // Takes in a block. Returns one that goes home instead, perhaps the same one; null: none.
  TALUS_FAST void* exchange(void* block, size_t block_bytes) noexcept {
    if (TALUS_UNLIKELY(block_bytes > bytes_most() / block_part)) return block;
    void*& place = random[numbers.next() % random_count];
    void* const other = place;
    place = block;
    bytes += block_bytes;
    if (TALUS_UNLIKELY(other == nullptr)) return nullptr;
    queue[end % queue_count] = other;
    end++;
    return is_over() ? pop() : nullptr;
  }
  // Does it hold too much?
  TALUS_FAST bool is_over() const noexcept {
    return bytes > bytes_most() || end - first == queue_count;
  }
  // The block that waited longest in the queue; null: the queue is empty.
  TALUS_FAST void* pop() noexcept {
    if (TALUS_UNLIKELY(first == end)) return nullptr;
    void* const block = queue[first % queue_count];
    first++;
    bytes -= bytes_of(block);
    return block;
  }

  // Calls look(block) for each block.
  template <typename Look>
  void visit(Look look) const noexcept {
    for (uint32_t at = first; at != end; at++) look(queue[at % queue_count]);
    for (const void* block : random) {
      if (block != nullptr) look(block);
    }
  }
  // Calls send(block) for each block. It is empty then.
  template <typename Send>
  void flush(Send send) noexcept {
    while (void* block = pop()) send(block);
    for (void*& place : random) {
      void* const block = place;
      if (block == nullptr) continue;
      place = nullptr;
      bytes -= bytes_of(block);
      send(block);
    }
    bytes = 0;  // after a fork it may be off by one block
  }
};

}  // namespace talus::core

#endif  // TALUS_MODES_QUARANTINE_HPP
