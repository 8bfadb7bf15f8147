// SPDX-License-Identifier: MIT
//
// Owns: the sentences that answer the question of a comparison: Talus beside the reference, the
// best allocator, and the measure of time that decided.
// Invariant: a sentence contains a number only if the samples show the difference.
// Must not know: where the sentences are printed.

#ifndef TALUS_TOOLS_TALUS_COMPARE_VERDICT_HPP
#define TALUS_TOOLS_TALUS_COMPARE_VERDICT_HPP

#include <cstddef>
#include <string>

#include "judge.hpp"

namespace talus::tool {

// The row of the verdict: the first Talus row, else the fastest row. The reference's index if there
// is no other row.
size_t subject_of(const Comparison& comparison, const Judgement& judgement);

// Writes judgement.verdict and judgement.ranking. Figures and failures must be complete.
void add_verdict(const Comparison& comparison, Judgement& judgement);

// "Wall time decides: the intervals of its ratios are 1.2 % wide."
std::string text_of_time(const TimeChoice& time);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_VERDICT_HPP
