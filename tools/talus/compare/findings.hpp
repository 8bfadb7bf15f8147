// SPDX-License-Identifier: MIT
//
// Owns: the sentences of a judgement: failures and differences in behaviour, and the notes that
// keep a reader from taking the figures for more than they are.
// Invariant: one line each; text of the program appears with its control characters replaced.
// Must not know: where the sentences are printed.

#ifndef TALUS_TOOLS_TALUS_COMPARE_FINDINGS_HPP
#define TALUS_TOOLS_TALUS_COMPARE_FINDINGS_HPP

#include "judge.hpp"

namespace talus::tool {

void add_failures(const Comparison& comparison, Judgement& judgement);
void add_notes(const Comparison& comparison, Judgement& judgement);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_FINDINGS_HPP
