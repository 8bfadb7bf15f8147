// SPDX-License-Identifier: MIT
// unwind/rule_table: the rules that were found, by code address.
//
// Owns: a table that only grows. A key is a code address and the generation of its module, so code
// that was loaded later at the same address has keys of its own. Invariants: the key of an entry is
// set once. Its rule is 0 until it is known, and then constant: all threads that find it find the
// same. So a thread that stops or ends within add(), and the child of a fork, leave an entry that
// the next thread completes. Called on: any thread and in signal handlers, without a lock. Must not
// know: what a rule says.
#ifndef TALUS_UNWIND_RULE_TABLE_HPP
#define TALUS_UNWIND_RULE_TABLE_HPP

#include "base/base.hpp"

namespace talus::core::unwind {

// Which module has this code: 0 is none. modules.hpp counts them.
enum class Generation : uint16_t { none = 0 };

class RuleTable {
  struct Entry {
    Atomic<uint64_t> shared_key, shared_rule;
  };

 public:
  static constexpr size_t entry_count_max = size_t{1} << 16;
  static constexpr size_t entries_each = 4;  // of a cache line
  static constexpr size_t lines_looked_at = 4;
  static_assert(sizeof(Entry) * entries_each == 64, "a line has whole entries");

  // Bytes of a table for this number of rules, a power of two. The last ones of the object need no
  // memory.
  static constexpr size_t bytes_for(size_t entry_count) noexcept {
    return sizeof(RuleTable) - (entry_count_max - entry_count) * sizeof(Entry);
  }
  // Once, before all else.
  void begin(size_t entry_count) noexcept {
    TALUS_ASSERT(is_power_of_two(entry_count) && entry_count <= entry_count_max);
    entry_mask_ = entry_count - 1;
  }

  static uint64_t key_of(uintptr_t code, Generation generation) noexcept {
    TALUS_ASSERT(code >> address_bits_max == 0 && generation != Generation::none);
    return code | static_cast<uint64_t>(generation) << address_bits_max;
  }

  // The packed rule; 0: it is not known.
  TALUS_FAST uint64_t find(uint64_t key) const noexcept {
    const Entry& first = entries_[place_of(key, 0)];
    if (TALUS_LIKELY(first.shared_key.load_acquire() == key)) {
      return first.shared_rule.load_acquire();
    }
    return find_further(key);
  }
  // False: there is no room.
  bool add(uint64_t key, uint64_t rule) noexcept {
    TALUS_ASSERT(key != 0 && rule != 0);
    for (size_t step = 0; step < lines_looked_at * entries_each; step++) {
      Entry& entry = entries_[place_of(key, step)];
      uint64_t found = entry.shared_key.load_acquire();
      if (found == 0 && entry.shared_key.cas_acq_rel(found, key)) found = key;
      if (found != key) continue;
      entry.shared_rule.store_release(rule);
      return true;
    }
    return false;
  }

 private:
  TALUS_APART uint64_t find_further(uint64_t key) const noexcept {
    for (size_t step = 0; step < lines_looked_at * entries_each; step++) {
      const Entry& entry = entries_[place_of(key, step)];
      const uint64_t found = entry.shared_key.load_acquire();
      if (found == key) return entry.shared_rule.load_acquire();
      if (found == 0) return 0;
    }
    return 0;
  }

  static constexpr unsigned address_bits_max = 48;
  TALUS_FAST size_t place_of(uint64_t key, size_t step) const noexcept {
    const uint64_t line = (key * 0x9e3779b97f4a7c15u >> 32) + step / entries_each;
    return (line * entries_each + step % entries_each) & entry_mask_;
  }

  size_t entry_mask_;
  alignas(64) Entry entries_[entry_count_max];
};

}  // namespace talus::core::unwind

#endif  // TALUS_UNWIND_RULE_TABLE_HPP
