// SPDX-License-Identifier: MIT
// classes/fitted: size classes that are made while the program runs, each for one size that it asks
// for often.
//
// A block of a fixed class is up to a third larger than what was asked for. All blocks of a large
// class begin in the same few sets of a processor's cache. A fitted class has blocks of the
// size that was asked for, rounded up to an odd number of cache lines. So neighbours begin in
// different sets (docs/decisions/0041).
// Owns: which class serves a request above fast_bytes_max, and the rows of fitted classes.
// Invariants: a class is made once and stays. A step of sizes has at most one fitted class. The row
// is written before the step names its class and before the class counts; a reader of either sees
// it. So does the holder of the lock of a heap with a slab of the class.
// Called on: any thread; make() by the thread that holds the registry's lock. Must not know: for
// which sizes classes are made (cache/fitting.hpp).
#ifndef TALUS_CLASSES_FITTED_HPP
#define TALUS_CLASSES_FITTED_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"

namespace talus::core {

class FittedClasses {
 public:
  constexpr FittedClasses() noexcept {
    for (size_t step = 0; step <= medium_bytes_max / class_step_bytes; step++) {
      class_of_steps_[step].begin_as(size_class_table.class_of_steps[step]);
    }
  }

  // The class of the step of a request of more than fast_bytes_max and at most medium_bytes_max
  // bytes. A fitted one may be too small: see find().
  TALUS_FAST ClassId class_near(size_t bytes) const noexcept {
    TALUS_ASSERT(bytes > fast_bytes_max && bytes <= medium_bytes_max);
    return ClassId{class_of_steps_[step_of(bytes)].load_hint()};  // fitted: find() decides
  }
  // The fitted class for a request of more than fast_bytes_max and at most fitted_bytes_max bytes.
  // False: none serves it.
  bool find(size_t bytes, ClassId& id) const noexcept {
    id = ClassId{class_of_steps_[step_of(bytes)].load_acquire()};
    return is_fitted(id) && bytes <= size_class_row(id).block_bytes;
  }

  // May a class be made for this size? It may not if its step has one, or all places are taken.
  bool has_room_for(size_t bytes) const noexcept {
    const Places& places = is_small(bytes) ? small_ : medium_;
    return places.made.load_hint() < places.most &&
           !is_fitted(ClassId{class_of_steps_[step_of(bytes)].load_hint()});
  }

  // Makes a class for this size, or lets the one with such blocks serve it, too. Calls prepare(id)
  // before any thread sees the class. The caller holds the lock of all that make classes.
  template <typename Prepare>
  void make(size_t bytes, Prepare prepare) noexcept {
    if (!has_room_for(bytes)) return;  // another thread was first
    Places& places = is_small(bytes) ? small_ : medium_;
    const uint32_t made = places.made.load_own();
    size_t index = places.first;
    while (index < places.first + made &&
           size_class_rows.rows[index].block_bytes != fitted_bytes_of(bytes)) {
      index++;
    }
    if (index == places.first + made) {
      size_class_rows.rows[index] = derive_fitted_class(bytes);
      prepare(ClassId{static_cast<uint8_t>(index)});
      places.made.store_release(made + 1);
    }
    class_of_steps_[step_of(bytes)].store_release(static_cast<uint8_t>(index));
  }

  // May the row of this class be read by a thread that knows of no slab of it?
  bool is_made(ClassId id) const noexcept {
    const size_t index = index_of(id);
    if (index < fixed_class_count) return true;
    const Places& places = index < fitted_medium_first ? small_ : medium_;
    return index - places.first < places.made.load_acquire();
  }

  // Classes made so far.
  size_t count() const noexcept { return small_.made.load_stat() + medium_.made.load_stat(); }

 private:
  // Where classes of one kind may be made, and how many are.
  struct Places {
    size_t first, most;
    Atomic<uint32_t> made;  // written under the lock
  };

  static constexpr size_t step_count = fitted_bytes_max / class_step_bytes + 1;

  static constexpr size_t step_of(size_t bytes) noexcept {
    return (bytes + class_step_bytes - 1) / class_step_bytes;
  }
  static constexpr bool is_small(size_t bytes) noexcept {
    return fitted_bytes_of(bytes) <= small_bytes_max;
  }

  // Fixed or fitted; by class_step_bytes. Above medium_bytes_max: the first class, or fitted.
  Atomic<uint8_t> class_of_steps_[step_count];
  Places small_{fitted_small_first, fitted_small_classes, {}};
  Places medium_{fitted_medium_first, fitted_medium_classes, {}};
};

TALUS_CONSTINIT inline FittedClasses fitted_classes;

}  // namespace talus::core

#endif  // TALUS_CLASSES_FITTED_HPP
