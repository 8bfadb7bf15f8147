// SPDX-License-Identifier: MIT
// space/page_map: finds the owner of any address.
//
// Owns: for every slice an entry that free() reads (owner and tag) and a descriptor pointer that
// slow paths read. A leaf has these for consecutive slices:
//
//   leaf      | entries of 4 bytes | descriptors of 8 bytes |
//   address   | unused 16 | root index 16 | slice in leaf 16 | offset in slice 16 |
//
// The window is one leaf for 32 GiB of addresses around its own, where the kernel places arenas,
// too. It is found without a load from the root. The address of a block tells the processor where
// free() stores, the next malloc waits for that, and each load on the way delays it
// (docs/decisions/0007). Addresses beyond the window have leaves of 4 GiB behind a static root.
// Such a leaf is mapped when the first arena appears in it.
//
// Invariants: the root holds the distance from a static zero leaf, and a window without bias holds
// no address. So all-zero storage is valid: an address without an owner reads as entry 0. The
// window is made before any leaf, or never. Entries of slices inside a large block or a free range
// (neither first nor last) are 0. Pages of the map that describe only such slices of large free
// ranges are purged, so that the map needs no memory in proportion to address space.
// Called on: any thread reads; writes happen under the space lock. Must not know: slabs, heaps.
#ifndef TALUS_SPACE_PAGE_MAP_HPP
#define TALUS_SPACE_PAGE_MAP_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core {

// What free() learns from one load: | tag 16 | owner 16 |. The heap floor gives the tag its meaning
// (where the owner keeps its list). A large block has no owner; its tag is 1 or the id of an
// instance.
class PageEntry {
 public:
  constexpr PageEntry() noexcept = default;
  constexpr PageEntry(HeapId owner, uint16_t tag) noexcept
      : bits_{static_cast<uint32_t>(owner) | uint32_t{tag} << 16} {}
  static constexpr PageEntry from_bits(uint32_t bits) noexcept {
    PageEntry word;
    word.bits_ = bits;
    return word;
  }
  static constexpr PageEntry large(uint16_t tag = 1) noexcept {
    return PageEntry{HeapId::none, tag};
  }

  TALUS_FAST constexpr HeapId owner() const noexcept { return HeapId(bits_ & 0xffff); }
  TALUS_FAST constexpr uint16_t tag() const noexcept { return uint16_t(bits_ >> 16); }
  constexpr uint32_t bits() const noexcept { return bits_; }
  constexpr bool has_no_owner() const noexcept { return bits_ == 0; }
  constexpr bool is_large() const noexcept {
    return !is_slab() && (tag() == 1 || tag() >= heap_count_max);
  }
  constexpr bool is_slab() const noexcept { return owner() != HeapId::none; }

 private:
  uint32_t bits_ = 0;
};

class PageMap {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  static constexpr unsigned leaf_shift = 16;  // slices of a leaf, as a power of two
  static constexpr size_t leaf_slices = size_t{1} << leaf_shift;
  static constexpr unsigned root_shift = leaf_shift + slice_shift;
  static constexpr size_t root_count = size_t{1} << (address_bits - root_shift);
  static constexpr size_t slice_row_bytes = sizeof(uint32_t) + sizeof(void*);
  static constexpr size_t leaf_bytes = leaf_slices * slice_row_bytes;
  // The kernel gives addresses downwards, so most of the window lies below its own.
  static constexpr size_t window_roots = 8, window_roots_above = 1;
  static constexpr size_t window_slices = window_roots * leaf_slices;
  static constexpr size_t window_bytes = window_slices * slice_row_bytes;
  // A process whose address limit is below this has no window, which would take much of the room.
  static constexpr size_t window_room_min = 128 * mib;

  // Memory of the map.
  struct Piece {
    const void* base = nullptr;  // null: there is none
    size_t bytes = 0;
  };

  static constexpr bool covers(uintptr_t address) noexcept {
    return (address >> root_shift) < root_count;
  }

  // What the map says of an address. The descriptor counts only if the entry has an owner or a tag.
  struct Found {
    PageEntry word;
    void* descriptor = nullptr;
  };

