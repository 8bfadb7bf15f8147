// SPDX-License-Identifier: MIT
//
// Owns: the reading of /proc as people see it: which processes there are, their names, and files
// of lines "Name: text"; and the names of users.
// Invariant: only reads. What has ended meanwhile reads as empty.
// Must not know: what a line means.

#ifndef TALUS_TOOLS_TALUS_PROC_TEXT_HPP
#define TALUS_TOOLS_TALUS_PROC_TEXT_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace talus::tool {

// Of all processes, the lowest first.
std::vector<int> process_ids();

// The name of a user, or the number where there is none.
std::string user_name(unsigned id);

// The name of its program, at most 15 bytes; empty: it has ended.
std::string process_name(const std::string& pid);

using NamedLines = std::map<std::string, std::string>;
NamedLines named_lines(const std::string& path);
std::string text_in(const NamedLines& lines, const std::string& name);
// The first number of a line, times a factor.
std::optional<uint64_t> number_in(const NamedLines& lines, const std::string& name,
                                  uint64_t factor = 1);
// The id of a process or a thread in its own namespace: the last NSpid of its `status`.
std::optional<uint64_t> own_id_in(const NamedLines& status);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROC_TEXT_HPP
