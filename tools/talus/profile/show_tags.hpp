// SPDX-License-Identifier: MIT
//
// Owns: a profile by the purposes that the program said (talus_tag_push).
// Invariant: a block without a tag counts under words that no tag has, as they have a bracket.
// Must not know: how samples are read.

#ifndef TALUS_TOOLS_TALUS_PROFILE_SHOW_TAGS_HPP
#define TALUS_TOOLS_TALUS_PROFILE_SHOW_TAGS_HPP

#include <string>

#include "profile/named_profile.hpp"
#include "profile/show_places.hpp"

namespace talus::tool {

// The same, with the tag of each stack as its outermost frame.
NamedProfile with_tags_outermost(const NamedProfile& profile);

// A table of all tags, each with its first places.
std::string show_tags(const PlacesTitle& title, const NamedProfile& profile);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_SHOW_TAGS_HPP
