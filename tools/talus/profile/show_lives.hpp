// SPDX-License-Identifier: MIT
//
// Owns: the table of how long blocks lived, by the function that allocated them.
// Invariant: a share is one of the freed blocks of its row.
// Must not know: how samples are read.

#ifndef TALUS_TOOLS_TALUS_PROFILE_SHOW_LIVES_HPP
#define TALUS_TOOLS_TALUS_PROFILE_SHOW_LIVES_HPP

#include <string>

#include "profile/named_profile.hpp"
#include "profile/show_places.hpp"

namespace talus::tool {

// Those that freed most bytes first.
std::string show_lives(const PlacesTitle& title, const NamedProfile& profile);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_SHOW_LIVES_HPP
