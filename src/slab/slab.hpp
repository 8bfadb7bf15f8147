// SPDX-License-Identifier: MIT
// slab: equal blocks in one range, and which of them are free.
//
// A slab's descriptor lives in metadata, never beside the blocks:
//
//   | constants: one line | fields under the heap's lock, free bitmap: own lines |
//
// Owns: the free bitmap (bit set: in the slab, free) and the proof that a pointer is the start of
// one of its blocks. Invariants: free_count is the number of set bits. A block is either free here,
// or handed out (to a thread list or the program), or on its way home in a message
// (remote_free.hpp). A free block is never written to. A descriptor is never reused for another
// class; its heap changes only with the slab's, under the locks of both.
// Called on: the thread that holds the heap's lock. Calls no OS; must not know threads or address
// space.
#ifndef TALUS_SLAB_SLAB_HPP
#define TALUS_SLAB_SLAB_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/report.hpp"
#include "slab/block_states.hpp"

namespace talus::core {

enum class SlabState : uint8_t {
  unused,         // a descriptor without blocks
  available,      // has free blocks, is in a bin of its heap
  full,           // has none, is in no list but an instance's
  purging,        // has free blocks whose pages are being purged, is in no list
  partly_purged,  // has free blocks without pages, is in its heap's list of such slabs
};

struct Slab {
  // constant while the slab has blocks
  uintptr_t base = 0;       // address of block 0, in the first slice of the range
  uint64_t reciprocal = 0;  // index of a block = divide_by_reciprocal(offset, reciprocal)
  uint32_t block_bytes = 0;
  uint32_t block_count = 0;
  uint32_t least_bytes = 0;   // realloc to fewer bytes takes its slow path
  ClassId class_id{};         // constant for the descriptor's life
  bool has_trailers = false;  // some blocks have one, so block_bytes is not what is usable
  uint16_t bitmap_words = 0;  // constant for the descriptor's life
  // Of each block, if the process keeps them; null: it does not. Constant once set.
  Atomic<uint8_t>* states = nullptr;
  uint8_t guard_slices = 0;  // of its range, behind bytes()
  bool has_guard = false;    // pages without access behind the last block
  bool has_range = false;    // unused, but its range waits for the next slab of the class
  // block_count, or 0 where a call that only asks must look first: at a state, or at the bitmap.
  uint32_t quick_count = 0;
  // under the owner's lock; on a line of its own, because other threads read the constants above
  alignas(cache_line_bytes) SlabState state = SlabState::unused;
  uint32_t free_count = 0;
  uint32_t notice_count = 0;       // the heap looks at the slab when it has this many free blocks
  uint16_t first_word = 0;         // no word of the free bitmap before this one has a set bit
  uint8_t bin = 0;                 // its bin among the available slabs
  bool was_purged = false;         // pages of its blocks, since it began
  uint16_t served_at = 0;          // by the heap's clock, when blocks were last taken
  uint32_t purged_page_bytes = 0;  // of free blocks whose pages were purged
  Slab* next = nullptr;  // in the heap's list of available slabs, or of unused descriptors
  Slab* previous = nullptr;
  // Medium blocks that are free and read as zero; a subset of the free bitmap's first word.
  uint64_t clean_bits = 0;
  uint64_t purged_units = 0;  // the pages that were purged (slab/purged.hpp)

  uint64_t first_bits[1] = {};  // the free bitmap: bitmap_words of them

  uint64_t* free_bits() noexcept { return first_bits; }
  const uint64_t* free_bits() const noexcept { return first_bits; }
  bool is_empty() const noexcept { return free_count == block_count; }
  // All of its range, including the rest behind the last block.
  size_t bytes() const noexcept { return size_class_row(class_id).slab_slices * slice_bytes; }

  uintptr_t range_base() const noexcept { return round_down(base, slice_bytes); }

  // A notice_count of 0 makes the heap look at the slab when any block comes home.
  void enter(SlabState entered) noexcept {
    state = entered;
    notice_count = 0;
  }

  static size_t descriptor_bytes(size_t bitmap_words) noexcept {
    const size_t end = offsetof(Slab, first_bits) + bitmap_words * sizeof(uint64_t);
    return round_up(end, cache_line_bytes);
  }

