// SPDX-License-Identifier: MIT
// unwind/cfi_rule: runs call frame instructions up to an address, and makes a rule of the result.
//
// Owns: the instructions that compilers, libc and the kernel use, and the expressions that they
// write: of procedure linkage tables, and of frames whose stack is realigned. Invariants: three
// registers are followed: the frame pointer, the stack pointer as the CFA, and the return address.
// Whatever a rule cannot say gives a rule of kind unknown. Called on: any thread, without a lock.
// Must not know: how a description was found. Format: DWARF 5, 6.4.2.
#ifndef TALUS_UNWIND_CFI_RULE_HPP
#define TALUS_UNWIND_CFI_RULE_HPP

#include "base/base.hpp"
#include "arch/frames.hpp"
#include "unwind/cfi_find.hpp"
#include "unwind/rule.hpp"
#include "unwind/table_reader.hpp"

namespace talus::core::unwind {

enum class PlaceKind : uint8_t { same, undefined, at_cfa, at_expression, elsewhere };

// Where a register of the caller is.
struct RegisterPlace {
  PlaceKind kind = PlaceKind::same;
  int64_t offset = 0;                       // at_cfa: from the CFA
  uintptr_t expression = 0, behind_it = 0;  // at_expression
};

// The rules at an address.
struct CfiRow {
  uint64_t base_number = 0;  // the CFA: this register and an offset, unless there is an expression
  int64_t base_offset = 0;
  uintptr_t expression = 0, behind_it = 0;
  RegisterPlace fp, link;
};

class CfiProgram {
 public:
  explicit CfiProgram(const FrameDescription& description) noexcept
      : description_{description}, location_{description.code} {}

  // Runs up to the instructions for the code behind this address. False: one is not known.
  bool run(uintptr_t code) noexcept {
    const CommonPart& common = description_.common;
    if (!run_part(common.instructions, common.end, ~uintptr_t{0})) return false;
    initial_ = row_;
    return run_part(description_.instructions, description_.end, code);
  }
  const CfiRow& row() const noexcept { return row_; }

 private:
  static constexpr size_t saved_max = 4;

  bool run_part(uintptr_t at, uintptr_t end, uintptr_t code) noexcept {
    TableReader reader(at, end);
    while (!reader.is_at_end()) {
      const auto instruction = reader.read<uint8_t>();
      if (!step(reader, instruction)) return false;
      if (location_ > code) break;  // what follows is for later code
    }
    return reader.is_good();
  }

  bool step(TableReader& reader, uint8_t instruction) noexcept {
    const uint8_t low = instruction & 0x3f;
    switch (instruction & 0xc0) {
      case 0x40:
        return advance(low);
      case 0x80:
        return place(low, reader.read_unsigned());
      case 0xc0:
        return restore(low);
      default:
        break;
    }
    switch (low) {
      case 0x00:
        return true;  // nop
      case 0x01:
        location_ = reader.read_pointer(description_.common.pointer_encoding);
        return true;
      case 0x02:
        return advance(reader.read<uint8_t>());
      case 0x03:
        return advance(reader.read<uint16_t>());
      case 0x04:
        return advance(reader.read<uint32_t>());
      case 0x0a:
        return save();
      case 0x0b:
        return bring_back();
      case 0x2d:
        return true;  // AArch64 signs the return address: see arch::code_address
      case 0x2e:
        reader.read_unsigned();
        return true;  // size of arguments
      default:
        return low >= 0x0c && low <= 0x0f ? step_cfa(reader, low) : step_other(reader, low);
    }
  }
  bool step_cfa(TableReader& reader, uint8_t instruction) noexcept {
    switch (instruction) {
      case 0x0c: {  // def_cfa
        const uint64_t number = reader.read_unsigned();
        return define(number, static_cast<int64_t>(reader.read_unsigned()));
      }
      case 0x0d:
        return define(reader.read_unsigned(), row_.base_offset);
      case 0x0e:
        return define(row_.base_number, static_cast<int64_t>(reader.read_unsigned()));
      default:
        return read_expression(reader, row_.expression, row_.behind_it);
    }
  }
  bool step_other(TableReader& reader, uint8_t instruction) noexcept {
    if (instruction == 0x13) return define(row_.base_number, read_factored(reader));
    const uint64_t number = reader.read_unsigned();
    switch (instruction) {
      case 0x05:
        return place(number, reader.read_unsigned());
      case 0x06:
        return restore(number);
      case 0x07:
        return set(number, PlaceKind::undefined);
      case 0x08:
        return set(number, PlaceKind::same);
      case 0x10:
        return place_by_expression(reader, number, PlaceKind::at_expression);
      case 0x11:
        return place(number, static_cast<uint64_t>(reader.read_signed()));
      case 0x12:
        return define(number, read_factored(reader));
      case 0x09:  // in another register
      case 0x14:  // the CFA and an offset, itself
        reader.read_unsigned();
        return set(number, PlaceKind::elsewhere);
      case 0x15:
        reader.read_signed();
        return set(number, PlaceKind::elsewhere);
      case 0x16:
        return place_by_expression(reader, number, PlaceKind::elsewhere);
      case 0x2f:
        return place(number, 0 - reader.read_unsigned());
      default:
        return false;
    }
  }

