// SPDX-License-Identifier: MIT
//
// Owns: the start of the child, its pipe and its end, see piped_child.hpp.
// Invariant: see piped_child.hpp.
// Must not know: see piped_child.hpp.

#include "piped_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace talus::tool {
namespace {

// As the calls of exec want them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

PipedChild::PipedChild(ChildCommand command) : text_bytes_max_(command.text_bytes_max) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    error_ = errno;
    return;
  }
  const std::vector<char*> arguments = pointers_to(command.words);
  const std::vector<char*> environment = pointers_to(command.variables);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (command.takes_errors) {
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  }
  const auto spawn = command.searches_path ? ::posix_spawnp : ::posix_spawn;
  error_ = spawn(&child_, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  if (error_ != 0) child_ = 0;
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output_ = ends[0];
}

PipedChild::~PipedChild() {
  if (output_ >= 0) ::close(output_);
  if (child_ == 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
}

bool PipedChild::wait(std::optional<Clock::time_point> end) {
  if (child_ == 0) return true;
  return read_until(end) && ends_by(end);
}

bool PipedChild::read_until(std::optional<Clock::time_point> end) {
  char piece[4096];
  for (;;) {
    if (end) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now()).count();
      pollfd waiting{output_, POLLIN, 0};
      const int ready = left <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return false;
    }
    const ssize_t got = ::read(output_, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text_.append(piece, static_cast<size_t>(got));
    if (text_.size() > text_bytes_max_) text_.erase(0, text_.size() - text_bytes_max_);
  }
}

bool PipedChild::ends_by(std::optional<Clock::time_point> end) {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child_, &status, end ? WNOHANG : 0);
    if (ended == child_) {
      child_ = 0;
      is_good_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      return true;
    }
    if (ended < 0 && errno != EINTR) return true;
    if (!end) continue;
    if (Clock::now() >= *end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace talus::tool
