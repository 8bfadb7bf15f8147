// SPDX-License-Identifier: MIT
// entry/single_name: one name of the C library's allocator as an archive member of its own.
//
// The main member of libtalus.a defines these names weakly, so that a program may define them
// itself (entry/replaceable.list). mold prefers a strong definition in a later archive to a weak
// one in an earlier archive. It would take malloc from libc.a, and the link would fail, or mix two
// heaps. So the archive also defines each name strongly, in a small member after the main one. GNU
// ld, gold and lld take the first member that defines a name, and never see the small ones.
//
// Owns: a jump. The build gives it its names (src/CMakeLists.txt): the one of C, and a hidden one
// by which the main member recognises it. Must not define: a second name of C, or a program that
// defines only some names could not be linked.
asm(R"(
  .pushsection .text
  .globl talus_single_name
  .type talus_single_name, %function
  .globl talus_single_place
  .hidden talus_single_place
  .hidden talus_single_target
  .p2align 4
talus_single_place:
talus_single_name:
)"
#if defined(__x86_64__)
    "  endbr64\n  jmp talus_single_target\n"
#elif defined(__aarch64__)
    "  hint #34\n  b talus_single_target\n"
#elif defined(__riscv)
    "  tail talus_single_target\n"
#elif defined(__powerpc64__)
    "  b talus_single_target\n"
#elif defined(__s390x__)
    "  jg talus_single_target\n"
#else
#error "a jump that keeps all arguments where they are"
#endif
    R"(
  .size talus_single_name, . - talus_single_name
  .popsection
)");
