// SPDX-License-Identifier: MIT
// slab/contents: what a block holds beside the program's data, in a process that protects it.
//
//   a block of the program | data, as requested | canary bytes | trailer, 8 bytes |
//   a freed block          | zero                                                 |
//
// The trailer says how long the data are, and only a writer who knows the secret can make one:
//
//   bit    63      44 43         8 7 6      0     c = mix(address, secret)
//          | slack ^ c | canary   |1| canary |     slack = bytes of the block - bytes requested
//
// The slack goes into the canary, too. So no change of one byte yields another trailer. The first
// byte in memory has its top bit set, like the canary bytes before it: no byte of an ASCII text
// equals it, and no zero.
// Owns: the form of trailers, and their secret. Invariants: the secret is set before the first
// trailer, and never changes. A trailer is one aligned word. Called on: the thread that has the
// block. Must not know: states (slab/block_states.hpp) and who reports a damage.
#ifndef TALUS_SLAB_CONTENTS_HPP
#define TALUS_SLAB_CONTENTS_HPP

#include "base/base.hpp"

namespace talus::core {

inline constexpr size_t trailer_bytes = sizeof(uint64_t);
// At most this many canary bytes: a write that begins further behind the data stays in its block.
inline constexpr size_t canary_bytes_max = 256;

// The bytes of an instance's block for this request, where blocks have trailers. Others are large.
constexpr size_t with_trailer(size_t bytes) noexcept {
  return bytes <= small_bytes_max ? bytes + trailer_bytes : bytes;
}

struct ContentsSecret {
  uint64_t words[2] = {};
};
inline ContentsSecret contents_secret;  // set once, before the first trailer

// The widest words that each processor reads and writes at once, of any type and at any multiple of
// 16.
using Words16 [[gnu::may_alias]] = uint64_t __attribute__((vector_size(16)));
// A word anywhere.
struct [[gnu::packed, gnu::may_alias]] AnyWord {
  uint64_t bits;
};

// The 128 bits of a product, folded into 64.
TALUS_FAST uint64_t mix_with_secret(const void* block) noexcept {
  const uint64_t address = reinterpret_cast<uintptr_t>(block);
  const auto product =
      static_cast<unsigned __int128>(address ^ contents_secret.words[0]) * contents_secret.words[1];
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

class Trailer {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lowest byte is the first");

 public:
  static constexpr unsigned slack_shift = 44;
  static constexpr size_t slack_most = (size_t{1} << (64 - slack_shift)) - 1;
  static constexpr uint64_t canary_mask = (uint64_t{1} << slack_shift) - 1;
  static constexpr uint64_t top_bit = 0x80;  // of the first byte in memory

  // For a block of this size, which has room for it behind the `bytes` bytes of data.
  TALUS_FAST static void write(void* block, size_t block_bytes, size_t bytes) noexcept {
    TALUS_ASSERT(bytes + trailer_bytes <= block_bytes && block_bytes - bytes <= slack_most);
    char* const at = static_cast<char*>(block);
    const uint64_t trailer = make(mix_with_secret(block), block_bytes - bytes);
    const size_t end = end_of_canary(block_bytes, bytes);
    const uint64_t eight = canary_word(trailer);
    // The last word may reach into the trailer, which comes after it.
    for (size_t i = bytes; i < end; i += sizeof eight) {
      reinterpret_cast<AnyWord*>(at + i)->bits = eight;
    }
    reinterpret_cast<AnyWord*>(at + block_bytes - trailer_bytes)->bits = trailer;
  }

  // The bytes of data; block_bytes: the trailer is damaged.
  TALUS_FAST static size_t read(const void* block, size_t block_bytes) noexcept {
    const uint64_t trailer = load(block, block_bytes);
    const uint64_t mixed = mix_with_secret(block);
    const size_t slack = (trailer ^ mixed) >> slack_shift;
    if (TALUS_UNLIKELY(trailer != make(mixed, slack))) return block_bytes;
    if (TALUS_UNLIKELY(slack < trailer_bytes || slack > block_bytes)) return block_bytes;
    return block_bytes - slack;
  }

  // Do canary bytes lie between the data and the trailer, which is whole?
  TALUS_FAST static bool is_canary_whole(const void* block, size_t block_bytes,
                                         size_t bytes) noexcept {
    const char* const at = static_cast<const char*>(block);
    const uint64_t eight = canary_word(load(block, block_bytes));
    const size_t end = end_of_canary(block_bytes, bytes);
    size_t i = bytes;
    for (; i + sizeof eight <= end; i += sizeof eight) {
      if (TALUS_UNLIKELY(reinterpret_cast<const AnyWord*>(at + i)->bits != eight)) return false;
    }
    for (; i < end; i++) {
      if (TALUS_UNLIKELY(static_cast<unsigned char>(at[i]) != (eight & 0xff))) return false;
    }
    return true;
  }

 private:
  TALUS_FAST static uint64_t load(const void* block, size_t block_bytes) noexcept {
    const char* const at = static_cast<const char*>(block) + block_bytes - trailer_bytes;
    return reinterpret_cast<const AnyWord*>(at)->bits;
  }
  TALUS_FAST static uint64_t make(uint64_t mixed, size_t slack) noexcept {
    constexpr uint64_t odd = 0x9e3779b97f4a7c15;
    const uint64_t canary = ((mixed + slack * odd) & canary_mask) | top_bit;
    return canary | ((mixed >> slack_shift ^ slack) << slack_shift);
  }
  TALUS_FAST static uint64_t canary_word(uint64_t trailer) noexcept {
    return (trailer & 0xff) * 0x0101010101010101u;
  }
  TALUS_FAST static size_t end_of_canary(size_t block_bytes, size_t bytes) noexcept {
    const size_t end = block_bytes - trailer_bytes;
    return end - bytes <= canary_bytes_max ? end : bytes + canary_bytes_max;
  }
};

// The first byte that is not zero, of a block at a multiple of 16 whose size is one, too;
// block_bytes: all are zero.
[[gnu::noinline]] inline size_t first_not_zero(const void* block, size_t block_bytes) noexcept {
  const char* const at = static_cast<const char*>(block);
  size_t i = 0;
  while (i < block_bytes && at[i] == 0) i++;
  return i;
}
TALUS_FAST bool is_zero(const void* block, size_t block_bytes) noexcept {
  TALUS_ASSERT(block_bytes % sizeof(Words16) == 0);
  const auto* words = static_cast<const Words16*>(block);
  const auto* const end = words + block_bytes / sizeof(Words16);
  Words16 any = {0, 0};
  for (; end - words >= 4; words += 4) any |= words[0] | words[1] | (words[2] | words[3]);
  for (; words != end; words++) any |= words[0];
  return (any[0] | any[1]) == 0;
}
// Clears such a block.
TALUS_FAST void clear_block(void* block, size_t block_bytes) noexcept {
  TALUS_ASSERT(block_bytes % sizeof(Words16) == 0);
  auto* words = static_cast<Words16*>(block);
  auto* const end = words + block_bytes / sizeof(Words16);
  const Words16 zero = {0, 0};
  for (; end - words >= 4; words += 4) words[0] = words[1] = words[2] = words[3] = zero;
  for (; words != end; words++) *words = zero;
}

}  // namespace talus::core

#endif  // TALUS_SLAB_CONTENTS_HPP
