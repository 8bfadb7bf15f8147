// SPDX-License-Identifier: MIT
//
// Owns: the sentences of a judgement: failures, differences in behaviour, and notes that limit the
// meaning of the figures.
// Invariant: one line each. Control characters in the program's text are replaced.
// Must not know: where the sentences are printed.

#ifndef TALUS_TOOLS_TALUS_COMPARE_FINDINGS_HPP
#define TALUS_TOOLS_TALUS_COMPARE_FINDINGS_HPP

#include "judge.hpp"

namespace talus::tool {

void add_failures(const Comparison& comparison, Judgement& judgement);
void add_notes(const Comparison& comparison, Judgement& judgement);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_FINDINGS_HPP
