// SPDX-License-Identifier: MIT
//
// Owns: reading profiles in the form of `pprof`, as `talus profile -o FILE.pb.gz` writes them.
// Invariant: a file is not trusted: what is not understood is refused, and no read leaves it.
// Must not know: what the profile is compared with.

#ifndef TALUS_TOOLS_TALUS_PROFILE_PPROF_READER_HPP
#define TALUS_TOOLS_TALUS_PROFILE_PPROF_READER_HPP

#include <optional>
#include <string>

#include "profile/named_profile.hpp"

namespace talus::tool {

// Does the file begin as a compressed one does?
bool is_pprof_file(const std::string& path);

// Nothing: it cannot be read, or has not the sample types of a heap profile.
std::optional<NamedProfile> read_pprof(const std::string& path);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_PPROF_READER_HPP
