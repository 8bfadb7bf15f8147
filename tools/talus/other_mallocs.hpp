// SPDX-License-Identifier: MIT
//
// Owns: which objects of a process on Talus use another malloc. Their calls were bound to it, as
// RTLD_DEEPBIND does, or they define one.
// Invariant: only readable facts are reported. An unbound call is not a finding.
// Must not know: how Talus came into the process.

#ifndef TALUS_TOOLS_TALUS_OTHER_MALLOCS_HPP
#define TALUS_TOOLS_TALUS_OTHER_MALLOCS_HPP

#include <string>
#include <vector>

#include "process_view.hpp"

namespace talus::tool {

// Older loaders have a malloc of their own, which serves no other object.
bool brings_another_malloc(const MappedObject& object);

// One line for each such object, in the order of addresses. `talus` is the object that contains
// Talus.
std::vector<std::string> find_other_mallocs(const std::string& pid, const ProcessView& view,
                                            const MappedObject& talus);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OTHER_MALLOCS_HPP
