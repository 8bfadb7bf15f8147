// SPDX-License-Identifier: MIT
// unwind/unwinder: the return addresses of the calling thread, without a lock and without malloc.
//
//   code address -> module, generation -> rule: known, or made from the module's tables once
//   rule         -> the caller's stack pointer, frame pointer and code address
//
// Owns: the walk, and what it learnt. Invariants: the stack pointer grows from frame to frame,
// except where the kernel called a signal handler. No read can fault (stack_reader.hpp,
// table_reader.hpp). Nothing has memory before begin(). Called on: any thread and in signal
// handlers. Must not know: what the addresses are for.
#ifndef TALUS_UNWIND_UNWINDER_HPP
#define TALUS_UNWIND_UNWINDER_HPP

#include "base/base.hpp"
#include "arch/frames.hpp"
#include "os/os.hpp"
#include "unwind/cfi_find.hpp"
#include "unwind/cfi_rule.hpp"
#include "unwind/last_walk.hpp"
#include "unwind/modules.hpp"
#include "unwind/rule.hpp"
#include "unwind/rule_table.hpp"
#include "unwind/stack_reader.hpp"
#include "unwind/table_reader.hpp"

namespace talus::core::unwind {

// Why a walk ended.
enum class WalkEnd : uint8_t {
  outermost,  // all frames were found
  depth,      // there is no room for more
  no_module,  // code that no module has, as that of a just-in-time compiler
  no_rule,    // the module's tables do not say, or no rule can
  bad_stack   // a word of the stack cannot be read, or the frames do not follow one another
};

struct Walk {
  size_t frames = 0;
  WalkEnd end = WalkEnd::outermost;
};

// What libc offers; null: it does not.
struct LibcOfModules {
  FindObject* find_object = nullptr;
  ListObjects* list_objects = nullptr;
};

struct UnwindTables {
  ModuleGenerations generations;
  ModuleList list;
  RuleTable rules;  // last: it may have fewer rules than the object
};

class Unwinder {
 public:
  // Once, before the first walk, and not within a call of Talus. It keeps up to this number of
  // rules, a power of two. False: there is no memory.
  bool begin(const LibcOfModules& libc, size_t rules = RuleTable::entry_count_max) noexcept {
    TALUS_ASSERT(tables_ == nullptr);
    libc_ = libc;
    const size_t less = sizeof(RuleTable) - RuleTable::bytes_for(rules);
    bytes_ = round_up(sizeof(UnwindTables) - less, os::page_bytes());
    void* memory = os::map_pages(nullptr, bytes_);
    if (memory == nullptr) return false;
    tables_ = static_cast<UnwindTables*>(memory);  // all zero, which is their first state
    tables_->rules.begin(rules);
    renew_list();
    learn_lasting();
    return true;
  }
  // Gives the memory back. No thread walks.
  void end() noexcept {
    if (tables_ == nullptr) return;
    os::unmap_or_purge(tables_, bytes_);
    tables_ = nullptr;
  }
  // Learns which modules there are, where libc does not find them by address. On one thread at a
  // time, and not within a call of Talus.
  void renew_list() noexcept {
    const bool finds = libc_.find_object != nullptr;
    const bool lists = finds || libc_.list_objects != nullptr;
    const uintptr_t program = lists ? 0 : os::System::program_image();
    ListObjects* list_objects = finds ? nullptr : libc_.list_objects;
    tables_->list.renew(os::System::kernel_image(), program, list_objects);
  }

  // Writes the return addresses of the calling thread, the innermost first. Where a signal came
  // between two instructions, the address is one more, so each address less 1 is in its function.
  // Frames that were in the last walk of the thread, if it keeps that, are found sooner.
  TALUS_APART Walk walk(StackBounds& bounds, uintptr_t* addresses, size_t count_max,
                        LastWalk* last = nullptr) noexcept {
    const arch::Registers here = arch::current_registers();
    Recall recall(last);
    return walk_from(here, bounds, addresses, count_max, recall);
  }

