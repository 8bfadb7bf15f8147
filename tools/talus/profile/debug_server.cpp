// SPDX-License-Identifier: MIT
//
// Owns: the child and what it says, see debug_server.hpp.
// Invariant: see debug_server.hpp.
// Must not know: see debug_server.hpp.

#include "profile/debug_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "command.hpp"
#include "future_process.hpp"

namespace talus::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* finder = "debuginfod-find";
constexpr const char* servers_variable = "DEBUGINFOD_URLS";
constexpr size_t text_bytes_max = 65536;

// A child, and the pipe of all that it prints.
class Finder {
 public:
  explicit Finder(const std::string& build_id) { start(build_id); }
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;
  ~Finder() {
    if (output_ >= 0) ::close(output_);
    if (child_ == 0) return;
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
  }

  int error() const { return error_; }  // why it was not started; 0: it was
  const std::string& text() const { return text_; }
  bool is_good() const { return is_good_; }

  // Reads until the child has ended. False: not by then.
  bool wait_until(Clock::time_point end) { return read_until(end) && ends_by(end); }

 private:
  void start(const std::string& build_id) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      error_ = errno;
      return;
    }
    std::string words[] = {finder, "debuginfo", build_id};
    char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    std::vector<std::string> variables = own_environment();
    // Its progress would be taken for an answer.
    std::erase_if(variables, [](const std::string& variable) {
      return variable.starts_with("DEBUGINFOD_PROGRESS=") ||
             variable.starts_with("DEBUGINFOD_VERBOSE=");
    });
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    error_ = ::posix_spawnp(&child_, finder, &actions, nullptr, arguments, environment.data());
    if (error_ != 0) child_ = 0;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
  }

  bool read_until(Clock::time_point end) {
    char piece[4096];
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      pollfd waiting{output_, POLLIN, 0};
      const int ready = left <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return false;
      const ssize_t got = ::read(output_, piece, sizeof piece);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return true;
      text_.append(piece, static_cast<size_t>(got));
      if (text_.size() > text_bytes_max) text_.erase(0, text_.size() - text_bytes_max);
    }
  }
  bool ends_by(Clock::time_point end) {
    for (;;) {
      int status = 0;
      const pid_t ended = ::waitpid(child_, &status, WNOHANG);
      if (ended == child_) {
        child_ = 0;
        is_good_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        return true;
      }
      if (ended < 0 && errno != EINTR) return true;
      if (Clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  pid_t child_ = 0;
  int output_ = -1;
  int error_ = 0;
  bool is_good_ = false;
  std::string text_;
};

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
  Finder child(build_id);
  if (child.error() != 0) {
    give_up(
        fmt::format("{}: {}; it is a program of elfutils", finder, std::strerror(child.error())));
    return "";
  }
  const auto limit =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s_));
  if (!child.wait_until(Clock::now() + limit)) {
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
