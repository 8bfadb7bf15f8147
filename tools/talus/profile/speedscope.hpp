// SPDX-License-Identifier: MIT
//
// Owns: the form of a profile that speedscope reads: one object of JSON.
// Invariant: its schema is https://www.speedscope.app/file-format-schema.json. No number is
// negative, so a difference has no such form.
// Must not know: how samples are read.

#ifndef TALUS_TOOLS_TALUS_PROFILE_SPEEDSCOPE_HPP
#define TALUS_TOOLS_TALUS_PROFILE_SPEEDSCOPE_HPP

#include <string>

#include "profile/named_profile.hpp"
#include "profile/views.hpp"

namespace talus::tool {

// One profile for each measure that is not zero; `first` is shown first.
std::string speedscope_of(const NamedProfile& profile, Measure first);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_SPEEDSCOPE_HPP
