// SPDX-License-Identifier: MIT
//
// Owns: the start of a loader in its listing mode, see loader_listing.hpp.
// Invariant: a loader without a known listing mode is not started, since it might run the program.
// Must not know: the purpose of the list.

#include "loader_listing.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "future_process.hpp"

namespace talus::tool {
namespace {

std::string loader_name(const Program& program) {
  return std::filesystem::path(program.facts->interpreter).filename().string();
}

}  // namespace

bool has_musl_loader(const Program& program) {
  return program.facts && loader_name(program).rfind("ld-musl-", 0) == 0;
}

bool has_listing_loader(const Program& program) {
  return loader_name(program).rfind("ld-linux", 0) == 0 || has_musl_loader(program);
}

LoaderListing list_objects(const Program& program, const std::string& preload) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  std::string loader = program.facts->interpreter;
  std::string list = "--list";
  std::string image = program.image;
  char* const arguments[] = {loader.data(), list.data(), image.data(), nullptr};
  std::vector<std::string> variables = own_environment();
  std::erase_if(variables,
                [](const std::string& variable) { return variable.rfind("LD_PRELOAD=", 0) == 0; });
  variables.push_back("LD_PRELOAD=" + preload);
  variables.push_back("LD_TRACE_LOADED_OBJECTS=1");  // for glibc, in case --list has no effect
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, loader.c_str(), &actions, nullptr, arguments, environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  LoaderListing output;
  char piece[4096];
  for (;;) {
    const ssize_t got = ::read(ends[0], piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.text.append(piece, static_cast<size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  if (error == 0 && ::waitpid(child, &status, 0) == child) {
    output.is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return output;
}

}  // namespace talus::tool