  // Starts life over a new range of address space: every block is free.
  void begin(uintptr_t range, Zeroed zeroed) noexcept {
    begin(range, zeroed, size_class_row(class_id).block_count);
  }
  // The same with fewer blocks than the class has, and with bytes before the first one.
  void begin(uintptr_t range, Zeroed zeroed, uint32_t blocks, size_t front_bytes = 0) noexcept {
    const SizeClass& row = size_class_row(class_id);
    TALUS_ASSERT(blocks != 0 && blocks <= row.block_count);
    TALUS_ASSERT(range % slice_bytes == 0 && state == SlabState::unused);
    TALUS_ASSERT(front_bytes + size_t{blocks} * row.block_bytes <= bytes());
    TALUS_ASSERT(bitmap_words == row.bitmap_words);
    base = range + front_bytes;
    reciprocal = row.reciprocal;
    block_bytes = row.block_bytes;
    block_count = blocks;
    free_count = block_count;
    is_home_at_once(block_bytes) ? be_exact() : be_usual();
    purged_page_bytes = 0;
    purged_units = 0;
    was_purged = false;
    first_word = 0;
    for (size_t word = 0; word < bitmap_words; word++) {
      free_bits()[word] = word * 64 < blocks ? low_bits(blocks - word * 64) : 0;
    }
    clean_bits = zeroed == Zeroed::yes && is_medium(class_id) ? free_bits()[0] : 0;
    if (TALUS_UNLIKELY(states != nullptr)) {
      forget_states(states, block_count);
      has_trailers = keeps_trailers();
    }
    TALUS_AUDIT_SOUND(*this);
  }

  // In an exact slab each block is free, or the program has it: none waits elsewhere. So each
  // resize takes its slow path, which looks at the bitmap. For a slab whose blocks are all free.
  void be_exact() noexcept {
    TALUS_ASSERT(is_empty());
    least_bytes = UINT32_MAX;
    quick_count = 0;
  }
  void be_usual() noexcept {
    least_bytes = static_cast<uint32_t>(least_bytes_of(block_bytes));
    quick_count = states == nullptr ? block_count : 0;
  }
  bool is_exact() const noexcept { return least_bytes > block_bytes; }

  // Index of the block that starts at `pointer`; any other pointer is reported as a fault.
  TALUS_FAST uint32_t prove(const void* pointer) const noexcept {
    const size_t offset = reinterpret_cast<uintptr_t>(pointer) - base;
    const size_t index = divide_by_reciprocal(offset, reciprocal);
    if (TALUS_UNLIKELY(index * block_bytes != offset || index >= block_count)) {
      refuse(pointer, index);
    }
    return static_cast<uint32_t>(index);
  }

  // The same for a pointer that is known to be a block's start.
  TALUS_FAST uint32_t index_of_block(const void* block) const noexcept {
    const size_t offset = reinterpret_cast<uintptr_t>(block) - base;
    return static_cast<uint32_t>(divide_by_reciprocal(offset, reciprocal));
  }

  // Does a block start here? For an address in the slab's range.
  bool is_start(const void* pointer) const noexcept {
    const size_t offset = reinterpret_cast<uintptr_t>(pointer) - base;
    return offset % block_bytes == 0 && offset / block_bytes < block_count;
  }

  // Is this the start of a block, and nothing tells whether the program has it?
  TALUS_FAST bool is_quick_block(const void* pointer) const noexcept {
    const size_t offset = reinterpret_cast<uintptr_t>(pointer) - base;
    const size_t index = divide_by_reciprocal(offset, reciprocal);
    return index * block_bytes == offset && index < quick_count;
  }

  // Hands out up to `wanted` blocks, lowest addresses last, to places[0...]. Returns how many.
  TALUS_USUAL size_t take_blocks(void** places, size_t wanted) noexcept {
    TALUS_ASSERT(places != nullptr && free_count <= block_count);
    if (wanted > free_count) wanted = free_count;
    uint64_t* words = free_bits();
    void** place = places + wanted;
    size_t word = first_word;
    while (place != places) {
      TALUS_ASSERT(word < bitmap_words);
      const uint64_t bits = words[word];
      const uintptr_t word_base = base + word * 64 * block_bytes;
      const uint64_t rest = take_word(bits, word_base, places, place);
      words[word] = rest;
      if (rest == 0) word++;
    }
    first_word = static_cast<uint16_t>(word < bitmap_words ? word : bitmap_words - 1);
    free_count -= static_cast<uint32_t>(wanted);
    clean_bits &= words[0];
    TALUS_AUDIT_SOUND(*this);
    return wanted;
  }

  // Takes back the first of `pointers`, which must lie in this slab, and the pointers behind it
  // that are its neighbours in memory, upward or downward. Proves that each is a block; a block
  // that is free already was freed twice. Returns how many it took.
  TALUS_FAST size_t give_blocks(void* const* pointers, size_t count) noexcept {
    TALUS_ASSERT(count != 0);
    const size_t index = prove(pointers[0]);
    if (count > 1) {
      const size_t distance =
          reinterpret_cast<uintptr_t>(pointers[1]) - reinterpret_cast<uintptr_t>(pointers[0]);
      if (distance == block_bytes || distance == 0 - size_t{block_bytes}) {
        return give_neighbours(pointers, count, index, distance);
      }
    }
    give_bits(index >> 6, uint64_t{1} << (index & 63));
    free_count++;
    return 1;
  }

