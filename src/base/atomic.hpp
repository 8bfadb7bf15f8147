// SPDX-License-Identifier: MIT
// base/atomic: Atomic<T>, the only way to access shared words.
//
// Owns: names for atomic operations that always state their order. Invariant: no operation has a
// default order, and every type is lock-free, so libatomic is never needed. Called on: any thread.
// Must not know: what the words mean; the file of each protocol states that.
// The name of a relaxed access states why it needs no order:
//   own    the thread is the sole writer, or holds the lock of all writers
//   hint   a later access decides; a stale value costs time only
//   init   the object is not yet published, or the process has one thread
//   stat   a statistic, where any recent value will do
//   claim  a step of a counter, of which each thread gets its own
// Operations called relaxed are for protocols, whose edges say more (tidy refuses others).
#ifndef TALUS_BASE_ATOMIC_HPP
#define TALUS_BASE_ATOMIC_HPP

#include <cstdint>

#include "base/attributes.hpp"
#include "base/byte_exchange.hpp"

namespace talus::core {

template <typename T>
class Atomic {
  static_assert(sizeof(T) <= sizeof(void*), "lock free on every supported CPU");

 public:
  constexpr Atomic() noexcept : value_{} {}
  constexpr explicit Atomic(T value) noexcept : value_{value} {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  // For constant initialization: no other thread can see the word.
  constexpr void begin_as(T value) noexcept { value_ = value; }

  TALUS_FAST T load_relaxed() const noexcept { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  TALUS_FAST T load_acquire() const noexcept { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
  TALUS_FAST void store_relaxed(T value) noexcept {
    __atomic_store_n(&value_, value, __ATOMIC_RELAXED);
  }
  TALUS_FAST T load_own() const noexcept { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  TALUS_FAST T load_hint() const noexcept { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  TALUS_FAST T load_init() const noexcept { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  TALUS_FAST T load_stat() const noexcept { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  TALUS_FAST void store_own(T value) noexcept {
    __atomic_store_n(&value_, value, __ATOMIC_RELAXED);
  }
  TALUS_FAST void store_hint(T value) noexcept {
    __atomic_store_n(&value_, value, __ATOMIC_RELAXED);
  }
  TALUS_FAST void store_init(T value) noexcept {
    __atomic_store_n(&value_, value, __ATOMIC_RELAXED);
  }
  TALUS_FAST void store_stat(T value) noexcept {
    __atomic_store_n(&value_, value, __ATOMIC_RELAXED);
  }
  TALUS_FAST void store_release(T value) noexcept {
    __atomic_store_n(&value_, value, __ATOMIC_RELEASE);
  }
  TALUS_FAST T exchange_acquire(T value) noexcept { return exchange<__ATOMIC_ACQUIRE>(value); }
  TALUS_FAST T exchange_release(T value) noexcept { return exchange<__ATOMIC_RELEASE>(value); }
  TALUS_FAST T exchange_acq_rel(T value) noexcept { return exchange<__ATOMIC_ACQ_REL>(value); }
  TALUS_FAST T fetch_add_relaxed(T value) noexcept {
    return __atomic_fetch_add(&value_, value, __ATOMIC_RELAXED);
  }
  TALUS_FAST T fetch_sub_relaxed(T value) noexcept {
    return __atomic_fetch_sub(&value_, value, __ATOMIC_RELAXED);
  }
  // These three return the value before.
  TALUS_FAST T stat_add(T value) noexcept { return fetch_add_relaxed(value); }
  TALUS_FAST T stat_sub(T value) noexcept { return fetch_sub_relaxed(value); }
  TALUS_FAST T claim(T value) noexcept { return fetch_add_relaxed(value); }
  TALUS_FAST void hint_add(T value) noexcept { fetch_add_relaxed(value); }
  TALUS_FAST void hint_sub(T value) noexcept { fetch_sub_relaxed(value); }
  TALUS_FAST T fetch_add_release(T value) noexcept {
    return __atomic_fetch_add(&value_, value, __ATOMIC_RELEASE);
  }
  TALUS_FAST T fetch_or_release(T bits) noexcept {
    return __atomic_fetch_or(&value_, bits, __ATOMIC_RELEASE);
  }
  TALUS_FAST T fetch_or_acq_rel(T bits) noexcept {
    return __atomic_fetch_or(&value_, bits, __ATOMIC_ACQ_REL);
  }
  // Compare and swap; on failure `expected` holds the value found. May fail spuriously.
  TALUS_FAST bool cas_weak_release(T& expected, T desired) noexcept {
    return cas<true, __ATOMIC_RELEASE, __ATOMIC_RELAXED>(expected, desired);
  }
  TALUS_FAST bool cas_acquire(T& expected, T desired) noexcept {
    return cas<false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED>(expected, desired);
  }
  TALUS_FAST bool cas_acq_rel(T& expected, T desired) noexcept {
    return cas<false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE>(expected, desired);
  }
  // The sole writer's increment: a load and a store, no locked instruction.
  TALUS_FAST void own_add(T value) noexcept { store_relaxed(load_relaxed() + value); }
  // The same by one, for fast paths: gcc makes three instructions of own_add().
  TALUS_FAST void own_count() noexcept {
#if defined(__x86_64__) && !TALUS_UNDER_TSAN
    static_assert(sizeof(T) == 8, "a counter");
    asm("addq $1, %0" : "+m"(value_) : : "cc");
#else
    own_add(1);
#endif
  }
  // The word's address, for futex(2).
  T* futex_word() noexcept { return &value_; }

 private:
  template <int Order>
  TALUS_FAST T exchange(T value) noexcept {
#if TALUS_EXCHANGES_WORDS
    if constexpr (sizeof(T) < sizeof(uint32_t)) return exchange_in_word(&value_, value);
#endif
    return __atomic_exchange_n(&value_, value, Order);
  }
  template <bool IsWeak, int Order, int OrderOfFailure>
  TALUS_FAST bool cas(T& expected, T desired) noexcept {
#if TALUS_EXCHANGES_WORDS
    if constexpr (sizeof(T) < sizeof(uint32_t)) return cas_in_word(&value_, expected, desired);
#endif
    return __atomic_compare_exchange_n(&value_, &expected, desired, IsWeak, Order, OrderOfFailure);
  }

  T value_;
};

// Keeps the compiler from moving loads and stores across; the processor may still do so.
TALUS_FAST void compiler_fence() noexcept { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // namespace talus::core

#endif  // TALUS_BASE_ATOMIC_HPP
