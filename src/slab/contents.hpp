// SPDX-License-Identifier: MIT
// slab/contents: what a block holds beside the program's data, in a process that protects it.
//
//   a block of the program | data, as requested | canary bytes | trailer, 8 bytes |
//   a freed block          | zero                                                 |
//
// The trailer says how long the data are, and only a writer who knows the secret can make one:
//
//   bit    63      44 43 40 39      20 19     8 7 6  0     c = mix(address, secret)
//          | slack ^ c | c | slack ^ c | c     |1| c  |     slack = bytes of the block - requested
//
// The slack is there twice, with no byte in common. So no change of one byte yields another
// trailer. The first byte in memory has its top bit set, like the canary bytes before it: no byte
// of an ASCII text equals it, and no zero.
// Owns: the form of trailers, and their secret. Invariants: the secret is set before the first
// trailer, and never changes. A trailer is one aligned word. Called on: the thread that has the
// block. Must not know: states (slab/block_states.hpp) and who reports a damage.
#ifndef TALUS_SLAB_CONTENTS_HPP
#define TALUS_SLAB_CONTENTS_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"

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
TALUS_CONSTINIT inline ContentsSecret contents_secret;  // set once, before the first trailer

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
 public:
  static constexpr unsigned slack_shift = 44;
  static constexpr size_t slack_most = (size_t{1} << (64 - slack_shift)) - 1;
  static constexpr uint64_t twice = uint64_t{1} << slack_shift | uint64_t{1} << 20;
  static constexpr uint64_t top_bit = 0x80;  // of the first byte in memory

  // The part of a block's trailer that does not depend on the slack.
  TALUS_FAST static uint64_t mix(const void* block) noexcept {
    return mix_with_secret(block) | top_bit;
  }
  // For a block of this size, which has room for it behind the `bytes` bytes of data.
  TALUS_FAST static void write(void* block, size_t block_bytes, size_t bytes) noexcept {
    TALUS_ASSERT(bytes + trailer_bytes <= block_bytes && block_bytes - bytes <= slack_most);
    char* const at = static_cast<char*>(block);
    const size_t slack = block_bytes - bytes, count = slack - trailer_bytes;
    const uint64_t trailer = mix(block) ^ slack * twice;
    const uint64_t eight = canary_word(trailer);
    // The last word may reach into the trailer, which comes after it.
    store(at + bytes, eight);
    if (TALUS_LIKELY(count <= brief_count_max)) {
      store(at + bytes + (count > 8 ? count - 8 : 0), eight);
    } else {
      const size_t end = end_of_canary(block_bytes, bytes);
      for (size_t i = bytes + 8; i < end; i += 8) store(at + i, eight);
    }
    store(at + block_bytes - trailer_bytes, trailer);
  }

  // The bytes of data; block_bytes: the trailer is damaged.
  TALUS_FAST static size_t read(const void* block, size_t block_bytes, uint64_t mixed) noexcept {
    const uint64_t slack_twice = load(end_of(block, block_bytes)) ^ mixed;
    const size_t slack = slack_twice >> slack_shift;
    const bool is_whole =
        slack_twice == slack * twice && slack - trailer_bytes <= block_bytes - trailer_bytes;
    return TALUS_LIKELY(is_whole) ? block_bytes - slack : block_bytes;
  }
  TALUS_FAST static size_t read(const void* block, size_t block_bytes) noexcept {
    return read(block, block_bytes, mix(block));
  }

  // Is the trailer whole, and so are the canary bytes, of which there are few? False: look closer.
  // The first byte of the trailer is one more canary byte. So there is always one, and the words at
  // both ends of them have 1 to 8 of their own.
  TALUS_FAST static bool is_whole_here(const void* block, size_t block_bytes,
                                       uint64_t mixed) noexcept {
    const char* const end = static_cast<const char*>(block) + block_bytes;
    const uint64_t trailer = load(end - trailer_bytes), slack_twice = trailer ^ mixed;
    const size_t slack = slack_twice >> slack_shift, count = slack - (trailer_bytes - 1);
    const bool is_brief = count - 1 < brief_count_max;
    if (TALUS_UNLIKELY(!is_brief || slack_twice != slack * twice)) return false;
    const uint64_t eight = canary_word(trailer);
    const size_t shift = (0 - 8 * (count < 8 ? count : 8)) & 63;
    const uint64_t first = (load(end - slack) ^ eight) << shift;
    const uint64_t last = (load(end - 2 * trailer_bytes + 1) ^ eight) >> shift;
    return (first | last) == 0;
  }

  // Do canary bytes lie between the data and the trailer, which is whole?
  TALUS_FAST static bool is_canary_whole(const void* block, size_t block_bytes,
                                         size_t bytes) noexcept {
    const char* const at = static_cast<const char*>(block);
    const uint64_t eight = canary_word(load(end_of(block, block_bytes)));
    const size_t count = block_bytes - trailer_bytes - bytes;
    if (TALUS_LIKELY(count <= brief_count_max)) {
      // The words at both ends of the canary bytes, without the bytes of others.
      const size_t whole = count < 8 ? count : 8;
      const size_t half = 4 * (8 - whole);  // a shift by all 64 bits has no meaning
      const uint64_t first = (load(at + bytes) ^ eight) << half << half;
      const uint64_t last = (load(at + block_bytes - 2 * trailer_bytes) ^ eight) >> half >> half;
      return (first | last) == 0;
    }
    return is_long_canary_whole(at, bytes, end_of_canary(block_bytes, bytes), eight);
  }

 private:
  static constexpr size_t brief_count_max = 16;

  static bool is_long_canary_whole(const char* at, size_t i, size_t end, uint64_t eight) noexcept {
    for (; i + sizeof eight <= end; i += sizeof eight) {
      if (TALUS_UNLIKELY(load(at + i) != eight)) return false;
    }
    for (; i < end; i++) {
      if (TALUS_UNLIKELY(static_cast<unsigned char>(at[i]) != (eight & 0xff))) return false;
    }
    return true;
  }
  // In memory the lowest byte is the first, whatever the processor's order.
  TALUS_FAST static uint64_t ordered(uint64_t bits) noexcept {
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? bits : __builtin_bswap64(bits);
  }
  TALUS_FAST static uint64_t load(const char* at) noexcept {
    return ordered(reinterpret_cast<const AnyWord*>(at)->bits);
  }
  TALUS_FAST static void store(char* at, uint64_t bits) noexcept {
    reinterpret_cast<AnyWord*>(at)->bits = ordered(bits);
  }
  TALUS_FAST static const char* end_of(const void* block, size_t block_bytes) noexcept {
    return static_cast<const char*>(block) + block_bytes - trailer_bytes;
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
// Both take the last words apart, so that steps of four words need no rest.
TALUS_FAST bool is_zero(const void* block, size_t block_bytes) noexcept {
  TALUS_ASSERT(block_bytes % sizeof(Words16) == 0 && block_bytes != 0);
  const auto* words = static_cast<const Words16*>(block);
  const auto* const end = words + block_bytes / sizeof(Words16);
  Words16 any = words[0] | end[-1];
  if (block_bytes > 32) any |= words[1] | end[-2];
  if (block_bytes > 64) {
    any |= end[-3] | end[-4];
    for (; end - words > 4; words += 4) any |= words[0] | words[1] | (words[2] | words[3]);
  }
  return (any[0] | any[1]) == 0;
}
// Clears such a block.
TALUS_FAST void clear_block(void* block, size_t block_bytes) noexcept {
  TALUS_ASSERT(block_bytes % sizeof(Words16) == 0 && block_bytes != 0);
  auto* words = static_cast<Words16*>(block);
  auto* const end = words + block_bytes / sizeof(Words16);
  const Words16 zero = {0, 0};
  words[0] = end[-1] = zero;
  if (block_bytes <= 32) return;
  words[1] = end[-2] = zero;
  if (block_bytes <= 64) return;
  end[-3] = end[-4] = zero;
  for (; end - words > 4; words += 4) words[0] = words[1] = words[2] = words[3] = zero;
}

// Clears bytes anywhere. Few are cleared faster without a call.
TALUS_FAST void clear_few(void* at, size_t bytes) noexcept {
  char* to = static_cast<char*>(at);
  if (TALUS_UNLIKELY(bytes > 4 * sizeof(AnyWord))) return clear_bytes(at, bytes);
  for (; bytes >= sizeof(AnyWord); bytes -= sizeof(AnyWord), to += sizeof(AnyWord)) {
    reinterpret_cast<AnyWord*>(to)->bits = 0;
  }
  for (; bytes > 0; bytes--) *to++ = 0;
}

}  // namespace talus::core

#endif  // TALUS_SLAB_CONTENTS_HPP
