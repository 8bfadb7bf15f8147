// SPDX-License-Identifier: MIT
// tests/unit/os/memory: the kernel calls keep the contract (os/contract.hpp).
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "effort.hpp"
#include "os/os.hpp"
#include "pattern.hpp"

namespace talus::core {
namespace {

// Pages of address space that the process has, read without allocating.
long mapped_pages() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[128] = {};
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  return length <= 0 ? -1 : strtol(text, nullptr, 10);
}

TEST(Os, PageSizeIsTheKernels) {
  EXPECT_EQ(os::page_bytes(), static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

TEST(Os, MappedPagesAreZeroAndWritable) {
  const size_t bytes = 1 * mib;
  auto* at = static_cast<unsigned char*>(os::map_pages(nullptr, bytes));
  ASSERT_NE(at, nullptr);
  for (size_t i = 0; i < bytes; i++) ASSERT_EQ(at[i], 0);
  test::fill_pattern(at, bytes, 1);
  EXPECT_TRUE(test::has_pattern(at, bytes, 1));
  ASSERT_TRUE(os::System::purge(at, bytes));
  for (size_t i = 0; i < bytes; i++) ASSERT_EQ(at[i], 0);
  EXPECT_TRUE(os::System::unmap(at, bytes));
}

TEST(Os, RunsOfPagesGoTogether) {
  const size_t page = os::page_bytes();
  constexpr size_t pages = 16;
  auto* at = static_cast<unsigned char*>(os::map_pages(nullptr, pages * page));
  ASSERT_NE(at, nullptr);
  test::fill_pattern(at, pages * page, 1);
  const os::PageRun runs[] = {{at, page}, {at + 3 * page, 2 * page}, {at + 8 * page, page}};
  if (os::System::purge_runs(runs, 3) == 0) GTEST_SKIP() << "the kernel is too old";
  std::vector<unsigned char> before(pages * page);
  test::fill_pattern(before.data(), pages * page, 1);
  for (size_t i = 0; i < pages * page; i++) {
    const size_t number = i / page;
    const bool is_gone = number == 0 || number == 3 || number == 4 || number == 8;
    ASSERT_EQ(at[i], is_gone ? 0 : before[i]) << number;
  }
  // From the first on, up to one that is not mapped.
  test::fill_pattern(at, pages * page, 1);
  ASSERT_TRUE(os::System::unmap(at + 8 * page, page));
  EXPECT_EQ(os::System::purge_runs(runs, 3), 2u);
  EXPECT_EQ(at[0], 0);
  EXPECT_EQ(os::System::purge_runs(runs + 2, 1), 0u);
  EXPECT_TRUE(os::System::unmap(at, pages * page));
}

TEST(Os, MapAlignedKeepsNothingButItsRange) {
  // The first look may itself map something.
  if (mapped_pages() < 0) GTEST_SKIP() << "no /proc";
  for (size_t alignment = slice_bytes; alignment <= 64 * mib; alignment *= 2) {
    for (size_t slices = 1; slices <= 64; slices *= 4) {
      const size_t bytes = slices * slice_bytes;
      const long before = mapped_pages();
      void* at = os::map_aligned(nullptr, bytes, alignment);
      ASSERT_NE(at, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % alignment, 0u);
      // An emulator shows its own address space, so only a native run counts.
      if (!test::may_be_emulated) {
        EXPECT_EQ(mapped_pages() - before, static_cast<long>(bytes / os::page_bytes()));
      }
      test::fill_pattern(at, bytes, alignment);
      EXPECT_TRUE(test::has_pattern(at, bytes, alignment));
      EXPECT_TRUE(os::System::unmap(at, bytes));
    }
  }
}

TEST(Os, MapAlignedTriesTheHintFirst) {
  void* at = os::map_aligned(nullptr, 4 * mib, 2 * mib);
  ASSERT_NE(at, nullptr);
  ASSERT_TRUE(os::System::unmap(at, 4 * mib));
  void* again = os::map_aligned(at, 4 * mib, 2 * mib);
  EXPECT_EQ(again, at);
  EXPECT_TRUE(os::System::unmap(again, 4 * mib));
}

TEST(Os, ImpossibleSizesAreRefused) {
  EXPECT_EQ(os::map_pages(nullptr, size_t{1} << 60), nullptr);
  EXPECT_EQ(os::map_aligned(nullptr, size_t{1} << 50, 2 * mib), nullptr);
  EXPECT_EQ(os::map_aligned(nullptr, slice_bytes, size_t{1} << 50), nullptr);
}

class MovedPages : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(from, nullptr);
    ASSERT_NE(to, nullptr);
    test::fill_pattern(from, bytes, 7);
    test::fill_pattern(to, bytes, 8);
  }
  void TearDown() override {
    EXPECT_TRUE(os::System::unmap(from, bytes));
    EXPECT_TRUE(os::System::unmap(to, bytes));
  }

  static constexpr size_t bytes = 1 * mib;
  const size_t page = os::page_bytes();
  unsigned char* const from = static_cast<unsigned char*>(os::map_pages(nullptr, bytes));
  unsigned char* const to = static_cast<unsigned char*>(os::map_pages(nullptr, bytes));
};

TEST_F(MovedPages, ArriveAndLeaveZeroBehind) {
  if (const size_t moved = os::System::move_pages(from, to, bytes)) {
    EXPECT_EQ(moved, bytes);
    EXPECT_TRUE(test::has_pattern(to, bytes, 7));
    EXPECT_TRUE(test::is_zero(from, bytes));
    from[0] = from[bytes - 1] = 1;  // still mapped
  } else {                          // a kernel before 5.7: nothing moved
    EXPECT_TRUE(test::has_pattern(from, bytes, 7));
    EXPECT_TRUE(test::has_pattern(to, bytes, 8));
  }
}

// A kernel may take the target's pages away before it notices, or move an unknown part.
TEST_F(MovedPages, OfTwoMappingsAreMovedOneByOne) {
  const std::vector<unsigned char> whole(from, from + bytes), other(to, to + bytes);
  ASSERT_EQ(mprotect(from + bytes / 2, page, PROT_READ), 0);
  const size_t moved = os::System::move_pages(from, to, bytes);
  EXPECT_TRUE(moved == bytes / 2 || moved == 0) << moved << " bytes";
  EXPECT_EQ(std::memcmp(to, whole.data(), moved), 0);
  EXPECT_TRUE(test::is_zero(from, moved));
  EXPECT_EQ(std::memcmp(from + moved, whole.data() + moved, bytes - moved), 0);
  EXPECT_EQ(std::memcmp(to + moved, other.data() + moved, bytes - moved), 0);
}

// What was moved in is a mapping apart; mapped anew it is one with what lies around.
TEST_F(MovedPages, MappedAnewAreOneMappingWithTheirNeighbours) {
  const size_t half = bytes / 2;
  if (os::System::move_pages(to, from, half) == 0) GTEST_SKIP() << "a kernel before 5.7";
  EXPECT_FALSE(os::System::is_one_mapping(from, bytes));
  ASSERT_TRUE(os::System::map_anew(from, half));
  EXPECT_TRUE(os::System::is_one_mapping(from, bytes));
  EXPECT_TRUE(test::is_zero(from, half));
  from[0] = from[half - 1] = 1;
  EXPECT_FALSE(os::System::map_anew(from + 1, half)) << "no page begins there";
  EXPECT_EQ(from[0], 1);
}

// Asking whether it is one mapping leaves it as long as it was.
TEST_F(MovedPages, DoNotGrow) {
  const size_t half = bytes / 2;
  ASSERT_TRUE(os::System::unmap(from + half, half));
  from[0] = 1;
  const bool is_moved = os::System::move_pages(from, to, half) != 0;
  EXPECT_EQ((is_moved ? to : from)[0], 1);
  unsigned char pages[2];
  EXPECT_EQ(mincore(from + half, page, pages), -1) << "a page behind the source";
}

TEST(Os, ClockGoesForward) {
  const uint64_t ms = os::System::now_ms(), ns = os::System::now_ns();
  usleep(20000);
  EXPECT_GE(os::System::now_ms(), ms + 10);
  EXPECT_GE(os::System::now_ns(), ns + 19000000);
}

TEST(Os, ErrnoIsKept) {
  errno = 77;
  EXPECT_EQ(os::map_pages(nullptr, size_t{1} << 60), nullptr);
  EXPECT_FALSE(os::System::unmap(reinterpret_cast<void*>(1), 1));
  EXPECT_EQ(errno, 77);
}

}  // namespace
}  // namespace talus::core
