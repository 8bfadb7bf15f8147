// SPDX-License-Identifier: MIT
//
// Owns: the answers to requests for a heap profile, as programs written in Go give them.
// Invariant: only processes of the user; each answer is a new look.
// Must not know: HTTP.

#ifndef TALUS_TOOLS_TALUS_SERVE_HEAP_ANSWER_HPP
#define TALUS_TOOLS_TALUS_SERVE_HEAP_ANSWER_HPP

#include <map>
#include <string>

#include "profile/named_profile.hpp"

namespace talus::tool {

struct HeapAnswer {
  int code = 200;    // of HTTP
  std::string body;  // for pprof, or a line that says what is wrong
};

// `asked` are the words behind the question mark; pid is needed where several processes have
// profiles. `shown` is what pprof shows first.
HeapAnswer heap_answer(const std::map<std::string, std::string>& asked, ProfileView view);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_SERVE_HEAP_ANSWER_HPP