  // A run of free bytes reads as zero from here on; the blocks completely inside it are clean.
  void note_clean(uintptr_t at, size_t bytes) noexcept {
    if (!is_medium(class_id)) return;
    TALUS_ASSERT(at >= base && at + bytes <= range_base() + this->bytes());
    const size_t first = divide_up(at - base, block_bytes);
    const size_t behind = (at + bytes - base) / block_bytes;
    const size_t end = behind < block_count ? behind : block_count;
    if (end > first) clean_bits |= low_bits(end - first) << first;
  }

  bool is_free(uint32_t index) const noexcept {
    TALUS_ASSERT(index < block_count);
    return (free_bits()[index >> 6] >> (index & 63) & 1) != 0;
  }

  bool is_sound() const noexcept {
    uint32_t set = 0;
    for (size_t word = 0; word < bitmap_words; word++) {
      if (word < first_word && free_bits()[word] != 0) return false;
      set += count_bits(free_bits()[word]);
    }
    if ((clean_bits & ~free_bits()[0]) != 0) return false;
    if (quick_count != (states == nullptr && !is_exact() ? block_count : 0)) return false;
    for (uint32_t index = 0; states != nullptr && index < block_count; index++) {
      // The program has no block that is in the slab.
      const uint8_t of_block = BlockState::without_trailer(states[index].load_hint());
      if (is_free(index) && of_block >= BlockState::given) return false;
    }
    return set == free_count && free_count <= block_count;
  }

 private:
  // Takes blocks of one word of the bitmap until it is empty or `place` reaches `places`. Returns
  // the remaining bits. A word with one run of bits, as in new slabs, takes a faster way.
  TALUS_FAST uint64_t take_word(uint64_t bits, uintptr_t word_base, void** places,
                                void**& place) const noexcept {
    const size_t size = block_bytes;
    void** at = place;
    if ((bits & (bits + (bits & (0 - bits)))) == 0 && bits != 0) {
      const unsigned first = lowest_bit(bits);
      const size_t run = highest_bit(bits) - first + 1;
      const size_t room = static_cast<size_t>(at - places);
      const size_t count = run < room ? run : room;
      uintptr_t address = word_base + first * size;
      for (void** end = at - count; at != end; address += size) {
        *--at = reinterpret_cast<void*>(address);
      }
      bits &= ~(low_bits(count) << first);
    }
    while (bits != 0 && at != places) {
      *--at = reinterpret_cast<void*>(word_base + lowest_bit(bits) * size);
      bits &= bits - 1;
    }
    place = at;
    return bits;
  }

  // Takes back blocks of one word of the bitmap; the caller counts them.
  TALUS_FAST void give_bits(size_t word, uint64_t given) noexcept {
    TALUS_ASSERT(word < bitmap_words && given != 0);
    uint64_t& bits = free_bits()[word];
    if (TALUS_UNLIKELY((bits & given) != 0)) report_double_free(word, bits & given);
    bits |= given;
    if (word < first_word) first_word = static_cast<uint16_t>(word);
  }

  // Takes back the block with this index and the pointers behind it that follow in memory, each
  // `distance` apart: one block up or down. Returns how many.
  size_t give_neighbours(void* const* pointers, size_t count, size_t index,
                         size_t distance) noexcept {
    const bool is_upward = distance == block_bytes;
    // A pointer behind the last block or before the first is no neighbour.
    const size_t room = is_upward ? block_count - index : index + 1;
    if (count > room) count = room;
    uintptr_t expected = reinterpret_cast<uintptr_t>(pointers[0]);
    size_t length = 0;
    do {
      expected += distance;
      length++;
    } while (length < count && reinterpret_cast<uintptr_t>(pointers[length]) == expected);
    size_t from = is_upward ? index : index + 1 - length;
    for (size_t left = length; left > 0;) {
      const size_t in_word = 64 - (from & 63) < left ? 64 - (from & 63) : left;
      give_bits(from >> 6, low_bits(in_word) << (from & 63));
      from += in_word;
      left -= in_word;
    }
    free_count += static_cast<uint32_t>(length);
    TALUS_ASSERT(length != 0 && length <= count && free_count <= block_count);
    return length;
  }