  // Rules that were made from tables, and those of them that found no room.
  uint64_t rules_made() const noexcept { return shared_rules_made_.load_stat(); }
  uint64_t rules_lost() const noexcept { return shared_rules_lost_.load_stat(); }

 private:
  struct Position {
    arch::Registers at;
    bool is_exact = true;  // at.pc is the next instruction, and at.link as it was there
    Module module;         // of the code before
    Generation generation = Generation::none;

    uintptr_t code() const noexcept { return at.pc - (is_exact ? 0 : 1); }
  };

  // The frame of `here` is the caller's own, and left out.
  TALUS_FAST Walk walk_from(const arch::Registers& here, StackBounds& bounds, uintptr_t* addresses,
                            size_t count_max, Recall& recall) noexcept {
    TALUS_ASSERT(tables_ != nullptr);
    StackReader stack(bounds, here.sp);
    Position position;
    position.at = here;
    Walk walk;
    Notes notes{addresses, 0, count_max};
    while (step(position, stack, walk.end) && position.at.pc != 0) {
      walk.end = follow_plain(position, stack, notes, recall);
      if (walk.end == WalkEnd::depth || walk.end == WalkEnd::bad_stack) break;
      if (position.at.pc == 0) break;
    }
    walk.frames = notes.count;
    const bool is_over = walk.end == WalkEnd::depth || walk.end == WalkEnd::bad_stack;
    if (position.at.pc == 0 && !is_over) walk.end = WalkEnd::outermost;
    return walk;
  }

  // Where the addresses go.
  struct Notes {
    uintptr_t* addresses;
    size_t count, count_max;
  };

  // Notes the position, and goes on while frames are plain and their rules are known. depth or
  // bad_stack: the walk ends. Else the next frame needs more.
  TALUS_FAST WalkEnd follow_plain(Position& position, StackReader& stack, Notes& notes,
                                  Recall& recall) noexcept {
    uintptr_t &pc = position.at.pc, &sp = position.at.sp, &fp = position.at.fp;
    const RuleTable& rules = tables_->rules;
    while (pc != 0) {
      if (notes.count == notes.count_max) return WalkEnd::depth;
      notes.addresses[notes.count++] = position.code() + 1;
      KnownFrame& frame = recall.note(sp, fp);
      const uintptr_t code = position.code();
      if (TALUS_UNLIKELY(!position.module.has(code)) && !enter_module(position, code)) break;
      if (position.generation == Generation::none) break;
      frame.key = RuleTable::key_of(code, position.generation);
      if (const KnownFrame* known = recall.find(frame)) {
        position.is_exact = false;
        if (!follow_known(position, stack, notes, recall, known)) return WalkEnd::bad_stack;
        continue;
      }
      const uint64_t packed = rules.find(frame.key);
      if (TALUS_UNLIKELY(!FrameRule::is_plain(packed))) break;
      const uintptr_t cfa =
          (FrameRule::is_by_fp(packed) ? fp : sp) + FrameRule::cfa_offset_of(packed);
      uintptr_t caller = 0;
      const bool has_fp = FrameRule::has_fp_at_cfa(packed);
      frame.return_place = cfa + FrameRule::return_offset_of(packed);
      frame.fp_place = has_fp ? cfa + FrameRule::fp_offset_of(packed) : 0;
      const bool is_read =
          stack.read(frame.return_place, caller) && (!has_fp || stack.read(frame.fp_place, fp));
      if (TALUS_UNLIKELY(cfa - arch::cfa_above_sp <= sp || !is_read)) return WalkEnd::bad_stack;
      pc = arch::code_address(caller);
      sp = cfa - arch::cfa_above_sp;
      position.is_exact = false;
    }
    return WalkEnd::outermost;
  }

