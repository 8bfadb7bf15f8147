// SPDX-License-Identifier: MIT
// observe/observed_state: how another process finds the heap of this one.
//
// A second ELF note beside the version's (section .note.talus, owner "Talus", type 2) has the
// distances from itself to the state and to the table. A reader takes the note from the file's
// first page in memory. So it needs no symbol and no file, and core files do as well.
// Owns: the state and its note. Invariants: nothing here runs. No thread, no descriptor and no page
// is spent until a reader looks, and reading changes nothing in this process.
// Must not know: the readers (docs/observe.md).
#ifndef TALUS_OBSERVE_OBSERVED_STATE_HPP
#define TALUS_OBSERVE_OBSERVED_STATE_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/machine.hpp"
#include "settings/options.hpp"
#include "os/guards.hpp"
#include "retention/decay_clock.hpp"
#include "space/space.hpp"
#include "heap/allocated.hpp"
#include "heap/instance.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/special.hpp"
#include "store/large.hpp"
#include "modes/counting.hpp"
#include "modes/guarded_pool.hpp"
#include "modes/profile.hpp"
#include "modes/tags.hpp"
#include "statistics/statistics.hpp"
#include "threads/helper.hpp"
#include "observe/observed_fields.hpp"
#include "observe/observed_table.hpp"

namespace talus::core {

// Apart from other constants, which the start reads.
[[gnu::section("talus_observed")]] TALUS_HIDDEN inline constexpr auto observed_table =
    ObservedLayout::make_table();

TALUS_CONSTINIT inline ObservedState observed_state = {{'t', 'a', 'l', 'u', 's', 'o', 'b', 's'},
                                                       observed_version,
                                                       sizeof(ObservedState),
                                                       &size_class_rows,
                                                       &registry,
                                                       &instance_table,
                                                       &space,
                                                       &page_map,
                                                       &large_pool,
                                                       &special_pool,
                                                       &limits,
                                                       &guards,
                                                       &counting::shared,
                                                       &process_started_ns,
                                                       &helper,
                                                       &purge_request,
                                                       &options,
                                                       &decay_clock,
                                                       &allocated_count,
                                                       &profile::profile,
                                                       &guarded::guarded,
                                                       &tags::all_tags};

// An address as an operand, also in code that may lie anywhere.
#if defined(__aarch64__) || defined(__riscv)
#define TALUS_ADDRESS_OPERAND "S"
#else
#define TALUS_ADDRESS_OPERAND "i"
#endif
// Before the number of an operand: as a plain constant.
#if defined(__riscv)
#define TALUS_CONSTANT "%"
#else
#define TALUS_CONSTANT "%c"
#endif

// Part of a function, because only there the compiler tells the assembler its names.
TALUS_FAST void leave_observed_note() noexcept {
  asm inline volatile(
      ".pushsection .note.talus,\"a\",%%note\n"
      ".balign 4\n"
      ".long 6, 16, " TALUS_CONSTANT
      "2\n"
      ".asciz \"Talus\"\n"
      ".balign 4\n"
      ".quad " TALUS_CONSTANT
      "0 - .\n"
      ".quad " TALUS_CONSTANT
      "1 - .\n"
      ".popsection"
      :
      : TALUS_ADDRESS_OPERAND(&observed_state), TALUS_ADDRESS_OPERAND(&observed_table),
        "i"(observed_note_type));
}
#undef TALUS_ADDRESS_OPERAND
#undef TALUS_CONSTANT

}  // namespace talus::core

#endif  // TALUS_OBSERVE_OBSERVED_STATE_HPP
