// SPDX-License-Identifier: MIT
// space/page_map: from any address to who owns it.
//
// Owns: for every granule a word that free() reads (owner and a tag) and a descriptor pointer that
// slow paths read. Two levels: a static root of offsets, one for each 4 GiB of addresses, and
// leaves that are mapped when the first arena in their 4 GiB appears.
//
//   address   | unused 16 | root index 16 | granule in leaf 16 | offset in granule 16 |
//   leaf      | 65536 words of 4 bytes | 65536 descriptors of 8 bytes |
//
// Invariant: the root holds the distance from a static zero leaf, so all-zero storage is valid: an
// address that is nobody's reads as word 0 without a branch. Words of granules that lie inside a
// large block or a free range (neither first nor last) are 0.
// Called on: any thread reads; writes happen under the space lock. Must not know: slabs, heaps.
#ifndef TALUS_SPACE_PAGE_MAP_HPP
#define TALUS_SPACE_PAGE_MAP_HPP

#include "os/os.hpp"

namespace talus {

// What free() learns from one load: | tag 16 | owner 16 |. The tag is the heap floor's business
// (where the owner keeps its list); a large block has no owner, but tag 1 or that of an instance.
class PageWord {
 public:
  constexpr PageWord() noexcept = default;
  constexpr PageWord(HeapId owner, uint16_t tag) noexcept
      : bits_{static_cast<uint32_t>(owner) | uint32_t{tag} << 16} {}
  static constexpr PageWord from_bits(uint32_t bits) noexcept {
    PageWord word;
    word.bits_ = bits;
    return word;
  }
  static constexpr PageWord large(uint16_t tag = 1) noexcept {
    return PageWord{HeapId::nobody, tag};
  }

  TALUS_FAST constexpr HeapId owner() const noexcept { return HeapId(bits_ & 0xffff); }
  TALUS_FAST constexpr uint16_t tag() const noexcept { return uint16_t(bits_ >> 16); }
  constexpr uint32_t bits() const noexcept { return bits_; }
  constexpr bool is_nobody() const noexcept { return bits_ == 0; }
  constexpr bool is_large() const noexcept {
    return !is_slab() && (tag() == 1 || tag() >= heap_count_max);
  }
  constexpr bool is_slab() const noexcept { return owner() != HeapId::nobody; }

 private:
  uint32_t bits_ = 0;
};

class PageMap {
 public:
  static constexpr unsigned leaf_shift = 16;  // granules of a leaf, as a power of two
  static constexpr size_t leaf_granules = size_t{1} << leaf_shift;
  static constexpr unsigned root_shift = leaf_shift + granule_shift;
  static constexpr size_t root_count = size_t{1} << (address_bits - root_shift);
  static constexpr size_t leaf_bytes = leaf_granules * (sizeof(uint32_t) + sizeof(void*));

  static constexpr bool covers(uintptr_t address) noexcept {
    return (address >> root_shift) < root_count;
  }

  // The word of an address that covers() accepts.
  TALUS_FAST PageWord word_of(uintptr_t address) const noexcept {
    return place_of(address).word();
  }

  // The word of any address: nobody's beyond the map.
  TALUS_FAST PageWord word_anywhere(uintptr_t address) const noexcept {
    return covers(address) ? word_of(address) : PageWord{};
  }

  // What was registered for the granule of this address, or null.
  void* descriptor_of(uintptr_t address) const noexcept {
    if (!covers(address)) return nullptr;
    const Atomic<void*>* slot = descriptor_slot(address);
    return slot == nullptr ? nullptr : slot->load_relaxed();  // [hint] as Place
  }

  // The same for an address whose word names somebody.
  TALUS_FAST void* descriptor_of_owned(uintptr_t address) const noexcept {
    return place_of(address).descriptor();
  }