  // The same from a frame of the last walk on, which is noted, as long as frames are those of the
  // last walk. False: a word cannot be read.
  TALUS_FAST bool follow_known(Position& position, StackReader& stack, Notes& notes, Recall& recall,
                               const KnownFrame* known) noexcept {
    const Module module = position.module;
    const Generation generation = position.generation;
    uintptr_t fp = position.at.fp, pc = 0, *to = notes.addresses + notes.count;
    uintptr_t* const to_end = notes.addresses + notes.count_max;
    bool is_read = false;
    recall.begin_run(known);
    for (;;) {
      is_read = stack.read(known->return_place, pc) &&
                (known->fp_place == 0 || stack.read(known->fp_place, fp));
      known++;
      if (TALUS_UNLIKELY(!is_read)) break;
      pc = arch::code_address(pc);
      if (TALUS_UNLIKELY(!module.has(pc - 1)) || to == to_end) break;
      const uint64_t key = RuleTable::key_of(pc - 1, generation);
      if (key != known->key || fp != known->fp || !Recall::is_known(known)) break;
      *to++ = pc;
    }
    recall.end_run(known);
    notes.count = static_cast<size_t>(to - notes.addresses);
    position.at.pc = pc;
    position.at.sp = known->sp;
    position.at.fp = fp;
    return is_read;
  }

  // Goes to the caller, by any rule. False: there is none, or it is not found.
  TALUS_APART bool step(Position& position, StackReader& stack, WalkEnd& end) noexcept {
    const FrameRule rule = FrameRule::unpacked(rule_of(position));
    if (rule.kind == RuleKind::frame || rule.kind == RuleKind::signal) {
      end = WalkEnd::bad_stack;
      const bool is_frame = rule.kind == RuleKind::frame;
      if (!(is_frame ? follow(rule, position, stack) : follow_signal(position, stack)))
        return false;
      end = WalkEnd::outermost;  // if the caller is none, as on ppc64le
      return true;
    }
    end = rule.kind == RuleKind::outermost ? WalkEnd::outermost : WalkEnd::no_rule;
    if (rule.kind == RuleKind::none) end = WalkEnd::no_module;
    return false;
  }

  static bool follow(const FrameRule& rule, Position& position, StackReader& stack) noexcept {
    arch::Registers& at = position.at;
    const bool is_by_sp = rule.base == CfaBase::sp || rule.base == CfaBase::at_sp;
    uintptr_t cfa = (is_by_sp ? at.sp : at.fp) + static_cast<uintptr_t>(rule.cfa_offset);
    if (rule.base == CfaBase::at_sp || rule.base == CfaBase::at_fp) {
      if (!stack.read(cfa, cfa)) return false;
      if (rule.is_cfa_behind) cfa += sizeof(void*);
    }
    uintptr_t caller = at.link;
    if (rule.is_in_link) {
      if (!position.is_exact || cfa - arch::cfa_above_sp < at.sp) return false;
    } else {
      const uintptr_t place = cfa + static_cast<uintptr_t>(rule.return_offset);
      const bool is_above = cfa - arch::cfa_above_sp > at.sp;
      if (!is_above || !stack.read(place, caller)) return false;
    }
    if (rule.fp_place == FpPlace::at_cfa || rule.fp_place == FpPlace::at_fp) {
      const uintptr_t base = rule.fp_place == FpPlace::at_cfa ? cfa : at.fp;
      if (!stack.read(base + static_cast<uintptr_t>(rule.fp_offset), at.fp)) return false;
    } else if (rule.fp_place == FpPlace::lost) {
      at.fp = 0;
    }
    at.pc = arch::code_address(caller);
    at.sp = cfa - arch::cfa_above_sp;
    position.is_exact = false;
    return true;
  }

  static bool follow_signal(Position& position, StackReader& stack) noexcept {
    arch::Registers& at = position.at;
    const bool is_bare = arch::has_bare_signals && has_bytes(at.pc, arch::bare_signal_return_code);
    const uintptr_t frame = at.sp - (is_bare ? arch::bare_signal_lacks : 0);
    if (!stack.read(frame + arch::signal_pc, at.pc)) return false;
    if (!stack.read(frame + arch::signal_sp, at.sp)) return false;
    if (!stack.read(frame + arch::signal_fp, at.fp)) return false;
    if (arch::has_link_register && !stack.read(frame + arch::signal_link, at.link)) return false;
    position.is_exact = true;
    return true;
  }

