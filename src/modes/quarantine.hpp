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
  // Takes in bits that depend on the secret. Returns some that depend on all so far.
  TALUS_FAST uint64_t stir(uint64_t bits) noexcept { return state_ += bits; }
  // A number below this one, which is at most 2^32.
  TALUS_FAST size_t below(size_t bound) noexcept { return ((next() >> 32) * bound) >> 32; }

 private:
  TALUS_APART void begin() noexcept {
    state_ = mix_bits(contents_secret.words[1] ^ reinterpret_cast<uintptr_t>(this)) | 1;
  }
  uint64_t state_ = 0;
};

// A block that waits, and its class.
class WaitingBlock {
 public:
  WaitingBlock() noexcept = default;
  TALUS_FAST WaitingBlock(void* block, size_t tag) noexcept
      : bits_{reinterpret_cast<uintptr_t>(block) | uint64_t{tag} << tag_shift} {}
  TALUS_FAST bool is_none() const noexcept { return bits_ == 0; }
  TALUS_FAST size_t tag() const noexcept { return bits_ >> tag_shift; }  // as in the page map
  TALUS_FAST void* block() const noexcept {
    return reinterpret_cast<void*>(bits_ & ((uint64_t{1} << tag_shift) - 1));
  }
  TALUS_FAST size_t block_bytes() const noexcept { return size_class_rows.rows[tag()].block_bytes; }

 private:
  static constexpr unsigned tag_shift = 56;  // addresses of programs have fewer bits
  uint64_t bits_ = 0;                        // 0: there is none
};

struct Quarantine {
  // As random as a reuse may be without scattering what belongs together.
  static constexpr unsigned random_bits = 4;
  static constexpr size_t random_count = size_t{1} << random_bits;
  static constexpr uint32_t queue_count = 4096;
  // Larger blocks would displace many others.
  static constexpr size_t block_part = 8;
  // Where it holds too much, this number of blocks leaves, or this part of its bytes: it costs less
  // than one at each push.
  static constexpr size_t surplus_count = 16, surplus_part = 16;

  RandomNumbers numbers;
  size_t bytes = 0;
  uint32_t first = 0, end = 0;  // of the queue, before they wrap
  WaitingBlock random[random_count] = {};
  WaitingBlock queue[queue_count] = {};

  static size_t bytes_most() noexcept { return options.thread_quarantine_bytes; }
  TALUS_FAST static bool may_wait(size_t block_bytes) noexcept {
    return block_bytes <= bytes_most() / block_part;
  }

  // Takes in a block that may wait. `mixed` are bits that depend on the secret (Trailer::mix). Does
  // it hold too much then?
  TALUS_FAST bool push(WaitingBlock block, size_t block_bytes, uint64_t mixed) noexcept {
    WaitingBlock& place = random[numbers.stir(mixed) >> (64 - random_bits)];
    const WaitingBlock other = place;
    place = block;
    bytes += block_bytes;
    if (TALUS_LIKELY(!other.is_none())) {
      queue[end % queue_count] = other;
      compiler_fence();
      end++;
    }
    return is_over();
  }
  TALUS_FAST bool is_over() const noexcept {
    return bytes > bytes_most() || end - first == queue_count;
  }
  // Should one more leave after `count`, once it held too much?
  TALUS_FAST bool has_surplus(size_t count) const noexcept {
    if (TALUS_UNLIKELY(count >= surplus_count)) return is_over();
    const size_t most = bytes_most();
    return bytes > most - most / surplus_part || end - first > queue_count - surplus_count;
  }
  // Of the queue: the block that waited longest lies there, if it is not empty.
  TALUS_FAST bool is_empty() const noexcept { return first == end; }
  TALUS_FAST WaitingBlock oldest() const noexcept { return queue[first % queue_count]; }
  TALUS_FAST void forget_oldest(size_t block_bytes) noexcept {
    first++;
    compiler_fence();
    bytes -= block_bytes;
  }
  void* pop() noexcept {
    if (is_empty()) return nullptr;
    const WaitingBlock found = oldest();
    forget_oldest(found.block_bytes());
    return found.block();
  }

  // Calls look(block, block_bytes) for each block.
  template <typename Look>
  void visit(Look look) const noexcept {
    for (uint32_t at = first; at != end; at++) look_at(queue[at % queue_count], look);
    for (const WaitingBlock& place : random) {
      if (!place.is_none()) look_at(place, look);
    }
  }
  // Calls send(block, block_bytes) for each block. It is empty then.
  template <typename Send>
  void flush(Send send) noexcept {
    while (first != end) {
      const WaitingBlock found = oldest();
      forget_oldest(found.block_bytes());
      look_at(found, send);
    }
    for (WaitingBlock& place : random) {
      const WaitingBlock found = place;
      if (found.is_none()) continue;
      place = WaitingBlock{};
      look_at(found, send);
    }
    bytes = 0;  // after a fork it may be off by one block
  }

 private:
  template <typename Look>
  static void look_at(WaitingBlock found, Look look) noexcept {
    look(found.block(), found.block_bytes());
  }
};

}  // namespace talus::core

#endif  // TALUS_MODES_QUARANTINE_HPP