  bool advance(uint64_t units) noexcept {
    location_ += units * description_.common.code_factor;
    return true;
  }
  bool define(uint64_t number, int64_t offset) noexcept {
    row_.base_number = number;
    row_.base_offset = offset;
    row_.expression = row_.behind_it = 0;
    return true;
  }
  static bool read_expression(TableReader& reader, uintptr_t& at, uintptr_t& behind) noexcept {
    const uint64_t bytes = reader.read_unsigned();
    at = reader.at();
    reader.skip(bytes);
    behind = reader.at();
    return reader.is_good();
  }
  // The place of a register that is followed; null: another.
  static RegisterPlace* place_in(CfiRow& row, uint64_t number) noexcept {
    if (number == arch::fp_number) return &row.fp;
    return number == arch::return_number ? &row.link : nullptr;
  }
  bool set(uint64_t number, PlaceKind kind, int64_t offset = 0) noexcept {
    RegisterPlace* place = place_in(row_, number);
    if (place != nullptr) *place = RegisterPlace{kind, offset, 0, 0};
    // A stack pointer that does not follow from the CFA cannot be followed. On s390x functions save
    // it, too.
    const bool is_saved = arch::cfa_above_sp != 0 && kind == PlaceKind::at_cfa;
    return number != arch::sp_number || kind == PlaceKind::same || is_saved;
  }
  bool place(uint64_t number, uint64_t units) noexcept {
    return set(number, PlaceKind::at_cfa, factored(units));
  }
  // Broken tables may say more than a number holds: it wraps, and fits no rule.
  int64_t factored(uint64_t units) const noexcept {
    return static_cast<int64_t>(units * static_cast<uint64_t>(description_.common.data_factor));
  }
  int64_t read_factored(TableReader& reader) const noexcept {
    return factored(static_cast<uint64_t>(reader.read_signed()));
  }
  bool place_by_expression(TableReader& reader, uint64_t number, PlaceKind kind) noexcept {
    RegisterPlace found{kind, 0, 0, 0};
    if (!read_expression(reader, found.expression, found.behind_it)) return false;
    RegisterPlace* place = place_in(row_, number);
    if (place != nullptr) *place = found;
    return number != arch::sp_number;
  }
  bool restore(uint64_t number) noexcept {
    RegisterPlace* place = place_in(row_, number);
    if (place != nullptr) *place = *place_in(initial_, number);
    return true;
  }
  bool save() noexcept {
    if (saved_count_ == saved_max) return false;
    saved_[saved_count_++] = row_;
    return true;
  }
  bool bring_back() noexcept {
    if (saved_count_ == 0) return false;
    row_ = saved_[--saved_count_];
    return true;
  }

