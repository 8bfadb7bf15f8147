// SPDX-License-Identifier: MIT
// tests/unit/unwind/programs/shapes: frames as compilers make them: with arrays of all sizes, with
// realigned stacks, with many registers, by the library's callbacks, in exceptions and handlers.
// Each shape goes on with the trip once or twice. None knows what looks at the stack.
#include "shapes.hpp"

#include <alloca.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

#define APART __attribute__((noinline))

namespace talus::core::test {
namespace {

// What the compiler cannot know, so that no frame is optimised away.
template <typename T>
void keep(T& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

template <size_t Bytes>
APART uint64_t array(Trip& trip) {
  volatile char local[Bytes];
  local[trip.depth % Bytes] = static_cast<char>(trip.depth);
  const uint64_t result = travel(trip);
  return result + static_cast<uint64_t>(local[trip.depth % Bytes]);
}

APART uint64_t variable_array(Trip& trip) {
  const size_t bytes = 16 + trip.next() % 3000;
  auto* local = static_cast<char*>(alloca(bytes));
  std::memset(local, 1, bytes);
  const uint64_t result = travel(trip);
  keep(local[bytes - 1]);
  return result + static_cast<uint64_t>(local[bytes / 2]);
}

template <size_t Alignment>
APART uint64_t aligned(Trip& trip, int, int, int, int, int, int, int on_stack) {
  alignas(Alignment) volatile char local[Alignment + 8];
  local[on_stack % 8] = 2;
  const uint64_t result = travel(trip);
  return result + static_cast<uint64_t>(local[on_stack % 8]) + static_cast<uint64_t>(on_stack);
}
template <size_t Alignment>
uint64_t call_aligned(Trip& trip) {
  return aligned<Alignment>(trip, 1, 2, 3, 4, 5, 6, 7);
}
APART uint64_t aligned_variable(Trip& trip) {
  alignas(128) volatile char local[128];
  const size_t bytes = 16 + trip.next() % 500;
  auto* rest = static_cast<char*>(alloca(bytes));
  std::memset(rest, 3, bytes);
  local[bytes % 128] = rest[bytes / 2];
  const uint64_t result = travel(trip);
  return result + static_cast<uint64_t>(local[bytes % 128]);
}

APART uint64_t many_live(Trip& trip) {
  uint64_t a = trip.next(), b = trip.next(), c = trip.next(), d = trip.next(), e = trip.next();
  uint64_t f = trip.next(), g = trip.next();
  const uint64_t result = travel(trip);
  const uint64_t again = (trip.depth & 3) == 1 ? travel(trip) : 0;
  return result ^ a ^ b * 3 ^ c * 5 ^ d * 7 ^ e * 11 ^ f * 13 ^ g * 17 ^ again;
}

APART uint64_t many_arguments(Trip& trip, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                              uint64_t e, uint64_t f, uint64_t g, uint64_t h, uint64_t i) {
  return travel(trip) + a * b + c * d + e * f + g * h + i;
}
uint64_t call_many_arguments(Trip& trip) {
  const uint64_t r = trip.next();
  return many_arguments(trip, r, r + 1, r + 2, r + 3, r + 4, r + 5, r + 6, r + 7, r + 8) + 1;
}

APART uint64_t by_lambda(Trip& trip) {
  uint64_t sum = trip.next();
  const std::function<uint64_t(uint64_t)> act = [&trip, &sum](uint64_t one) {
    sum += one;
    return travel(trip) + sum;
  };
  return act(trip.depth) + sum;
}

APART uint64_t recursion(Trip& trip, size_t left) {
  if (left == 0) return travel(trip) + 1;
  const uint64_t result = left % 2 == 0 ? recursion(trip, left - 1) : recursion(trip, left - 1) + 2;
  return result * 3 + left;
}
uint64_t call_recursion(Trip& trip) { return recursion(trip, trip.next() % 9) + 1; }

struct Base {
  virtual uint64_t go(Trip& trip) { return travel(trip) + 1; }
  virtual ~Base() = default;
};
struct Other : Base {
  uint64_t go(Trip& trip) override { return travel(trip) + state; }
  uint64_t state = 5;
};
APART uint64_t by_virtual(Trip& trip) {
  Base base;
  Other other;
  Base* chosen = (trip.next() & 1) != 0 ? &base : &other;
  keep(chosen);
  return chosen->go(trip) + 1;
}

// The trip goes on while an exception is in flight, and while it is handled.
struct Traveller {
  Trip& trip;
  uint64_t& result;
  ~Traveller() { result += travel(trip); }
};
[[noreturn]] APART void fail(Trip& trip, uint64_t& result) {
  const std::string text(10 + trip.next() % 50, 'x');
  result += travel(trip);
  throw std::runtime_error(text);
}
APART uint64_t by_exception(Trip& trip) {
  uint64_t result = 0;
  try {
    Traveller traveller{trip, result};
    fail(trip, result);
  } catch (const std::exception& error) {
    result += travel(trip) + std::strlen(error.what());
  }
  return result;
}

struct Comparison {
  Trip* trip;
  uint64_t result;
  bool has_travelled;
};
thread_local Comparison* comparison = nullptr;
int compare(const void* left, const void* right) {
  Comparison& own = *comparison;
  if (!own.has_travelled) {
    own.has_travelled = true;
    own.result += travel(*own.trip);
    comparison = &own;
  }
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}
APART uint64_t by_libc(Trip& trip) {
  int numbers[] = {5, 3, 8, 1, 9, 2};
  Comparison own{&trip, 0, false};
  Comparison* before = comparison;
  comparison = &own;
  std::qsort(numbers, 6, sizeof(int), compare);
  comparison = before;
  return own.result + static_cast<uint64_t>(numbers[0]);
}
APART uint64_t by_sort(Trip& trip) {
  int numbers[40];
  for (int& number : numbers) number = static_cast<int>(trip.next() % 100);
  uint64_t result = 0;
  bool has_travelled = false;
  std::sort(numbers, numbers + 40, [&](int left, int right) {
    if (!has_travelled) {
      has_travelled = true;
      result += travel(trip);
    }
    return left < right;
  });
  return result + static_cast<uint64_t>(numbers[7]);
}

thread_local Trip* trip_of_handler = nullptr;
APART uint64_t by_signal(Trip& trip) {
  if (!trip.has_signals) return travel(trip) + 1;
  Trip* before = trip_of_handler;
  trip_of_handler = &trip;
  raise(SIGUSR1);
  trip_of_handler = before;
  return trip.depth;
}

// gcc lays the unlikely part far from the rest, with a frame description of its own.
APART __attribute__((cold)) uint64_t cold(Trip& trip) { return travel(trip) + 4; }
APART uint64_t with_cold_part(Trip& trip) {
  uint64_t a = trip.next(), b = trip.next();
  if (__builtin_expect((trip.next() & 1) != 0, 0)) {
    a += cold(trip);
    if (a == 77) std::abort();
  } else {
    b += travel(trip);
  }
  return a ^ b;
}

using Shape = uint64_t (*)(Trip& trip);
constexpr Shape shapes[] = {
    array<8>,           array<40>,      array<200>,       array<1000>,      array<5000>,
    array<70000>,       variable_array, call_aligned<32>, call_aligned<64>, call_aligned<256>,
    aligned_variable,   many_live,      by_lambda,        call_recursion,   by_virtual,
    by_exception,       by_libc,        by_sort,          by_signal,        with_cold_part,
    call_many_arguments};

}  // namespace

APART uint64_t travel(Trip& trip) {
  if (trip.depth == 0) {
    trip.look(trip.with);
    return 1;
  }
  trip.depth--;
  if (trip.next() % 16 == 0) trip.look(trip.with);
  const uint64_t result = shapes[trip.next() % (sizeof shapes / sizeof shapes[0])](trip);
  return result + 1;
}

void travel_in_handler() {
  Trip& trip = *trip_of_handler;
  travel(trip);
  trip_of_handler = &trip;
}

APART void dive(size_t depth, void (*look)(void* with), void* with) {
  if (depth <= 1) {
    look(with);
  } else {
    dive(depth - 1, look, with);
  }
  keep(depth);
}

}  // namespace talus::core::test
