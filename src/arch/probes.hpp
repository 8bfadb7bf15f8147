// SPDX-License-Identifier: MIT
// arch/probes: places where a tracer may attach (USDT), as SystemTap, bpftrace and gdb know them.
//
// A probe is one instruction that does nothing, and a note in a section that is never loaded. The
// note says where the arguments are. A tracer replaces the instruction. Probes whose arguments cost
// something have a semaphore: a word that the tracer counts up while it is attached.
//
// Owns: the notes (the format of sys/sdt.h, version 3, written here so that the build needs no
// such header) and the semaphores. Invariant: without a tracer a probe executes one nop and reads
// at most its semaphore. Called on: any thread, in slow paths. Must not know: what events mean.
#ifndef TALUS_ARCH_PROBES_HPP
#define TALUS_ARCH_PROBES_HPP

#include "base/base.hpp"

namespace talus::core::arch {

// How many tracers watch samples of the heap profile.
struct ProbeSemaphores {
  Atomic<uint16_t> shared_alloc, shared_free;
};
TALUS_CONSTINIT inline ProbeSemaphores probe_semaphores
    [[gnu::section(".probes"), gnu::visibility("hidden")]];

#if defined(__aarch64__) || defined(__riscv)
#define TALUS_PROBE_ADDRESS "S"
#else
#define TALUS_PROBE_ADDRESS "i"
#endif
#if defined(__riscv)
#define TALUS_PROBE_SYMBOL "%"
#else
#define TALUS_PROBE_SYMBOL "%c"
#endif

// The instruction and its note. The name of the provider and of the probe, the assembler's
// expression for the semaphore, and the arguments: "bytes@place" each. NOLINTBEGIN
#define TALUS_PROBE(provider, name, semaphore, arguments)               \
  "990: nop\n"                                                          \
  ".pushsection .note.stapsdt,\"?\",%%note\n"                           \
  ".balign 4\n"                                                         \
  ".4byte 992f-991f, 994f-993f, 3\n"                                    \
  "991: .asciz \"stapsdt\"\n"                                           \
  "992: .balign 4\n"                                                    \
  "993: .8byte 990b\n"                                                  \
  ".8byte _.stapsdt.base\n"                                             \
  ".8byte " semaphore                                                   \
  "\n"                                                                  \
  ".asciz \"" provider                                                  \
  "\"\n"                                                                \
  ".asciz \"" name                                                      \
  "\"\n"                                                                \
  ".asciz \"" arguments                                                 \
  "\"\n"                                                                \
  "994: .balign 4\n"                                                    \
  ".popsection\n"                                                       \
  ".ifndef _.stapsdt.base\n"                                            \
  ".pushsection .stapsdt.base,\"aG\",%%progbits,.stapsdt.base,comdat\n" \
  ".weak _.stapsdt.base\n"                                              \
  ".hidden _.stapsdt.base\n"                                            \
  "_.stapsdt.base: .space 1\n"                                          \
  ".size _.stapsdt.base, 1\n"                                           \
  ".popsection\n"                                                       \
  ".endif\n"
// NOLINTEND

// --- otel_memory: as OpenTelemetry's profiler defines them. For sampled blocks only.

inline bool is_alloc_probed() noexcept { return probe_semaphores.shared_alloc.load_hint() != 0; }
TALUS_FAST void probe_alloc(const void* user, size_t bytes, size_t weighted_bytes) noexcept {
  asm inline volatile(TALUS_PROBE("otel_memory", "alloc", TALUS_PROBE_SYMBOL "3", "8@%0 8@%1 8@%2")
                      :
                      : "nr"(user), "nr"(bytes), "nr"(weighted_bytes),
                        TALUS_PROBE_ADDRESS(&probe_semaphores.shared_alloc));
}
inline bool is_free_probed() noexcept { return probe_semaphores.shared_free.load_hint() != 0; }
TALUS_FAST void probe_free(const void* pointer) noexcept {
  asm inline volatile(TALUS_PROBE("otel_memory", "free", TALUS_PROBE_SYMBOL "1", "8@%0")
                      :
                      : "nr"(pointer), TALUS_PROBE_ADDRESS(&probe_semaphores.shared_free));
}

// --- talus: events of slow paths

// A thread's list of blocks of this size was empty, and got some from its heap.
TALUS_FAST void probe_refill(size_t block_bytes, size_t blocks) noexcept {
  asm inline volatile(TALUS_PROBE("talus", "refill", "0", "8@%0 8@%1")
                      :
                      : "nr"(block_bytes), "nr"(blocks));
}
// Pages went back to the kernel, in this number of calls.
TALUS_FAST void probe_purge(size_t bytes, size_t calls) noexcept {
  asm inline volatile(TALUS_PROBE("talus", "purge", "0", "8@%0 8@%1") : : "nr"(bytes), "nr"(calls));
}
// Addresses came from the kernel.
TALUS_FAST void probe_grow(uintptr_t base, size_t bytes) noexcept {
  asm inline volatile(TALUS_PROBE("talus", "grow", "0", "8@%0 8@%1") : : "nr"(base), "nr"(bytes));
}
// A new thread took over the cache of one that ended.
TALUS_FAST void probe_adopt(const void* cache) noexcept {
  asm inline volatile(TALUS_PROBE("talus", "adopt", "0", "8@%0") : : "nr"(cache));
}
// There was no memory for a request. The first attempt has number 0.
TALUS_FAST void probe_no_memory(size_t bytes, size_t attempt) noexcept {
  asm inline volatile(TALUS_PROBE("talus", "no_memory", "0", "8@%0 8@%1")
                      :
                      : "nr"(bytes), "nr"(attempt));
}

#undef TALUS_PROBE
#undef TALUS_PROBE_ADDRESS
#undef TALUS_PROBE_SYMBOL

}  // namespace talus::core::arch

#endif  // TALUS_ARCH_PROBES_HPP
