// SPDX-License-Identifier: MIT
// tests/unit/fake_os/odd_kernel: kernels with other addresses and other pages than this one's.
//
// Owns: nothing. Addresses come from the bottom and the top of what the page map covers, and from
// above it (five-level page tables). Pages have 16 and 64 KiB, and none can be moved. Called on:
// the main thread.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "effort.hpp"
#include "fake_os/sequence.hpp"
#include "footprint.hpp"
#include "modes/checked.hpp"
#include "modes/hardened.hpp"
#include "modes/hardened_large.hpp"
#include "modes/mapped.hpp"

namespace talus::core {
namespace {

// The whole sequence with mappings from `base` upward; those behind the first from `next`, if that
// is not 0.
std::string run_at(uint64_t base, uint64_t next = 0) {
  return test::run_in_child([base, next] {
    os::fake_plan.map_base.store_relaxed(base);
    void* first = allocate(100);
    test::require(first != nullptr, "the first block");
    test::child_report().measured[0] = reinterpret_cast<uintptr_t>(first);
    free_block(first);
    if (next != 0) os::fake_plan.map_base.store_relaxed(next);
    const size_t refused = test::run_sequence();
    test::require(refused == 0, "allocations refused", refused);
    test::require_quiet_heap();
  });
}

// A sanitizer has its own tables at such addresses, and the kernel then answers with others.
void expect_address_from(uint64_t base) {
  if (test::under_tsan || test::under_asan || test::may_be_emulated) return;
  EXPECT_GE(test::child_report().measured[0], base);
  EXPECT_LT(test::child_report().measured[0], base + 4096 * mib);
}

// So low that the page map's window begins at address 0.
TEST(OddAddresses, Lowest) {
  EXPECT_EQ(run_at(uint64_t{1} << 32), "");
  expect_address_from(uint64_t{1} << 32);
}

TEST(OddAddresses, Low) {
  EXPECT_EQ(run_at(uint64_t{1} << 38), "");
  expect_address_from(uint64_t{1} << 38);
}

TEST(OddAddresses, High) {
  EXPECT_EQ(run_at(uint64_t{1} << 46), "");
  expect_address_from(uint64_t{1} << 46);
}

// Mappings cross from one leaf of the page map to the next.
TEST(OddAddresses, AcrossALeafOfThePageMap) {
  const uint64_t border = (uint64_t{1} << 38) + (uint64_t{1} << PageMap::root_shift);
  EXPECT_EQ(run_at(border - 20 * mib), "");
  expect_address_from(border - 20 * mib);
}

// The first mappings lie in the page map's window, others across its end or far beyond it.
TEST(OddAddresses, BeyondTheWindowOfThePageMap) {
  const uint64_t base = uint64_t{1} << 38;
  const uint64_t end = base + ((1 + PageMap::window_roots_above) << PageMap::root_shift);
  for (const uint64_t next : {end - 20 * mib, base + (uint64_t{1} << 40)}) {
    EXPECT_EQ(run_at(base, next), "");
    expect_address_from(base);
  }
}

// Blocks of a mode that checks, one in a slab and a large one. The first mappings lie at `base`,
// and these blocks beyond the window.
void use_beyond_the_window(uint64_t base, bool (*stays)(void* block, size_t bytes)) {
  os::fake_plan.map_base.store_relaxed(base + (uint64_t{1} << 40));
  const auto is_far = [](const void* block) {
    PageMap::Place place;
    return !page_map.find_near(reinterpret_cast<uintptr_t>(block), place);
  };
  for (const size_t bytes : {size_t{10 * kib}, size_t{3 * mib}}) {
    std::vector<void*> near;
    void* far = allocate(bytes);
    for (; far != nullptr && !is_far(far) && near.size() < 20000; far = allocate(bytes)) {
      near.push_back(far);
    }
    test::require(far != nullptr && is_far(far), "a block beyond the window", near.size());
    for (void* block : near) free_block(block);
    std::memset(far, 1, bytes);
    test::require(stays(far, bytes), "a block stays as it is", bytes);
    const auto* contents = static_cast<const char*>(far);
    test::require(contents[0] == 1 && contents[bytes - 1] == 1, "its contents stay", bytes);
    free_block(far);
    test::require(!stays(far, bytes), "a freed block is no block that stays", bytes);
  }
}

TEST(OddAddresses, ModesKnowBlocksBeyondTheWindow) {
  if (test::under_tsan || test::under_asan || test::may_be_emulated) GTEST_SKIP();
  constexpr uint64_t base = uint64_t{1} << 38;
  const std::string wrong_in_checked = test::run_in_child([] {
    setenv("TALUS_MODE", "checked", 1);
    os::fake_plan.map_base.store_relaxed(base);
    free_block(allocate(1));
    use_beyond_the_window(base, checked::stays_alone);
  });
  EXPECT_EQ(wrong_in_checked, "");
  const std::string wrong_in_hardened = test::run_in_child([] {
    setenv("TALUS_MODE", "hardened", 1);
    os::fake_plan.map_base.store_relaxed(base);
    free_block(allocate(1));
    mapped::Settings settings;
    settings.mappings = 5000;
    mapped::prepare(settings, hardened::mode, hardened::large_operations);
    use_beyond_the_window(base, hardened::stays_alone);
  });
  EXPECT_EQ(wrong_in_hardened, "");
}

TEST(OddAddresses, AboveThePageMapIsNoMemory) {
  const std::string wrong = test::run_in_child([] {
    os::fake_plan.map_base.store_relaxed(uint64_t{1} << 55);
    for (size_t bytes : {size_t{1}, 3 * kib, medium_bytes_max + 1, 9 * mib}) {
      test::require(allocate(bytes) == nullptr, "allocate", bytes);
      test::require(allocate_zeroed(bytes) == nullptr, "allocate_zeroed", bytes);
      test::require(allocate_aligned(2 * mib, bytes) == nullptr, "allocate_aligned", bytes);
    }
    const size_t refused = test::run_sequence();
    test::require(refused > 100, "the sequence", refused);
    test::require_quiet_heap();
    const HeapTotals totals = collect_totals();
    test::require(totals.space.reserved_bytes == 0, "reserved", totals.space.reserved_bytes);
    os::fake_plan.map_base.store_relaxed(0);
    test::require(test::run_sequence() == 0, "the sequence with usable addresses");
    test::require_quiet_heap();
  });
  EXPECT_EQ(wrong, "");
}

// The page size is read once in a process: before anything else asks, the child says another.
std::string run_with_pages_of(size_t bytes) {
  return test::run_in_child([bytes] {
    test::require(os::shared_page_bytes.load_relaxed() == 0, "the page size is still unknown");
    os::fake_plan.page_bytes.store_relaxed(bytes);
    void* large = allocate(medium_bytes_max + 1);
    test::require(os::page_bytes() == bytes, "page size", os::page_bytes());
    test::require(large != nullptr && usable_size(large) == round_up(medium_bytes_max + 1, bytes),
                  "a large block is whole pages");
    free_block(large);
    for (int round = 0; round < 2; round++) {
      const size_t refused = test::run_sequence();
      test::require(refused == 0, "allocations refused", refused);
      test::require_quiet_heap();
    }
    const uint64_t misaligned = os::fake_plan.misaligned_calls.load_relaxed();
    test::require(misaligned == 0, "calls that were no whole pages", misaligned);
  });
}

TEST(OddPages, Of16KiB) { EXPECT_EQ(run_with_pages_of(16 * kib), ""); }
TEST(OddPages, Of64KiB) { EXPECT_EQ(run_with_pages_of(64 * kib), ""); }

// The fake kernel does notice: without this the two tests above could not fail.
TEST(OddPages, SmallerPagesThanTheKernelsAreNoticed) {
  const std::string wrong = test::run_in_child([] {
    os::fake_plan.page_bytes.store_relaxed(64 * kib);
    char* at = static_cast<char*>(os::map_pages(nullptr, 128 * kib));
    test::require(at != nullptr, "map");
    test::require(!os::System::purge(at + 4 * kib, 64 * kib), "purge in the middle of a page");
    test::require(!os::System::unmap(at, 4 * kib), "unmap of a part of a page");
    test::require(os::fake_plan.misaligned_calls.load_relaxed() == 2, "misaligned calls");
  });
  EXPECT_EQ(wrong, "");
}

// An emulator's kernel: contents are copied, and what lay behind them comes back touched.
TEST(OddKernel, GrowthKeepsTheBoundWhereNoPagesMove) {
  const std::string wrong = test::run_in_child([] {
    const auto row = static_cast<size_t>(os::FakeCall::move_pages);
    os::fake_plan.refuse_from[row].store_relaxed(1);
    test::Footprint footprint;
    // Under an emulator a step takes as long as a refault counts, so one may end between two looks.
    constexpr size_t slack = TALUS_COPY_ONLY != 0 ? 8 * mib : 0;
    const auto look = [&footprint] {
      const size_t most = footprint.most() + slack, bytes = footprint.bytes();
      test::require(bytes <= most, "more stays than may", bytes - most);
    };
    for (int round = 0; round < 10; round++) {
      test::grow_two(64, test::most_grown, [&look](test::GrowthStep step) {
        test::require(step.kept, "contents of a block that grew");
        look();
        return step.kept;
      });
      look();
    }
  });
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace talus::core