  // Where the map keeps what it knows of an address that covers() accepts: for who wants the word
  // and then the descriptor, one look-up.
  class Place {
   public:
    // [hint] the word of a live block was written before the block was handed out, and whoever
    // frees it got it from there; for any other pointer every answer is equally good
    TALUS_FAST PageWord word() const noexcept {
      const auto* words = reinterpret_cast<const Atomic<uint32_t>*>(leaf_ + sizeof(root_));
      return PageWord::from_bits(words[index_].load_relaxed());  // [hint] as above
    }
    // Only if the word names somebody.
    TALUS_FAST void* descriptor() const noexcept {
      const auto* slots = reinterpret_cast<const Atomic<void*>*>(leaf_ + sizeof(root_) +
                                                                 sizeof(zero_words_));
      return slots[index_].load_relaxed();  // [hint] as above
    }

   private:
    friend class PageMap;
    TALUS_FAST Place(const char* leaf, size_t index) noexcept : leaf_{leaf}, index_{index} {}
    const char* leaf_;  // less the size of the root
    size_t index_;
  };
  TALUS_FAST Place place_of(uintptr_t address) const noexcept {
    const PageMap* map = keep_in_register(this);  // one address for both levels, not two
    const char* leaf = keep_in_register(reinterpret_cast<const char*>(map) +
                                        map->root_[address >> root_shift].load_relaxed());
    return Place{leaf, keep_in_register(index_in_leaf(address))};
  }

  // The leaf of this address, leaf_bytes of memory; null: there is none.
  const void* leaf_of(uintptr_t address) const noexcept {
    const uintptr_t distance = root_[address >> root_shift].load_relaxed();  // [hint] as Place
    if (distance == 0) return nullptr;
    return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(zero_words_) + distance);
  }

  // Makes leaves for a range of addresses. False: no memory, nothing else changed.
  [[nodiscard]] bool cover(uintptr_t start, size_t bytes) noexcept {
    for (uintptr_t root = start >> root_shift; root <= (start + bytes - 1) >> root_shift; root++) {
      if (root_[root].load_relaxed() != 0) continue;  // [own] space lock
      void* leaf = os::map_pages(nullptr, leaf_bytes);
      if (leaf == nullptr) return false;
      const uintptr_t distance =
          reinterpret_cast<uintptr_t>(leaf) - reinterpret_cast<uintptr_t>(zero_words_);
      root_[root].store_release(distance);
    }
    return true;
  }

  // Sets one granule of a covered range.
  void set(uintptr_t address, PageWord word, void* descriptor) noexcept {
    descriptor_slot(address)->store_relaxed(descriptor);  // [init] published with the block
    const uintptr_t leaf = reinterpret_cast<uintptr_t>(zero_words_) +
                           root_[address >> root_shift].load_relaxed();  // [own] space lock
    reinterpret_cast<Atomic<uint32_t>*>(leaf)[index_in_leaf(address)].store_relaxed(
        word.bits());  // [init] published with the block
  }
  void set_all(uintptr_t start, size_t granules, PageWord word, void* descriptor) noexcept {
    for (size_t i = 0; i < granules; i++) set(start + i * granule_bytes, word, descriptor);
  }
  // First and last granule only: what large blocks and free ranges need.
  TALUS_USUAL void set_ends(uintptr_t start, size_t granules, PageWord word,
                            void* descriptor) noexcept {
    set(start, word, descriptor);
    if (granules > 1) set(start + (granules - 1) * granule_bytes, word, descriptor);
  }

 private:
  static_assert(root_shift == 32, "a cast takes the address in the leaf out");
  static constexpr size_t index_in_leaf(uintptr_t address) noexcept {
    return static_cast<uint32_t>(address) >> granule_shift;
  }
  Atomic<void*>* descriptor_slot(uintptr_t address) const noexcept {
    const uintptr_t distance = root_[address >> root_shift].load_relaxed();  // [hint] as Place
    if (distance == 0) return nullptr;
    const uintptr_t leaf = reinterpret_cast<uintptr_t>(zero_words_) + distance;
    return reinterpret_cast<Atomic<void*>*>(leaf + leaf_granules * sizeof(uint32_t)) +
           index_in_leaf(address);
  }

  Atomic<uintptr_t> root_[root_count];
  uint32_t zero_words_[leaf_granules] = {};  // directly behind the root: word_of() counts on it
};

}  // namespace talus

#endif  // TALUS_SPACE_PAGE_MAP_HPP
