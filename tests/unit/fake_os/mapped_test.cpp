// SPDX-License-Identifier: MIT
// tests/unit/fake_os/mapped: mapped blocks on a kernel that refuses a call now and then.
//
// Owns: nothing. Whatever is refused costs addresses, or makes blocks ordinary; nothing aborts and
// no block loses its contents or is handed out with contents. Called on: the main thread.
#include <gtest/gtest.h>

#include <vector>

#include "fake_os/child.hpp"
#include "pattern.hpp"
#include "process/start.hpp"

namespace talus::core {
namespace {

using os::FakeCall;

bool is_mapped(const void* block) {
  return is_special(page_map.word_of(reinterpret_cast<uintptr_t>(block)));
}

// Of Linux 6.13 and later, and what went before it.
enum class Kernel { newest, without_guards };

void begin_mode(Kernel kernel = Kernel::newest) {
  if (kernel == Kernel::without_guards) {
    os::fake_plan.refuse_from[test::row_of(FakeCall::set_guards)].store_relaxed(1);
  }
  free_block(allocate(1));
  mapped::Settings settings;
  settings.quarantine_bytes = mib;
  settings.mappings = 5000;
  mapped::pool.has_warned = true;  // standard error is the test's
  mapped::begin(settings);
}

// Returns how many blocks were mapped ones.
size_t run_blocks() {
  constexpr size_t count = 400;
  std::vector<void*> blocks(count);
  size_t mapped_count = 0;
  for (size_t i = 0; i < count; i++) {
    const size_t bytes = i % 10 == 0 ? 100000 + i : i;
    blocks[i] = allocate_zeroed(bytes);
    test::require(blocks[i] != nullptr, "refused", i);
    for (size_t at = 0; at < bytes; at++) {
      test::require(static_cast<char*>(blocks[i])[at] == 0, "not zero", i);
    }
    test::fill_pattern(blocks[i], bytes, i);
    mapped_count += is_mapped(blocks[i]) ? 1 : 0;
    if (i % 3 != 0) continue;
    const size_t old = i / 2;
    const size_t old_bytes = old % 10 == 0 ? 100000 + old : old;
    if (blocks[old] == nullptr) continue;
    test::require(test::has_pattern(blocks[old], old_bytes, old), "contents are lost", old);
    free_block(blocks[old]);
    blocks[old] = nullptr;
  }
  for (void* block : blocks) free_block(block);
  return mapped_count;
}

bool has_guards() {
  void* page = os::LinuxOs::map(nullptr, 4096);
  const bool has = os::LinuxOs::set_guards(page, 4096);
  os::LinuxOs::unmap(page, 4096);
  return has;
}

void decay(FakeCall kind, uint64_t first, uint64_t last, Kernel kernel) {
  const size_t row = test::row_of(kind);
  for (uint64_t call = first; call <= last; call += 1 + call / 4) {
    const std::string wrong = test::run_in_child([=] {
      begin_mode(kernel);
      auto& plan = os::fake_plan;
      const uint64_t made = plan.calls[row].load_relaxed();
      plan.refuse_at[row].store_relaxed(made + call);
      plan.refuse_every[row].store_relaxed(call + 6);
      run_blocks();
      test::require(plan.calls[row].load_relaxed() >= made + call, "no such call", call);
      test::require(plan.misaligned_calls.load_relaxed() == 0, "misaligned calls");
      test::end_faults();
      test::require(run_blocks() == 400, "a kernel that is well again gives ordinary blocks");
    });
    EXPECT_EQ(wrong, "") << "call " << call;
  }
}

TEST(Mapped, PagesAreNotAllowed) { decay(FakeCall::allow, 1, 200, Kernel::without_guards); }
TEST(Mapped, PagesAreNotWithdrawn) { decay(FakeCall::decommit, 1, 60, Kernel::without_guards); }
TEST(Mapped, AddressesAreNotUnmapped) { decay(FakeCall::unmap, 1, 20, Kernel::newest); }
TEST(Mapped, AddressesAreNotMapped) { decay(FakeCall::map, 1, 20, Kernel::newest); }
TEST(Mapped, GuardsAreNotSet) {
  if (!has_guards()) GTEST_SKIP() << "a kernel without guards";
  decay(FakeCall::set_guards, 1, 60, Kernel::newest);
}
TEST(Mapped, GuardsAreNotLifted) {
  if (!has_guards()) GTEST_SKIP() << "a kernel without guards";
  decay(FakeCall::lift_guards, 1, 200, Kernel::newest);
}

// Live blocks have mappings only where the kernel has no guards, and then as many as they may.
TEST(Mapped, MappingsAreBounded) {
  for (const Kernel kernel : {Kernel::newest, Kernel::without_guards}) {
    const std::string wrong = test::run_in_child([kernel] {
      begin_mode(kernel);
      mapped::pool.settings.mappings = 100;
      size_t mapped_count = 0;
      for (size_t i = 0; i < 1000; i++) {
        void* block = allocate(100);
        test::fill_pattern(block, 100, i);
        mapped_count += is_mapped(block) ? 1 : 0;
      }
      const bool is_bounded = kernel == Kernel::without_guards || !has_guards();
      const bool is_right =
          is_bounded ? mapped_count >= 40 && mapped_count <= 51 : mapped_count == 1000;
      test::require(is_right, "mapped blocks", mapped_count);
    });
    EXPECT_EQ(wrong, "") << static_cast<int>(kernel);
  }
}

// A kernel of larger pages has larger guards.
TEST(Mapped, OnPagesOf64KiB) {
  const std::string wrong = test::run_in_child([] {
    os::shared_page_bytes.store_relaxed(0);  // tests before this one may have asked
    os::fake_plan.page_bytes.store_relaxed(64 * kib);
    begin_mode();
    test::require(run_blocks() == 400, "ordinary blocks");
    test::require(os::fake_plan.misaligned_calls.load_relaxed() == 0, "misaligned calls");
  });
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace talus::core