  // Where the map keeps the entry and the descriptor of an address that covers() accepts. One
  // look-up serves a caller that reads both.
  class Place {
   public:
    // The entry of a live block was written before the block was handed out, and the freeing
    // thread got the block after that. For any other pointer every answer is equally good.
    TALUS_FAST PageEntry word() const noexcept {
      return PageEntry::from_bits(word_slot().load_hint());
    }
    // Only if the entry has an owner or a tag.
    TALUS_FAST void* descriptor() const noexcept { return descriptor_slot().load_hint(); }
    // Both, for an address that another thread may be giving back at this moment. An entry with an
    // owner comes with a descriptor of its kind: set() clears in the other order.
    TALUS_FAST Found look() const noexcept {
      void* descriptor = descriptor_slot().load_acquire();
      return {word(), descriptor};
    }

    Place() noexcept = default;

   private:
    friend class PageMap;
    // `index` counts from both addresses, upward or downward.
    TALUS_FAST Place(char* words, char* descriptors, ptrdiff_t index) noexcept
        : words_{words}, descriptors_{descriptors}, index_{index} {}
    TALUS_FAST Atomic<uint32_t>& word_slot() const noexcept {
      return reinterpret_cast<Atomic<uint32_t>*>(words_)[index_];
    }
    TALUS_FAST Atomic<void*>& descriptor_slot() const noexcept {
      return reinterpret_cast<Atomic<void*>*>(descriptors_)[index_];
    }

    char* words_ = nullptr;
    char* descriptors_ = nullptr;
    ptrdiff_t index_ = 0;
  };

  // The place of an address in the window. False: it lies elsewhere, and `place` is unchanged.
  TALUS_FAST bool find_near(uintptr_t address, Place& place) const noexcept {
    // Counts from the window's end: one constant tells which addresses lie in it, and a window that
    // ends at address 0 holds none. All blocks are handed out after the window was made. Only while
    // the first arena is made could another thread see the bias before the memory. It would need a
    // pointer without an owner and a processor that reorders loads.
    const size_t index = (address >> slice_shift) + window_bias_.load_hint();  // Place
    if (TALUS_UNLIKELY(index < ~window_slices + 1)) return false;
    char* words_end = window_words_end_.load_hint();  // as Place
    place =
        Place{words_end, words_end + window_slices * sizeof(void*), static_cast<ptrdiff_t>(index)};
    return true;
  }
  TALUS_FAST Place place_of(uintptr_t address) const noexcept {
    Place place;
    return TALUS_LIKELY(find_near(address, place)) ? place : far_place_of(address);
  }

  // The entry of an address that covers() accepts.
  TALUS_FAST PageEntry word_of(uintptr_t address) const noexcept {
    return place_of(address).word();
  }

  // The entry of any address: empty beyond the map.
  TALUS_FAST PageEntry word_anywhere(uintptr_t address) const noexcept {
    Place place;
    if (TALUS_LIKELY(find_near(address, place))) return place.word();
    return covers(address) ? far_place_of(address).word() : PageEntry{};
  }

  // The descriptor registered for the slice of this address, or null.
  TALUS_USUAL void* descriptor_of(uintptr_t address) const noexcept {
    Place place;
    if (TALUS_LIKELY(find_near(address, place))) return place.descriptor();
    return has_far_leaf(address) ? far_place_of(address).descriptor() : nullptr;
  }

  // The same for an address whose entry is not empty.
  TALUS_FAST void* descriptor_of_owned(uintptr_t address) const noexcept {
    return place_of(address).descriptor();
  }

  // The same for any address.
  Found look(uintptr_t address) const noexcept {
    Place place;
    if (TALUS_LIKELY(find_near(address, place))) return place.look();
    return has_far_leaf(address) ? far_place_of(address).look() : Found{};
  }

  // The memory of the window, and of the leaf of an address beyond it.
  Piece window() const noexcept {
    const char* words_end = window_words_end_.load_stat();
    if (words_end == nullptr) return {};
    return {words_end - window_slices * sizeof(uint32_t), window_bytes};
  }
  Piece leaf_of(uintptr_t address) const noexcept {
    if (is_near(address) || !has_far_leaf(address)) return {};
    return {far_leaf_of(address), leaf_bytes};
  }

  // Does the map have a place for this address?
  bool has_leaf(uintptr_t address) const noexcept {
    return is_near(address) || has_far_leaf(address);
  }

  // Makes leaves for a range of addresses. False: no memory, nothing else changed.
  [[nodiscard]] TALUS_USUAL bool cover(uintptr_t start, size_t bytes) noexcept {
    if (!is_window_settled_) make_window();
    for (uintptr_t root = start >> root_shift; root <= (start + bytes - 1) >> root_shift; root++) {
      if (has_leaf(root << root_shift)) continue;
      void* leaf = os::map_pages(nullptr, leaf_bytes);
      if (leaf == nullptr) return false;
      os::System::advise_small(leaf, leaf_bytes);  // as for the window
      root_[root].store_release(reinterpret_cast<uintptr_t>(leaf) -
                                reinterpret_cast<uintptr_t>(zero_words_));
    }
    return true;
  }

