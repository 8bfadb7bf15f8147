// Transparent huge pages do not make a heap larger (N27): 1.15 times the same without, at most.
//
// Three programs run with huge pages always on, and again with PR_SET_THP_DISABLE. In "idle" (as
// N01) eight threads fill and free 33 MiB each. In "survivors" (as N08) one small block in a
// thousand survives. In "sparse" 10000 of 100000 blocks of 5 KB stay. The probe compares what is
// resident after 5 idle seconds, with 4 MiB granted. Skipped unless the system has huge pages
// always on; with_huge_pages.sh switches that on for one command and restores it.
// SPDX-License-Identifier: MIT
#include "../relaunch.hpp"
#include "../retention.hpp"

#include <sys/prctl.h>

namespace {

constexpr const char* roles[] = {"idle", "survivors", "sparse"};
constexpr int report = 100;  // the descriptor that gets the resident bytes
constexpr double ratio_max = 1.15;
constexpr std::size_t slack = 4 * probe::mib;
constexpr std::size_t kept_max = 20000;

void* kept[kept_max];
void* doomed[1 << 20];

// Takes `count` blocks, keeps one in `one_in` at random and frees the rest.
void thin_out(std::size_t count, std::size_t size, std::size_t one_in, std::size_t& kept_count) {
  probe::Random random(size);
  std::size_t doomed_count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    void* block = probe::opaque(malloc(size));
    probe::fill(block, size, i);
    if (random.below(one_in) == 0 && kept_count < kept_max) {
      kept[kept_count++] = block;
    } else {
      doomed[doomed_count++] = block;
    }
  }
  while (doomed_count > 0) free(doomed[--doomed_count]);
}

void fill_and_free() { probe::fill_and_free<8>(33 * probe::mib); }

int run(const char* role) {
  // The tables' own pages are not the allocator's, and must be resident in both runs.
  for (void*& entry : kept) entry = kept;
  for (void*& entry : doomed) entry = doomed;
  const std::size_t base = probe::resident_bytes();
  std::size_t kept_count = 0;
  if (std::strcmp(role, "idle") == 0) fill_and_free();
  if (std::strcmp(role, "survivors") == 0) {
    for (const std::size_t size : {48, 150, 500, 2000}) {
      thin_out(32 * probe::mib / size, size, 1000, kept_count);
    }
  }
  if (std::strcmp(role, "sparse") == 0) thin_out(100000, 5000, 10, kept_count);
  probe::sleep_ms(5000);
  const std::size_t left = probe::saturating_difference(probe::resident_bytes(), base);
  probe::write_all(report, reinterpret_cast<const char*>(&left), sizeof(left));
  return 0;
}

bool has_huge_pages_always() {
  bool is_always = false;
  probe::for_each_line("/sys/kernel/mm/transparent_hugepage/enabled",
                       [&](const char* line) { is_always = std::strstr(line, "[always]"); });
  return is_always;
}

struct Run {
  pid_t child = -1;
  int answer = -1;

  std::size_t resident(const char* role) const {
    std::size_t bytes = 0;
    probe::expect_ok(probe::wait_for(child, 40), role);
    if (read(answer, &bytes, sizeof(bytes)) != sizeof(bytes)) probe::fail("%s: no answer", role);
    close(answer);
    return bytes;
  }
};

Run start(const char* role, bool with_huge_pages) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) probe::skip("no pipes");
  const pid_t child = probe::launch(role, [&] {
    return dup2(ends[1], report) == report &&
           (with_huge_pages || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
  });
  close(ends[1]);
  return {child, ends[0]};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return run(argv[1]);
  if (!has_huge_pages_always()) probe::skip("transparent huge pages are not always on");
  // All at once: they wait more than they work.
  Run with[3];
  Run without[3];
  for (std::size_t i = 0; i < 3; ++i) {
    with[i] = start(roles[i], true);
    without[i] = start(roles[i], false);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const char* role = roles[i];
    const std::size_t large = with[i].resident(role);
    const std::size_t small = without[i].resident(role);
    const double ratio = static_cast<double>(large) / static_cast<double>(small + slack);
    PROBE_EXPECT(ratio <= ratio_max, "%s: %zu KiB, without huge pages %zu KiB", role, large / 1024,
                 small / 1024);
    probe::figure(role, ratio, "x without");
  }
  return probe::verdict();
}
