// SPDX-License-Identifier: MIT
// model/include/base/atomic: Atomic<T> whose every operation is a step of the model.
//
// Stands before src/base/atomic.hpp in the include path, so that the shipped protocols compile
// against it unchanged. Same names, same size, zeroed bytes are a valid object (descriptors are
// made from zeroed memory). The object holds the newest value; its history is in model::memory.
// The names with `broken_` are weaker orders that no shipped file may use: mutants use them.
// Called on: fibers in a run; alone before and after.
#ifndef TALUS_BASE_ATOMIC_HPP
#define TALUS_BASE_ATOMIC_HPP

#include <cstdint>
#include <cstring>

#include "base/attributes.hpp"
#include "memory.hpp"

namespace talus::core {

template <typename T>
class Atomic {
  static_assert(sizeof(T) <= sizeof(void*), "as in the shipped one");

 public:
  constexpr Atomic() noexcept : value_{} {}
  constexpr explicit Atomic(T value) noexcept : value_{value} {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load_relaxed() const noexcept { return load(model::Order::relaxed); }
  T load_own() const noexcept { return load_relaxed(); }
  T load_hint() const noexcept { return load_relaxed(); }
  T load_init() const noexcept { return load_relaxed(); }
  T load_stat() const noexcept { return load_relaxed(); }
  void store_own(T value) noexcept { store_relaxed(value); }
  void store_hint(T value) noexcept { store_relaxed(value); }
  void store_init(T value) noexcept { store_relaxed(value); }
  void store_stat(T value) noexcept { store_relaxed(value); }
  T load_acquire() const noexcept { return load(model::Order::acquire); }
  void store_relaxed(T value) noexcept { store(value, model::Order::relaxed); }
  void store_release(T value) noexcept { store(value, model::Order::release); }
  T exchange_acquire(T value) noexcept { return exchange(value, model::Order::acquire); }
  T exchange_release(T value) noexcept { return exchange(value, model::Order::release); }
  T exchange_acq_rel(T value) noexcept { return exchange(value, model::Order::acq_rel); }
  T broken_exchange_relaxed(T value) noexcept { return exchange(value, model::Order::relaxed); }

  T fetch_add_relaxed(T value) noexcept {
    return update([value](T old) { return static_cast<T>(old + value); }, model::Order::relaxed,
                  "fetch_add");
  }
  T fetch_sub_relaxed(T value) noexcept {
    return update([value](T old) { return static_cast<T>(old - value); }, model::Order::relaxed,
                  "fetch_sub");
  }
  T stat_add(T value) noexcept { return fetch_add_relaxed(value); }
  T stat_sub(T value) noexcept { return fetch_sub_relaxed(value); }
  T fetch_or_release(T bits) noexcept { return fetch_or(bits, model::Order::release); }
  T fetch_or_acq_rel(T bits) noexcept { return fetch_or(bits, model::Order::acq_rel); }
  T broken_fetch_or_relaxed(T bits) noexcept { return fetch_or(bits, model::Order::relaxed); }

  bool cas_weak_release(T& expected, T desired) noexcept {
    return cas(expected, desired, model::Order::release, model::Order::relaxed, true);
  }
  bool cas_acquire(T& expected, T desired) noexcept {
    return cas(expected, desired, model::Order::acquire, model::Order::relaxed, false);
  }
  bool cas_acq_rel(T& expected, T desired) noexcept {
    return cas(expected, desired, model::Order::acq_rel, model::Order::acquire, false);
  }
  bool broken_cas_weak_relaxed(T& expected, T desired) noexcept {
    return cas(expected, desired, model::Order::relaxed, model::Order::relaxed, true);
  }
  bool broken_cas_relaxed(T& expected, T desired) noexcept {
    return cas(expected, desired, model::Order::relaxed, model::Order::relaxed, false);
  }

  void own_add(T value) noexcept { store_relaxed(static_cast<T>(load_relaxed() + value)); }
  T* futex_word() noexcept { return &value_; }
  // For checks between steps: the newest value, without a step.
  T peek() const noexcept { return value_; }

 private:
  static bool in_run() { return model::explorer.current() != model::no_thread; }
  static uint64_t to_bits(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T from_bits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  T load(model::Order order) const {
    if (!in_run()) return value_;
    model::explorer.point();
    return from_bits(model::load_now(this, to_bits(value_), order));
  }
  void store(T value, model::Order order) {
    if (in_run()) {
      model::explorer.point();
      model::store_now(this, to_bits(value_), to_bits(value), order);
    }
    value_ = value;
  }
  template <typename Change>
  T update(Change change, model::Order order, const char* what) {
    if (in_run()) model::explorer.point();
    const T old = value_;
    const T value = change(old);
    if (in_run()) model::replace_now(this, to_bits(old), to_bits(value), order, what);
    value_ = value;
    return old;
  }
  T exchange(T value, model::Order order) {
    return update([value](T) { return value; }, order, "exchange");
  }
  T fetch_or(T bits, model::Order order) {
    return update([bits](T old) { return static_cast<T>(old | bits); }, order, "fetch_or");
  }
  bool cas(T& expected, T desired, model::Order success, model::Order failure, bool is_weak) {
    if (!in_run()) {
      const bool is_same = value_ == expected;
      (is_same ? value_ : expected) = is_same ? desired : value_;
      return is_same;
    }
    model::explorer.point();
    uint64_t found = to_bits(expected);
    const bool swapped =
        model::cas_now(this, to_bits(value_), found, to_bits(desired), success, failure, is_weak);
    if (swapped) value_ = desired;
    if (!swapped) expected = from_bits(found);
    return swapped;
  }

  T value_;
};

}  // namespace talus::core

#endif  // TALUS_BASE_ATOMIC_HPP