  // The packed rule for this position; 0: no module has the code.
  uint64_t rule_of(Position& position) noexcept {
    const uintptr_t code = position.code();
    if (TALUS_UNLIKELY(!position.module.has(code)) && !enter_module(position, code)) {
      return is_signal_return(position.at.pc) ? FrameRule::of(RuleKind::signal).packed() : 0;
    }
    if (TALUS_LIKELY(position.generation != Generation::none)) {
      const uint64_t key = RuleTable::key_of(code, position.generation);
      const uint64_t packed = tables_->rules.find(key);
      if (TALUS_LIKELY(packed != 0)) return packed;
    }
    return make(position, code);
  }

  TALUS_APART uint64_t make(const Position& position, uintptr_t code) noexcept {
    FrameDescription description;
    FrameRule rule;
    if (find_description(position.module, code, description)) {
      rule = make_rule(description, code);
    } else if (is_signal_return(position.at.pc)) {
      rule = FrameRule::of(RuleKind::signal);
    }
    const uint64_t packed = rule.packed();
    shared_rules_made_.stat_add(1);
    const bool is_kept = position.generation != Generation::none &&
                         tables_->rules.add(RuleTable::key_of(code, position.generation), packed);
    if (!is_kept) shared_rules_lost_.stat_add(1);
    return packed;
  }

  TALUS_APART bool enter_module(Position& position, uintptr_t code) noexcept {
    for (const LastingModule& one : lasting_) {
      if (!one.module.has(code)) continue;
      position.module = one.module;
      position.generation = one.generation;
      return true;
    }
    return find_module(position, code);
  }
  bool find_module(Position& position, uintptr_t code) noexcept {
    Module found;
    FoundObject object{};
    if (libc_.find_object != nullptr &&
        libc_.find_object(reinterpret_cast<void*>(code), &object) == 0) {
      found.begin = reinterpret_cast<uintptr_t>(object.map_begin);
      found.end = reinterpret_cast<uintptr_t>(object.map_end);
      found.header = reinterpret_cast<uintptr_t>(object.unwind_header);
    } else {
      found = tables_->list.find(code);
    }
    position.module = found;
    if (!found.has(code)) return false;
    position.generation = tables_->generations.of(found);
    return true;
  }

  // The program and libc stay where they are, so libc need not be asked again.
  void learn_lasting() noexcept {
    if (libc_.find_object == nullptr) return;
    const uintptr_t codes[] = {os::System::program_image(),
                               os::System::libc_function("__libc_start_main")};
    static_assert(sizeof codes / sizeof *codes == sizeof lasting_ / sizeof *lasting_);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
      Position position;
      if (codes[i] == 0 || !find_module(position, codes[i])) continue;
      lasting_[i] = {position.module, position.generation};
    }
  }

  // Is this the code by which a signal handler returns to the kernel? Some kernels and libcs have
  // no tables for it.
  TALUS_APART static bool is_signal_return(uintptr_t code) noexcept {
    return has_bytes(code, arch::signal_return_code) ||
           (arch::has_bare_signals && has_bytes(code, arch::bare_signal_return_code));
  }
  template <size_t Count>
  static bool has_bytes(uintptr_t code, const uint8_t (&bytes)[Count]) noexcept {
    TableReader reader(code, code + Count);
    for (const uint8_t byte : bytes) {
      if (reader.read<uint8_t>() != byte) return false;
    }
    return reader.is_good();
  }

  struct LastingModule {
    Module module;
    Generation generation = Generation::none;
  };

  UnwindTables* tables_ = nullptr;
  size_t bytes_ = 0;  // of the tables
  LibcOfModules libc_;
  LastingModule lasting_[2];  // constant from begin() on
  Atomic<uint64_t> shared_rules_made_, shared_rules_lost_;
};

}  // namespace talus::core::unwind

#endif  // TALUS_UNWIND_UNWINDER_HPP
