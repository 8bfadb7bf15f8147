// SPDX-License-Identifier: MIT
// os/linux/proofs: an answer of the kernel on which contents depend is proven before it is
// trusted.
//
// An emulator or a sandbox may answer "done" to an advice and do nothing: older qemu-user does so
// for MADV_DONTNEED. Pages assumed to be zero would then reach the program dirty, and pages assumed
// to be moved would be lost. So the first call of each kind is made on pages of Talus' own, whose
// contents are checked.
// Owns: one verdict for each kind, found once in a process and inherited by its children.
// Invariant: without the proof the answer is not trusted. mmap is the ground: that new pages read
// as zero is not proven. Uses mmap, munmap and the call that is proven.
// Called on: any thread, before libc is ready. Must not know: which code relies on an answer.
#ifndef TALUS_OS_LINUX_PROOFS_HPP
#define TALUS_OS_LINUX_PROOFS_HPP

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/base.hpp"
#include "os/arguments.hpp"
#include "os/linux/kernel_call.hpp"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

namespace talus::core::os {

// Several threads may find the verdict at the same time.
class KernelProof {
 public:
  // `prove` may answer "unknown" when there is no memory for the proof; the next call tries again.
  bool holds(Verdict (*prove)() noexcept) noexcept { return verdict(prove) == Verdict::holds; }
  Verdict verdict(Verdict (*prove)() noexcept) noexcept {
    // Every thread finds the same.
    const auto found = static_cast<Verdict>(shared_verdict_.load_hint());
    return TALUS_LIKELY(found != Verdict::unknown) ? found : find(prove);
  }

 private:
  TALUS_COLD Verdict find(Verdict (*prove)() noexcept) noexcept {
    const Verdict found = prove();
    // as above
    if (found != Verdict::unknown) shared_verdict_.store_hint(static_cast<uint8_t>(found));
    return found;
  }

  Atomic<uint8_t> shared_verdict_;  // a Verdict: clang's atomics want a number
};

struct LinuxProofs : KernelCall {
  // Do purged pages read as zero?
  static bool is_purge_true() noexcept { return purge_proof.holds(prove_purge); }
  // True: purged pages keep their contents, so nothing is purged in this process.
  static bool is_purge_broken() noexcept {
    return purge_proof.verdict(prove_purge) == Verdict::broken;
  }
  static bool is_purge_of_runs_true() noexcept { return runs_proof.holds(prove_purge_of_runs); }
  // Do moved pages keep their contents, and do the pages at the source read as zero?
  static bool is_move_true() noexcept { return move_proof.holds(prove_move); }
  // Do pages lose their contents when they get guards?
  static bool is_guard_true() noexcept { return guard_proof.holds(prove_guard); }

 protected:
  static constexpr long guard_install = 102, guard_remove = 103;
  static constexpr long move_flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  static constexpr long process_madvise = 440, own_process = -10000;

  static long advise(const void* at, size_t bytes, long advice) noexcept {
    return call(SYS_madvise, to_long(at), static_cast<long>(bytes), advice);
  }

 private:
  inline static KernelProof purge_proof, runs_proof, move_proof, guard_proof;

  // Pages of Talus' own for the duration of a proof.
  class ProofPages {
   public:
    static constexpr size_t count = 3;

    ProofPages() noexcept : page_bytes_{getauxval(AT_PAGESZ)} {
      const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
      const long at = call(SYS_mmap, 0, bytes(), PROT_READ | PROT_WRITE, flags, -1, 0);
      tell_after_map();
      if (!is_error(at)) base_ = reinterpret_cast<char*>(at);
    }
    ~ProofPages() {
      tell_before_unmap();
      if (base_ != nullptr) call(SYS_munmap, to_long(base_), bytes());
    }
    ProofPages(const ProofPages&) = delete;
    ProofPages& operator=(const ProofPages&) = delete;

    bool are_there() const noexcept { return base_ != nullptr; }
    size_t page_bytes() const noexcept { return page_bytes_; }
    char* page(size_t index) const noexcept { return base_ + index * page_bytes_; }
    // volatile: the compiler must not know what a page holds.
    volatile char& mark(size_t index) const noexcept { return *page(index); }

   private:
    long bytes() const noexcept { return static_cast<long>(count * page_bytes_); }

    char* base_ = nullptr;
    size_t page_bytes_;
  };

  static Verdict verdict_of(bool holds) noexcept {
    return holds ? Verdict::holds : Verdict::broken;
  }
  TALUS_COLD static Verdict prove_purge() noexcept {
    const ProofPages pages;
    if (!pages.are_there()) return Verdict::unknown;
    pages.mark(0) = 1;
    // A refusal means that pages of this process are locked as they are mapped (mlockall).
    if (advise(pages.page(0), pages.page_bytes(), MADV_DONTNEED) != 0) return Verdict::unknown;
    return verdict_of(pages.mark(0) == 0);
  }
  // What an older kernel refuses here, it refuses to the caller in the same way.
  TALUS_COLD static Verdict prove_purge_of_runs() noexcept {
    const ProofPages pages;
    if (!pages.are_there()) return Verdict::unknown;
    for (size_t i = 0; i < ProofPages::count; i++) pages.mark(i) = 1;
    struct Run {
      void* at;
      size_t bytes;
    };
    const Run runs[] = {{pages.page(0), pages.page_bytes()}, {pages.page(2), pages.page_bytes()}};
    const long result = call(process_madvise, own_process, to_long(runs), 2, MADV_DONTNEED, 0);
    if (is_error(result)) return result == invalid_argument ? Verdict::unknown : Verdict::broken;
    return verdict_of(result == static_cast<long>(2 * pages.page_bytes()) && pages.mark(0) == 0 &&
                      pages.mark(1) == 1 && pages.mark(2) == 0);
  }
  TALUS_COLD static Verdict prove_move() noexcept {
    const ProofPages pages;
    if (!pages.are_there()) return Verdict::unknown;
    pages.mark(0) = 1;
    pages.mark(1) = 2;
    pages.mark(2) = 3;
    const long bytes = static_cast<long>(pages.page_bytes());
    const long result =
        call(SYS_mremap, to_long(pages.page(0)), bytes, bytes, move_flags, to_long(pages.page(2)));
    if (result != to_long(pages.page(2))) return Verdict::broken;
    return verdict_of(pages.mark(0) == 0 && pages.mark(1) == 2 && pages.mark(2) == 1);
  }
  TALUS_COLD static Verdict prove_guard() noexcept {
    const ProofPages pages;
    if (!pages.are_there()) return Verdict::unknown;
    constexpr long no_advice = 0x7fffffff;  // an emulator may accept every advice, and do nothing
    if (advise(pages.page(0), pages.page_bytes(), no_advice) == 0) return Verdict::broken;
    pages.mark(0) = 1;
    const bool is_done = advise(pages.page(0), pages.page_bytes(), guard_install) == 0 &&
                         advise(pages.page(0), pages.page_bytes(), guard_remove) == 0;
    return verdict_of(is_done && pages.mark(0) == 0);
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_PROOFS_HPP
