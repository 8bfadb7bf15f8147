// Memory that a program needs every second stays between two bursts, and leaves when no more come.
//
// A server has 100 MiB of data. It takes 64 MiB for each request and frees all of it. After the
// third burst at most a tenth of the pages is touched anew. When the requests end, three intervals
// pass. Then 15 % of the peak may be resident after 5 s (N01).
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <malloc.h>

#include <algorithm>
#include <vector>

namespace {

constexpr std::size_t burst_bytes = 64 * probe::mib, data_bytes = 100 * probe::mib;
constexpr long interval_ms = 1300;
constexpr int burst_count = 5, learning_count = 3;

void take_and_free(probe::Random& random, std::vector<void*>& blocks) {
  for (std::size_t total = 0; total < burst_bytes;) {
    const std::size_t size = random.between(16, blocks.size() % 500 == 0 ? 300000 : 4000);
    void* const block = probe::opaque(malloc(size));
    probe::fill(block, size, 1);
    blocks.push_back(block);
    total += size;
  }
  for (void* const block : blocks) free(block);
  blocks.clear();
}

// What became resident in a burst, in percent of its bytes.
double share_touched(std::size_t before, std::size_t after) {
  const std::size_t more = probe::saturating_difference(after, before);
  return 100.0 * static_cast<double>(more) / static_cast<double>(burst_bytes);
}

}  // namespace

int main() {
  probe::Random random(7);
  std::vector<void*> blocks;
  blocks.reserve(200000);
  std::vector<char> data(data_bytes);  // stays, and is more than a burst
  probe::fill(data.data(), data.size(), 1);
  const std::size_t base = probe::resident_bytes();
  double most = 0, longest = 0;
  for (int i = 0; i < burst_count; i++) {
    const double begin = probe::now_seconds();
    const std::size_t before = probe::resident_bytes();
    take_and_free(random, blocks);
    if (i >= learning_count) most = std::max(most, share_touched(before, probe::resident_bytes()));
    probe::sleep_ms(interval_ms);
    longest = std::max(longest, probe::now_seconds() - begin);
  }
  PROBE_EXPECT(most <= 10, "%.0f %% of a later burst is touched anew", most);
  probe::figure("touched anew by a later burst", most, "% of its bytes");
  probe::sleep_ms(static_cast<long>(2000 * longest));
  const bool is_released =
      probe::within(5.0, [&] { return probe::resident_bytes() <= base + burst_bytes / 100 * 15; });
  const std::size_t left = probe::saturating_difference(probe::settled_resident_bytes(), base);
  const double share = 100.0 * static_cast<double>(left) / static_cast<double>(burst_bytes);
  PROBE_EXPECT(is_released, "%.0f %% stay after the last burst", share);
  probe::figure("kept after the last burst", share, "% of its bytes");
  return probe::verdict();
}
