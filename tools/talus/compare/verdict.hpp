// SPDX-License-Identifier: MIT
//
// Owns: the sentences that answer the question of a comparison: how Talus does beside the
// reference, which allocator is best, and which measure of time decided.
// Invariant: a number stands in a sentence only where the samples show the difference.
// Must not know: where the sentences are printed.

#ifndef TALUS_TOOLS_TALUS_COMPARE_VERDICT_HPP
#define TALUS_TOOLS_TALUS_COMPARE_VERDICT_HPP

#include <cstddef>
#include <string>

#include "judge.hpp"

namespace talus::tool {

// The row that the verdict is about: the first of Talus, else the quickest; the reference's index
// if there is no other.
size_t subject_of(const Comparison& comparison, const Judgement& judgement);

// Writes judgement.verdict and judgement.ranking; figures and failures are there.
void add_verdict(const Comparison& comparison, Judgement& judgement);

// "Wall time decides: the intervals of its ratios are 1.2 % wide."
std::string text_of_time(const TimeChoice& time);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_VERDICT_HPP
