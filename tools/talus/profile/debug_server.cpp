// SPDX-License-Identifier: MIT
//
// Owns: the question and what is read of the answer, see debug_server.hpp.
// Invariant: see debug_server.hpp.
// Must not know: see debug_server.hpp.

#include "profile/debug_server.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "command.hpp"
#include "future_process.hpp"
#include "piped_child.hpp"

namespace talus::tool {
namespace {

constexpr const char* finder = "debuginfod-find";
constexpr const char* servers_variable = "DEBUGINFOD_URLS";
constexpr size_t text_bytes_max = 65536;

ChildCommand finder_of(const std::string& build_id) {
  ChildCommand command{{finder, "debuginfo", build_id}, own_environment()};
  // Its progress would be taken for an answer.
  std::erase_if(command.variables, [](const std::string& variable) {
    return variable.starts_with("DEBUGINFOD_PROGRESS=") ||
           variable.starts_with("DEBUGINFOD_VERBOSE=");
  });
  command.searches_path = command.takes_errors = true;
  command.text_bytes_max = text_bytes_max;
  return command;
}

// The last line that is not empty.
std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of("\r\n");
  if (end == std::string::npos) return "";
  const size_t before = text.find_last_of("\r\n", end);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end + 1 - begin);
}

}  // namespace

void DebugServer::give_up(const std::string& why) {
  complain(fmt::format("profile: --debuginfod: {}", why));
  limit_s_ = 0;
}

std::string DebugServer::file_for(const std::string& object, const std::string& build_id) {
  if (limit_s_ <= 0 || build_id.empty()) return "";
  const char* const servers = std::getenv(servers_variable);
  if (servers == nullptr || servers[0] == '\0') {
    give_up(fmt::format("{} names no server", servers_variable));
    return "";
  }
  PipedChild child(finder_of(build_id));
  if (child.error() != 0) {
    give_up(
        fmt::format("{}: {}; it is a program of elfutils", finder, std::strerror(child.error())));
    return "";
  }
  using Clock = PipedChild::Clock;
  const auto limit =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s_));
  if (!child.wait(Clock::now() + limit)) {
    give_up(fmt::format("no answer for {} within {:g} s; no more files are asked for", object,
                        limit_s_));
    return "";
  }
  const std::string answer = last_line(child.text());
  if (child.is_good() && answer.starts_with("/")) return answer;
  complain(fmt::format("profile: --debuginfod: nothing for {} with build id {}: {}", object,
                       build_id, answer.empty() ? "no answer" : answer));
  return "";
}

}  // namespace talus::tool
