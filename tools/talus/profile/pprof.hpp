// SPDX-License-Identifier: MIT
//
// Owns: the form of a profile that `pprof` reads: a gzipped protocol buffer.
// Invariant: the same profile gives the same bytes. Format: profile.proto of google/pprof.
// Must not know: how samples are read.

#ifndef TALUS_TOOLS_TALUS_PROFILE_PPROF_HPP
#define TALUS_TOOLS_TALUS_PROFILE_PPROF_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "profile/code_names.hpp"
#include "profile/named_profile.hpp"
#include "profile/samples.hpp"
#include "profile/views.hpp"

namespace talus::tool {

struct ProfileHead {
  uint64_t at_ns = 0;    // since 1970
  uint64_t span_ns = 0;  // 0: since the profile began
  ProfileView view = ProfileView::live;
};

// Not compressed.
std::string pprof_of(const std::vector<Place>& places, uint64_t mean_bytes, CodeNames& names,
                     const ProfileHead& head);

// Without addresses. Numbers of a difference may be negative, which pprof shows.
std::string pprof_of(const NamedProfile& profile);

// Empty: there is no memory for it.
std::string gzipped(const std::string& text);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_PPROF_HPP
