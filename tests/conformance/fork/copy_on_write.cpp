// A forked child that allocates and frees copies few of its parent's pages (N11).
//
// The parent holds 64 MiB of small blocks with holes, half of them taken by another thread. The
// child frees one block in a hundred, takes 2 MiB of another size (so that no hole of the parent's
// must be filled), and idles. Lists that run through the blocks dirty a page for each free; kept
// outside they do not. The child may make at most twice the bytes it allocated private, plus 1 MiB
// for stack and tables.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <malloc.h>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t block_bytes = 256;
constexpr std::size_t count = 64 * probe::mib / block_bytes;
constexpr std::size_t child_block_bytes = 1000;
constexpr std::size_t allocated = 2 * probe::mib;

std::size_t private_dirty() {
  return probe::kilobyte_field("/proc/self/smaps_rollup", "Private_Dirty:");
}

int live_as_child(const std::vector<void*>& blocks) {
  const std::size_t before = private_dirty();
  for (std::size_t i = 50; i < count; i += 100) {
    free(blocks[i]);  // the table itself does not change: its pages are not the allocator's
  }
  std::vector<void*> own(allocated / child_block_bytes);
  for (void*& block : own) {
    block = probe::opaque(malloc(child_block_bytes));
    probe::fill(block, child_block_bytes, 1);
  }
  probe::sleep_ms(500);
  const std::size_t dirtied = probe::saturating_difference(private_dirty(), before);
  probe::figure("dirtied", static_cast<double>(dirtied) / static_cast<double>(allocated),
                "x allocated");
  PROBE_EXPECT(dirtied <= 2 * allocated + probe::mib, "the child made %zu KiB private",
               dirtied / 1024);
  return probe::verdict();
}

void take(std::vector<void*>& blocks, std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    blocks[i] = probe::opaque(malloc(block_bytes));
    probe::fill(blocks[i], block_bytes, 1);
  }
}

}  // namespace

int main() {
  std::vector<void*> blocks(count);
  take(blocks, 0, count / 2);
  // Whose blocks may be another heap's for the child.
  std::thread([&] { take(blocks, count / 2, count); }).join();
  for (std::size_t i = 0; i < count; i += 100) {
    free(blocks[i]);
    blocks[i] = nullptr;
  }
  const pid_t child = fork();
  if (child == 0) _exit(live_as_child(blocks));
  probe::expect_ok(probe::wait_for(child, 20), "the child");
  return probe::verdict();
}
