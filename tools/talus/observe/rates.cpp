// SPDX-License-Identifier: MIT
//
// Owns: which numbers have rates.
// Invariant: see rates.hpp. A number that fell gives no rate: the process became another program.
// Must not know: see rates.hpp.

#include "observe/rates.hpp"

namespace talus::tool {

namespace {

using Id = core::StatisticId;

constexpr size_t cpu_row = 0;

std::optional<uint64_t> value_of(const Numbers& numbers, Id id) {
  return numbers.values[static_cast<size_t>(id)];
}

}  // namespace

RateMeter::Counts RateMeter::counts_of(const Numbers& numbers) {
  const auto user = value_of(numbers, Id::process_user_ms);
  const auto system = value_of(numbers, Id::process_system_ms);
  std::optional<uint64_t> processor;
  if (user && system) processor = *user + *system;
  uint64_t refills = 0;  // a sum of numbers that wrap at 2 to the 32
  for (const HeapNumbers& heap : numbers.heaps) refills += heap.refills;
  return {processor,
          value_of(numbers, Id::process_minor_faults),
          value_of(numbers, Id::process_major_faults),
          value_of(numbers, Id::space_purged_bytes),
          value_of(numbers, Id::space_purges),
          refills,
          value_of(numbers, Id::calls_allocations),
          value_of(numbers, Id::calls_frees),
          value_of(numbers, Id::calls_requested_bytes)};
}

void RateMeter::note(std::vector<Numbers>& looks, Clock::time_point now) {
  for (Numbers& numbers : looks) {
    if (numbers.is_damaged) continue;
    const Seen seen{now, counts_of(numbers)};
    const auto [place, is_new] = last_.try_emplace(numbers.object, seen);
    const double seconds = std::chrono::duration<double>(now - place->second.at).count();
    for (size_t i = 0; !is_new && seconds > 0 && i < rate_count; i++) {
      const auto before = place->second.counts[i], after = seen.counts[i];
      if (!before || !after || *after < *before) continue;
      const double per_second = static_cast<double>(*after - *before) / seconds;
      numbers.rates[i] = i == cpu_row ? per_second / 10 : per_second;  // of ms a second, percent
    }
    place->second = seen;
  }
}

}  // namespace talus::tool
