// SPDX-License-Identifier: MIT
// unwind/rule: how to get from a frame to its caller, in 8 bytes.
//
// Owns: the parts of a rule, and how they are packed. The CFA (canonical frame address) is the
// stack pointer of the caller after the return. Invariant: a packed rule is not 0, so 0 stands for
// a rule that is not known yet. Called on: any thread. Must not know: where rules come from.
#ifndef TALUS_UNWIND_RULE_HPP
#define TALUS_UNWIND_RULE_HPP

#include "base/base.hpp"

namespace talus::core::unwind {

enum class RuleKind : uint8_t {
  none,       // packed: not known yet
  frame,      // the other fields say where the caller is
  outermost,  // the tables say that there is no caller
  signal,     // the kernel called a signal handler: the registers lie at the stack pointer
  unknown     // the tables say nothing, or more than a rule can
};
// at_*: the word that lies there is the CFA.
enum class CfaBase : uint8_t { sp, fp, at_sp, at_fp };
// Where the caller's frame pointer is. lost: nowhere.
enum class FpPlace : uint8_t { same, at_cfa, at_fp, lost };

struct FrameRule {
  RuleKind kind = RuleKind::unknown;
  CfaBase base = CfaBase::sp;
  FpPlace fp_place = FpPlace::same;
  bool is_in_link = false;     // the return address is in the link register
  bool is_cfa_behind = false;  // the CFA is a word above what the base says
  int64_t cfa_offset = 0, fp_offset = 0, return_offset = 0;  // bytes; from the CFA if not said

  // The kind, and a rule of this kind alone.
  static constexpr FrameRule of(RuleKind kind) noexcept {
    FrameRule rule;
    rule.kind = kind;
    return rule;
  }

  static constexpr unsigned cfa_bits = 19, fp_bits = 18, return_bits = 18;
  static constexpr unsigned fp_at = cfa_bits, return_at = fp_at + fp_bits;
  static constexpr unsigned flags_at = return_at + return_bits;
  static constexpr unsigned kind_at = flags_at + 6;
  static_assert(kind_at + 3 == 64, "a rule has 8 bytes");
  static_assert(kind_at == flags_at + 6 && static_cast<int>(CfaBase::fp) == 1 &&
                    static_cast<int>(FpPlace::at_cfa) == 1,
                "is_plain() and the rest know the bits");

  static constexpr bool fits(int64_t bytes, unsigned bits) noexcept {
    const int64_t end = int64_t{8} << (bits - 1);
    return bytes % 8 == 0 && bytes >= -end && bytes < end;
  }
  // Can it be packed?
  constexpr bool fits() const noexcept {
    return fits(cfa_offset, cfa_bits) && fits(fp_offset, fp_bits) &&
           fits(return_offset, return_bits);
  }

  constexpr uint64_t packed() const noexcept {
    TALUS_ASSERT(fits() && kind != RuleKind::none);
    const uint64_t flags = static_cast<uint64_t>(base) | static_cast<uint64_t>(fp_place) << 2 |
                           static_cast<uint64_t>(is_in_link) << 4 |
                           static_cast<uint64_t>(is_cfa_behind) << 5;
    return words(cfa_offset, cfa_bits) | words(fp_offset, fp_bits) << fp_at |
           words(return_offset, return_bits) << return_at | flags << flags_at |
           static_cast<uint64_t>(kind) << kind_at;
  }

  // Most frames are plain: the CFA by a register, the return address in memory, and the frame
  // pointer as it was or at the CFA. A walk need not unpack their rules.
  TALUS_FAST static constexpr bool is_plain(uint64_t packed) noexcept {
    constexpr uint64_t not_plain = 0x3a, all_kinds = 7 << 6;  // at_*, at_fp or lost, link, behind
    constexpr uint64_t plain = static_cast<uint64_t>(RuleKind::frame) << 6;
    return (packed >> flags_at & (not_plain | all_kinds)) == plain;
  }
  TALUS_FAST static constexpr bool is_by_fp(uint64_t packed) noexcept {
    return (packed >> flags_at & 1) != 0;
  }
  TALUS_FAST static constexpr bool has_fp_at_cfa(uint64_t packed) noexcept {
    return (packed >> flags_at & 4) != 0;
  }
  TALUS_FAST static constexpr uintptr_t cfa_offset_of(uint64_t packed) noexcept {
    return static_cast<uintptr_t>(bytes_of(packed, 0, cfa_bits));
  }
  TALUS_FAST static constexpr uintptr_t fp_offset_of(uint64_t packed) noexcept {
    return static_cast<uintptr_t>(bytes_of(packed, fp_at, fp_bits));
  }
  TALUS_FAST static constexpr uintptr_t return_offset_of(uint64_t packed) noexcept {
    return static_cast<uintptr_t>(bytes_of(packed, return_at, return_bits));
  }

  static constexpr FrameRule unpacked(uint64_t packed) noexcept {
    FrameRule rule;
    rule.kind = static_cast<RuleKind>(packed >> kind_at);
    const uint64_t flags = packed >> flags_at;
    rule.base = static_cast<CfaBase>(flags & 3);
    rule.fp_place = static_cast<FpPlace>(flags >> 2 & 3);
    rule.is_in_link = (flags >> 4 & 1) != 0;
    rule.is_cfa_behind = (flags >> 5 & 1) != 0;
    rule.cfa_offset = bytes_of(packed, 0, cfa_bits);
    rule.fp_offset = bytes_of(packed, fp_at, fp_bits);
    rule.return_offset = bytes_of(packed, return_at, return_bits);
    return rule;
  }

 private:
  static constexpr uint64_t words(int64_t bytes, unsigned bits) noexcept {
    return static_cast<uint64_t>(bytes / 8) & low_bits(bits);
  }
  TALUS_FAST static constexpr int64_t bytes_of(uint64_t packed, unsigned at,
                                               unsigned bits) noexcept {
    return (static_cast<int64_t>(packed << (64 - at - bits)) >> (64 - bits)) * 8;
  }
};

}  // namespace talus::core::unwind

#endif  // TALUS_UNWIND_RULE_HPP