  const FrameDescription& description_;
  uintptr_t location_;
  CfiRow row_, initial_;
  CfiRow saved_[saved_max];
  size_t saved_count_ = 0;
};

// An expression of a register, an offset, and perhaps the word that lies there.
struct SimpleExpression {
  bool is_known = false, is_word_there = false, is_word_behind = false;
  uint64_t number = 0;
  int64_t offset = 0;
};
inline SimpleExpression read_simple(uintptr_t at, uintptr_t behind) noexcept {
  constexpr uint8_t dereference = 0x06, plus_constant = 0x23, register_0 = 0x70, register_31 = 0x8f;
  SimpleExpression found;
  TableReader reader(at, behind);
  const auto operation = reader.read<uint8_t>();
  if (operation < register_0 || operation > register_31) return found;
  found.number = operation - register_0;
  found.offset = reader.read_signed();
  if (!reader.is_at_end()) found.is_word_there = reader.read<uint8_t>() == dereference;
  if (found.is_word_there && !reader.is_at_end()) {
    found.is_word_behind = reader.read<uint8_t>() == plus_constant && reader.read_unsigned() == 8;
    if (!found.is_word_behind) return found;
  }
  found.is_known = reader.is_good() && reader.is_at_end();
  return found;
}

// The CFA of a procedure linkage table on x86-64, whose code pushes a word at a known byte of each
// 16: breg7(rsp) 8; breg16(rip) 0; lit15; and; lit<byte>; ge; lit3; shl; plus.
inline bool read_linkage_table(uintptr_t at, uintptr_t behind, uintptr_t code,
                               int64_t& offset) noexcept {
  constexpr uint8_t known[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
  constexpr size_t at_literal = 6;
  constexpr uint8_t literal_0 = 0x30;
  if (arch::has_link_register || behind - at != sizeof known) return false;
  TableReader reader(at, behind);
  uint8_t pushed_at = 0;
  for (size_t i = 0; i < sizeof known; i++) {
    const auto byte = reader.read<uint8_t>();
    if (i == at_literal) {
      pushed_at = byte - literal_0;
    } else if (byte != known[i]) {
      return false;
    }
  }
  offset = (code & 15) >= pushed_at ? 16 : 8;
  return reader.is_good() && pushed_at < 16;
}

// Where the CFA is; false: a rule cannot say it.
inline bool set_cfa(const CfiRow& row, uintptr_t code, FrameRule& rule) noexcept {
  uint64_t number = row.base_number;
  rule.cfa_offset = row.base_offset;
  bool is_word_there = false;
  if (row.expression != 0) {
    if (read_linkage_table(row.expression, row.behind_it, code, rule.cfa_offset)) {
      rule.base = CfaBase::sp;
      return true;
    }
    const SimpleExpression simple = read_simple(row.expression, row.behind_it);
    if (!simple.is_known) return false;
    number = simple.number;
    rule.cfa_offset = simple.offset;
    is_word_there = simple.is_word_there;
    rule.is_cfa_behind = simple.is_word_behind;
  }
  if (number == arch::sp_number) {
    rule.base = is_word_there ? CfaBase::at_sp : CfaBase::sp;
  } else if (number == arch::fp_number) {
    rule.base = is_word_there ? CfaBase::at_fp : CfaBase::fp;
  } else {
    return false;
  }
  return true;
}

inline void set_fp(const RegisterPlace& place, FrameRule& rule) noexcept {
  rule.fp_place = FpPlace::lost;
  if (place.kind == PlaceKind::same) rule.fp_place = FpPlace::same;
  if (place.kind == PlaceKind::at_cfa) {
    rule.fp_place = FpPlace::at_cfa;
    rule.fp_offset = place.offset;
  }
  if (place.kind != PlaceKind::at_expression) return;
  const SimpleExpression simple = read_simple(place.expression, place.behind_it);
  if (!simple.is_known || simple.is_word_there || simple.number != arch::fp_number) return;
  rule.fp_place = FpPlace::at_fp;
  rule.fp_offset = simple.offset;
}

// The rule for the code at this address, from its description.
TALUS_APART FrameRule make_rule(const FrameDescription& description, uintptr_t code) noexcept {
  const FrameRule unknown = FrameRule::of(RuleKind::unknown);
  if (description.common.is_signal_frame) return FrameRule::of(RuleKind::signal);
  if (description.common.return_number != arch::return_number) return unknown;
  CfiProgram program(description);
  if (!program.run(code)) return unknown;
  const CfiRow& row = program.row();
  if (row.link.kind == PlaceKind::undefined) return FrameRule::of(RuleKind::outermost);
  FrameRule rule = FrameRule::of(RuleKind::frame);
  rule.is_in_link = row.link.kind == PlaceKind::same;
  rule.return_offset = row.link.offset;
  if (rule.is_in_link && !arch::has_link_register) return unknown;
  if (!rule.is_in_link && row.link.kind != PlaceKind::at_cfa) return unknown;
  if (!set_cfa(row, code, rule)) return unknown;
  set_fp(row.fp, rule);
  return rule.fits() ? rule : unknown;
}

}  // namespace talus::core::unwind

#endif  // TALUS_UNWIND_CFI_RULE_HPP
