// One small block in a thousand stays: the pages between them go back (N08), 25 % of the peak.
//
// The blocks have 48, 150, 500 and 2000 bytes, taken in turn so that each size has a quarter of the
// bytes: 300 MiB in the full form, 128 MiB in the short one. All but one in a thousand, at random,
// are freed; then the process idles for at most 5 s. The survivors lie on about a twelfth of the
// pages of the smallest size, so a quarter of the peak needs single pages given back, not slabs.
// Afterwards the survivors must be intact, also when the holes between them serve again.
// SPDX-License-Identifier: MIT
#include "../form.hpp"
#include "../retention.hpp"

namespace {

constexpr std::size_t sizes[] = {48, 150, 500, 2000};
constexpr std::size_t size_count = sizeof(sizes) / sizeof(sizes[0]);
constexpr std::size_t survivors_max = 16384;
constexpr std::size_t kept_percent_max = 25;

struct Survivor {
  void* block;
  std::size_t size;
};

struct Node {
  Node* next;
};

Survivor survivors[survivors_max];
std::size_t survivor_count = 0;
Node* doomed[size_count];

// Takes `bytes` of each size; one block in a thousand becomes a survivor.
void take_all(std::size_t bytes) {
  probe::Random random(3);
  std::size_t taken[size_count] = {};
  while (taken[size_count - 1] < bytes) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < size_count; ++i) least = taken[i] < taken[least] ? i : least;
    const std::size_t size = sizes[least];
    taken[least] += size;
    auto* node = static_cast<Node*>(probe::opaque(malloc(size)));
    if (random.below(1000) == 0 && survivor_count < survivors_max) {
      probe::fill(node, size, survivor_count);
      survivors[survivor_count++] = {node, size};
      continue;
    }
    probe::fill(node + 1, size - sizeof(Node), 1);
    node->next = doomed[least];
    doomed[least] = node;
  }
}

void give_doomed() {
  for (Node*& list : doomed) {
    while (list != nullptr) {
      Node* next = list->next;
      free(list);
      list = next;
    }
  }
}

void expect_whole(const char* when) {
  for (std::size_t i = 0; i < survivor_count; ++i) {
    PROBE_EXPECT(probe::is_filled(survivors[i].block, survivors[i].size, i),
                 "survivor %zu of %zu bytes changed %s", i, survivors[i].size, when);
  }
}

}  // namespace

int main() {
  const std::size_t bytes = probe::fitting_bytes(probe::form(128, 300) * probe::mib);
  const std::size_t base = probe::resident_bytes();
  take_all(bytes / size_count);
  const std::size_t peak = probe::saturating_difference(probe::resident_bytes(), base);
  give_doomed();
  const std::size_t limit = base + peak / 100 * kept_percent_max;
  const double start = probe::now_seconds();
  const bool is_released = probe::within(5.0, [&] { return probe::resident_bytes() <= limit; });
  const double seconds = probe::now_seconds() - start;
  // The bar may be met early while pages still leave: the figure is of a moment later.
  probe::sleep_ms(200);
  const std::size_t left = probe::saturating_difference(probe::resident_bytes(), base);
  PROBE_EXPECT(is_released, "%zu survivors keep %.0f %% of %zu KiB", survivor_count,
               probe::percent(left, peak), peak / 1024);
  probe::figure("kept by survivors", probe::percent(left, peak), "% of peak");
  probe::figure("time", seconds, "s");
  expect_whole("while its neighbours were given back");
  take_all(bytes / size_count / 4);
  expect_whole("while the holes were filled again");
  return probe::verdict();
}
