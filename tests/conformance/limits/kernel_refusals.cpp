// The kernel refuses madvise, mremap or munmap: memory may be lost, nothing else (N23).
//
// A seccomp filter answers ENOMEM to one of the calls, in one child process each, while blocks of
// all sizes are taken, resized and freed. The process must go on with intact contents, errno must
// survive free, and allocation must not start to fail, since mmap still works. (Refused mmap is the
// probe limits_exhaustion.)
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <cerrno>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace {

constexpr std::size_t crowd = 300;
constexpr int marker = 12345;

struct Case {
  const char* role;
  unsigned number;
};

const Case cases[] = {{"madvise", SYS_madvise}, {"mremap", SYS_mremap}, {"munmap", SYS_munmap}};

bool refuse(unsigned number) {
  const sock_filter rules[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOMEM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program{sizeof(rules) / sizeof(rules[0]), const_cast<sock_filter*>(rules)};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct Block {
  void* address;
  std::size_t size;
};

Block blocks[crowd];

void replace(Block& block, std::size_t seed, std::size_t size) {
  if (block.address != nullptr) {
    PROBE_EXPECT(probe::is_filled(block.address, block.size, seed), "a block of %zu changed",
                 block.size);
    errno = marker;
    free(block.address);
    PROBE_EXPECT(errno == marker, "free of %zu bytes left errno %d", block.size, errno);
  }
  block = {probe::opaque(malloc(size)), size};
  PROBE_EXPECT(block.address != nullptr, "malloc(%zu) fails, though mmap works", size);
  if (block.address == nullptr) return;
  probe::fill(block.address, size, seed);
}

void resize(Block& block, std::size_t seed, std::size_t size) {
  if (block.address == nullptr) return;
  void* moved = realloc(block.address, size);
  PROBE_EXPECT(moved != nullptr, "realloc to %zu fails, though mmap works", size);
  if (moved == nullptr) return;
  bool is_kept = true;
  for (std::size_t i = 0; i < probe::pattern_end_bytes && i < size && i < block.size; ++i) {
    is_kept &= static_cast<unsigned char*>(moved)[i] == probe::pattern_byte(seed, i);
  }
  PROBE_EXPECT(is_kept, "realloc from %zu to %zu lost bytes", block.size, size);
  block = {moved, size};
  probe::fill(moved, size, seed);
}

int work_refused(unsigned number) {
  if (!refuse(number)) return probe::exit_not_started;
  probe::Random random(number);
  for (int i = 0; i < 12000; ++i) {
    const std::size_t seed = random.below(crowd);
    const std::size_t shape = random.below(100);
    const std::size_t size = shape < 70   ? random.between(1, 4000)
                             : shape < 95 ? random.between(4000, 200000)
                                          : random.between(200000, 4000000);
    if (i % 4 == 0) {
      resize(blocks[seed], seed, size);
    } else {
      replace(blocks[seed], seed, size);
    }
    if (i % 1000 == 0) malloc_trim(0);
  }
  return probe::verdict();
}

}  // namespace

int main(int argc, char** argv) {
  for (const Case& refusal : cases) {
    if (probe::is_role(argc, argv, refusal.role)) return work_refused(refusal.number);
  }
  for (const Case& refusal : cases) {
    const probe::Outcome outcome = probe::relaunch(refusal.role, 20, [] { return true; });
    if (outcome.code == probe::exit_not_started) probe::skip("no seccomp filters");
    probe::expect_ok(outcome, refusal.role);
  }
  return probe::verdict();
}
