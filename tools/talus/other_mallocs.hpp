// SPDX-License-Identifier: MIT
//
// Owns: which objects of a process on Talus have another malloc: their calls were bound to it, as
// RTLD_DEEPBIND does, or they bring one.
// Invariant: only what can be read is told; a call that was not bound so far is no finding.
// Must not know: how Talus came into the process.

#ifndef TALUS_TOOLS_TALUS_OTHER_MALLOCS_HPP
#define TALUS_TOOLS_TALUS_OTHER_MALLOCS_HPP

#include <string>
#include <vector>

#include "process_view.hpp"

namespace talus::tool {

// Of the loader's own malloc, which older ones have, nobody else gets anything.
bool brings_another_malloc(const MappedObject& object);

// A line for each such object, in the order of addresses. `talus` carries Talus.
std::vector<std::string> find_other_mallocs(const std::string& pid, const ProcessView& view,
                                            const MappedObject& talus);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OTHER_MALLOCS_HPP
