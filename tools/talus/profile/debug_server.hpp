// SPDX-License-Identifier: MIT
//
// Owns: requests for debug files to servers. debuginfod-find of elfutils asks them, as a child.
// Invariants: nothing is asked unless the user wants it. No request takes longer than its limit.
// What is not had is said in a line, and the profile goes on without it.
// Must not know: what is in such a file.

#ifndef TALUS_TOOLS_TALUS_PROFILE_DEBUG_SERVER_HPP
#define TALUS_TOOLS_TALUS_PROFILE_DEBUG_SERVER_HPP

#include <string>

namespace talus::tool {

class DebugServer {
 public:
  // `limit_s` is for each request, in seconds; 0: no server is asked.
  explicit DebugServer(double limit_s) : limit_s_{limit_s} {}

  // The path of the debug file of `object`, a file with this build id in hexadecimal. Empty: it
  // cannot be had.
  std::string file_for(const std::string& object, const std::string& build_id);

 private:
  void give_up(const std::string& why);

  double limit_s_;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_DEBUG_SERVER_HPP
