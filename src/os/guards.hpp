// SPDX-License-Identifier: MIT
// os/guards: pages without access at the ends of ranges and of metadata (TALUS_GUARD_PAGES).
//
// A kernel with guards (Linux 6.13) sets them inside a mapping. Before that each guard divides a
// mapping, and the kernel bounds their number: guards get a quarter of what it allows.
//
// Owns: how this process sets guards, and how many there are. Invariants: the first guard decides
// how, for the process's life. Memory of a provider gets no guard. A range goes back only after its
// guards were lifted. Called on: any thread; most calls enter the kernel. Must not know: what lies
// before a guard.
#ifndef TALUS_OS_GUARDS_HPP
#define TALUS_OS_GUARDS_HPP

#include "base/base.hpp"
#include "os/system.hpp"

namespace talus::core {

class Guards {
 public:
  // A guard adds two mappings at most where the kernel has none.
  static constexpr size_t mappings_each = 2;
  static constexpr size_t mappings_usual = 65530 / 4;

  void bound_mappings(size_t most) noexcept { shared_mappings_most_.store_init(most); }

  // The pages lose their contents, and an access faults. False: they stay usable.
  TALUS_APART bool set(void* at, size_t bytes) noexcept {
    const bool is_set = set_uncounted(at, bytes);
    (is_set ? shared_count_ : shared_missing_).stat_add(1);
    return is_set;
  }
  // A place that gets no guard, whatever the kernel has.
  void note_missing() noexcept { shared_missing_.stat_add(1); }
  // Pages that set() took can be used again, and read as zero. False: they cannot.
  TALUS_APART bool lift(void* at, size_t bytes) noexcept {
    const bool has_mappings = shared_way_.load_hint() == by_mappings;
    const bool is_lifted =
        has_mappings ? os::System::allow(at, bytes) : os::System::lift_guards(at, bytes);
    if (!is_lifted) return false;
    if (has_mappings) shared_mappings_.stat_sub(mappings_each);
    shared_count_.stat_sub(1);
    return true;
  }

  // Guards that there are, and places so far that got none.
  size_t count() const noexcept { return shared_count_.load_stat(); }
  size_t missing_count() const noexcept { return shared_missing_.load_stat(); }

 private:
  friend struct ObservedLayout;  // observe/observed_fields.hpp
  enum : uint8_t { unknown, by_kernel, by_mappings };

  bool set_uncounted(void* at, size_t bytes) noexcept {
    if (shared_way_.load_hint() != by_mappings) {
      uint8_t way = unknown;
      if (os::System::set_guards(at, bytes)) {
        shared_way_.cas_acq_rel(way, by_kernel);
        if (way != by_mappings) return true;
        os::System::lift_guards(at, bytes);  // another thread was refused at the same moment
      } else {
        shared_way_.cas_acq_rel(way, by_mappings);
        if (way == by_kernel) return false;
      }
    }
    const size_t before = shared_mappings_.stat_add(mappings_each);
    const bool has_room = before + mappings_each <= shared_mappings_most_.load_hint();
    if (has_room && os::System::decommit(at, bytes)) return true;
    shared_mappings_.stat_sub(mappings_each);
    return false;
  }

  Atomic<uint8_t> shared_way_;
  Atomic<size_t> shared_mappings_most_{mappings_usual};
  Atomic<size_t> shared_mappings_;  // of guards, at most
  Atomic<size_t> shared_count_;
  Atomic<size_t> shared_missing_;
};

TALUS_CONSTINIT inline Guards guards;

}  // namespace talus::core

#endif  // TALUS_OS_GUARDS_HPP
