// SPDX-License-Identifier: MIT
//
// Owns: the page of a profile: one file of HTML with a flame graph and a table.
// Invariant: the page loads nothing, and no name of a function can end its data.
// Must not know: how the page draws.

#ifndef TALUS_TOOLS_TALUS_PROFILE_PROFILE_VIEW_HPP
#define TALUS_TOOLS_TALUS_PROFILE_PROFILE_VIEW_HPP

#include <string>

#include "profile/named_profile.hpp"
#include "profile/show_places.hpp"

namespace talus::tool {

std::string profile_as_page(const PlacesTitle& title, const NamedProfile& profile);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_PROFILE_VIEW_HPP