  // Sets one slice of a covered range.
  TALUS_USUAL void set(uintptr_t address, PageEntry word, void* descriptor) noexcept {
    const Place place = place_of(address);
    if (word.has_no_owner()) place.word_slot().store_init(0);  // first: see look()
    place.descriptor_slot().store_release(descriptor);
    place.word_slot().store_init(word.bits());  // published with the block
  }
  void set_all(uintptr_t start, size_t slices, PageEntry word, void* descriptor) noexcept {
    for (size_t i = 0; i < slices; i++) set(start + i * slice_bytes, word, descriptor);
  }
  // Sets the first and the last slice only: large blocks and free ranges need no more.
  TALUS_SLOW void set_ends(uintptr_t start, size_t slices, PageEntry word,
                           void* descriptor) noexcept {
    set(start, word, descriptor);
    if (slices > 1) set(start + (slices - 1) * slice_bytes, word, descriptor);
  }

  // Purges the map's pages that describe only slices inside a free range. Where the kernel refuses,
  // the pages stay.
  TALUS_APART void purge_within(uintptr_t start, size_t slices) noexcept {
    const uintptr_t end = start + (slices - 1) * slice_bytes;
    uintptr_t next = 0;
    for (uintptr_t from = start + slice_bytes; from < end; from = next) {
      next = round_down(from, uintptr_t{1} << root_shift) + (uintptr_t{1} << root_shift);
      if (next > end) next = end;
      const Place first = place_of(from), last = place_of(next - slice_bytes);
      purge_whole_pages(&first.word_slot(), &last.word_slot() + 1);
      purge_whole_pages(&first.descriptor_slot(), &last.descriptor_slot() + 1);
    }
  }

 private:
  static_assert(root_shift == 32, "a cast takes the address in the leaf out");
  static void purge_whole_pages(void* from, void* end) noexcept {
    const uintptr_t first = round_up(reinterpret_cast<uintptr_t>(from), os::page_bytes());
    const uintptr_t last = round_down(reinterpret_cast<uintptr_t>(end), os::page_bytes());
    if (first < last) os::System::purge(reinterpret_cast<void*>(first), last - first);
  }
  static constexpr ptrdiff_t index_in_leaf(uintptr_t address) noexcept {
    return static_cast<uint32_t>(address) >> slice_shift;
  }
  bool is_near(uintptr_t address) const noexcept {
    Place place;
    return find_near(address, place);
  }
  // The same where is_near() is false.
  bool has_far_leaf(uintptr_t address) const noexcept {
    return covers(address) && root_[address >> root_shift].load_hint() != 0;  // as Place
  }
  char* far_leaf_of(uintptr_t address) const noexcept {
    const uintptr_t distance = root_[address >> root_shift].load_hint();  // as Place
    return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(zero_words_) + distance);
  }
  Place far_place_of(uintptr_t address) const noexcept {
    char* leaf = far_leaf_of(address);
    return Place{leaf, leaf + leaf_slices * sizeof(uint32_t), index_in_leaf(address)};
  }

  // Without memory or addresses for a window, all addresses are far.
  void make_window() noexcept {
    is_window_settled_ = true;
    if (os::System::address_bytes_max() < window_room_min) return;
    auto* window = static_cast<char*>(os::map_pages(nullptr, window_bytes));
    if (window == nullptr) return;
    os::System::advise_small(window, window_bytes);  // a few of its pages will be touched
    const uintptr_t root = reinterpret_cast<uintptr_t>(window) >> root_shift;
    uintptr_t end = root + window_roots_above + 1;
    if (end < window_roots) end = window_roots;
    window_words_end_.store_init(window + window_slices * sizeof(uint32_t));
    window_bias_.store_release(~(end << leaf_shift) + 1);  // last: from here on readers use it
  }

  Atomic<size_t> window_bias_;  // less the number of the slice behind its last; 0: no window
  Atomic<char*> window_words_end_;
  bool is_window_settled_ = false;  // there is a window, or there will be none
  Atomic<uintptr_t> root_[root_count];
  uint32_t zero_words_[leaf_slices] = {};
};

TALUS_CONSTINIT inline PageMap page_map;

}  // namespace talus::core

#endif  // TALUS_SPACE_PAGE_MAP_HPP