  [[noreturn]] TALUS_COLD void report_double_free(size_t word, uint64_t both) const noexcept {
    const size_t index = word * 64 + lowest_bit(both);
    report::double_free(reinterpret_cast<void*>(base + index * block_bytes), block_bytes);
  }
  [[noreturn]] TALUS_COLD void refuse(const void* pointer, size_t index) const noexcept {
    if (index >= block_count) report::foreign_pointer(pointer, "free");
    report::interior_pointer(pointer, reinterpret_cast<void*>(base + index * block_bytes),
                             block_bytes);
  }
};

static_assert(offsetof(Slab, state) == cache_line_bytes, "constants have a line of their own");
static_assert(bitmap_words_max() <= UINT16_MAX, "a word's number fits first_word");

// Turns a zeroed piece of metadata of descriptor_bytes() into a descriptor.
inline Slab* make_descriptor(void* zeroed, ClassId class_id) noexcept {
  Slab* slab = static_cast<Slab*>(zeroed);
  TALUS_ASSERT(slab->state == SlabState::unused && slab->block_count == 0);  // it is zero
  slab->class_id = class_id;
  slab->bitmap_words = size_class_row(class_id).bitmap_words;
  return slab;
}

// Slabs of one class and one state of one heap. Under the heap's lock.
struct SlabList {
  Slab* first = nullptr;
  Slab* last = nullptr;

  void add(Slab& slab, SlabState state) noexcept {
    TALUS_ASSERT(state != SlabState::unused && state != SlabState::purging);
    slab.enter(state);
    slab.previous = nullptr;
    slab.next = first;
    (first != nullptr ? first->previous : last) = &slab;
    first = &slab;
  }
  void remove(Slab& slab) noexcept {
    TALUS_ASSERT((slab.previous != nullptr ? slab.previous->next : first) == &slab);
    TALUS_ASSERT((slab.next != nullptr ? slab.next->previous : last) == &slab);
    (slab.previous != nullptr ? slab.previous->next : first) = slab.next;
    (slab.next != nullptr ? slab.next->previous : last) = slab.previous;
    slab.next = slab.previous = nullptr;
  }
};

// The available slabs of one class of one heap, by how full they are. Blocks are taken from the
// fullest slab, so that the others become empty. Then a class that is hardly used any more occupies
// few slabs. Bins of emptier slabs are narrower: a slab with a dozen live blocks must not be filled
// before one with two. Under the heap's lock.
struct SlabBins {
  static constexpr uint32_t count = 6;
  // In order: at least 3/4, 1/2, 1/4, 1/16, 1/64 of the blocks are taken, or fewer. A slab of few
  // blocks skips the last bins, except the very last when it is empty.
  SlabList bins[count];

  // With fewer blocks taken than this, a slab belongs behind that bin.
  static uint32_t taken_least(uint32_t block_count, uint32_t bin) noexcept {
    const uint32_t quarter = block_count / 4;
    if (bin < 3) return block_count - (bin + 1) * quarter;
    const uint32_t part = block_count >> (2 * bin - 2);
    return part == 0 ? 1 : part;
  }
  // Not a loop, so that the compiler knows the bound of each bin.
  static uint8_t bin_of(const Slab& slab) noexcept {
    const uint32_t blocks = slab.block_count, taken = blocks - slab.free_count;
    if (taken >= taken_least(blocks, 0)) return 0;
    if (taken >= taken_least(blocks, 1)) return 1;
    if (taken >= taken_least(blocks, 2)) return 2;
    if (taken >= taken_least(blocks, 3)) return 3;
    return taken >= taken_least(blocks, 4) ? 4 : 5;
  }
  TALUS_USUAL void add(Slab& slab, SlabState state) noexcept {
    TALUS_ASSERT(slab.free_count != 0);
    slab.bin = bin_of(slab);
    bins[slab.bin].add(slab, state);
    if (state != SlabState::available) return;  // the heap looks at it when any block comes home
    slab.notice_count = slab.bin == count - 1
                            ? slab.block_count
                            : slab.block_count - taken_least(slab.block_count, slab.bin) + 1;
  }
  void remove(Slab& slab) noexcept {
    TALUS_ASSERT(slab.bin < count);
    bins[slab.bin].remove(slab);
  }
  // The slab's number of free blocks changed.
  TALUS_FAST void refit(Slab& slab) noexcept {
    TALUS_ASSERT(slab.state == SlabState::available);
    if (TALUS_LIKELY(bin_of(slab) == slab.bin)) return;
    remove(slab);
    add(slab, SlabState::available);
  }
  // The slab added last to the fullest bin; null: there is none.
  Slab* fullest() const noexcept {
    for (const SlabList& bin : bins) {
      if (bin.first != nullptr) return bin.first;
    }
    return nullptr;
  }
  bool holds_only(const Slab& slab) const noexcept {
    for (const SlabList& bin : bins) {
      if (bin.first != nullptr && (bin.first != &slab || slab.next != nullptr)) return false;
    }
    return true;
  }
};

}  // namespace talus::core

#endif  // TALUS_SLAB_SLAB_HPP
