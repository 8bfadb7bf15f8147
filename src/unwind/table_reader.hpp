// SPDX-License-Identifier: MIT
// unwind/table_reader: reads tables for unwinding, and never faults.
//
// Owns: a position in memory, and the way in which DWARF writes numbers. Invariants: nothing is
// read outside the bounds, nor from a page that cannot be read. After a refused read all numbers
// are 0, and is_good() says so. Called on: any thread, without a lock. Must not know: what the
// numbers say. Format: DWARF 5, 7.6; Linux Standard Base 5.0, 10.6 (encodings DW_EH_PE_*).
#ifndef TALUS_UNWIND_TABLE_READER_HPP
#define TALUS_UNWIND_TABLE_READER_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core::unwind {

inline constexpr size_t proof_bytes = 4096;  // no system has smaller pages

// The page that was last found to be readable.
struct ProvenPage {
  uintptr_t page = ~uintptr_t{0};

  bool can_read(uintptr_t at, size_t bytes) noexcept {
    TALUS_ASSERT(bytes > 0 && bytes <= 8);
    return is_proven(at) && is_proven(at + bytes - 1);
  }

 private:
  bool is_proven(uintptr_t at) noexcept {
    const uintptr_t wanted = at / proof_bytes;
    if (TALUS_LIKELY(wanted == page)) return true;
    if (!os::System::is_readable(reinterpret_cast<const void*>(round_down(at, 8)))) return false;
    page = wanted;
    return true;
  }
};

// Tables lie beside objects of the program, between which AddressSanitizer forbids reads.
template <typename T>
TALUS_NO_ADDRESS_CHECK T load_any(uintptr_t at) noexcept {
  struct __attribute__((packed, may_alias)) Unaligned {
    T value;
  };
  return reinterpret_cast<const Unaligned*>(at)->value;
}

class TableReader {
 public:
  TableReader(uintptr_t at, uintptr_t end) noexcept : at_{at}, end_{end}, is_good_{at <= end} {}

  bool is_good() const noexcept { return is_good_; }
  bool is_at_end() const noexcept { return !is_good_ || at_ == end_; }
  uintptr_t at() const noexcept { return at_; }
  uintptr_t end() const noexcept { return end_; }

  template <typename T>
  T read() noexcept {
    T value{};
    if (!is_good_ || end_ - at_ < sizeof(T) || !proven_.can_read(at_, sizeof(T))) {
      is_good_ = false;
      return value;
    }
    value = load_any<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  void skip(uint64_t bytes) noexcept {
    if (bytes > end_ - at_) is_good_ = false;
    if (is_good_) at_ += bytes;
  }
  // Nothing behind the next bytes is read.
  void end_after(uint64_t bytes) noexcept {
    if (bytes > end_ - at_) is_good_ = false;
    if (is_good_) end_ = at_ + bytes;
  }

  uint64_t read_unsigned() noexcept {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = read<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    is_good_ = false;
    return 0;
  }
  int64_t read_signed() noexcept {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = read<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
    is_good_ = false;
    return 0;
  }

  static constexpr uint8_t is_omitted = 0xff, is_to_here = 0x10, is_indirect = 0x80;
  // A pointer in one of the encodings; only those to here and absolute ones are known.
  uintptr_t read_pointer(uint8_t encoding) noexcept {
    if (encoding == is_omitted) return 0;
    const uintptr_t here = at_;
    const uint64_t value = read_number(encoding);
    if ((encoding & 0x70) == is_to_here) return here + value;
    if ((encoding & 0x70) != 0) is_good_ = false;
    return value;
  }
  // The same without the place that it counts from.
  uint64_t read_number(uint8_t encoding) noexcept {
    switch (encoding & 0x0f) {
      case 0x00:
        return read<uint64_t>();
      case 0x01:
        return read_unsigned();
      case 0x02:
        return read<uint16_t>();
      case 0x03:
        return read<uint32_t>();
      case 0x04:
        return read<uint64_t>();
      case 0x09:
        return static_cast<uint64_t>(read_signed());
      case 0x0a:
        return static_cast<uint64_t>(int64_t{read<int16_t>()});
      case 0x0b:
        return static_cast<uint64_t>(int64_t{read<int32_t>()});
      case 0x0c:
        return read<uint64_t>();
      default:
        is_good_ = false;
        return 0;
    }
  }

 private:
  uintptr_t at_, end_;
  ProvenPage proven_;
  bool is_good_;
};

}  // namespace talus::core::unwind

#endif  // TALUS_UNWIND_TABLE_READER_HPP
