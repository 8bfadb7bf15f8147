// SPDX-License-Identifier: MIT
//
// Owns: the start of a loader in its listing mode, see loader_listing.hpp.
// Invariant: a loader without a known listing mode is not started, since it might run the program.
// Must not know: the purpose of the list.

#include "loader_listing.hpp"

#include <filesystem>
#include <utility>

#include "future_process.hpp"
#include "piped_child.hpp"

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
  ChildCommand command{{program.facts->interpreter, "--list", program.image}, own_environment()};
  std::erase_if(command.variables,
                [](const std::string& variable) { return variable.rfind("LD_PRELOAD=", 0) == 0; });
  command.variables.push_back("LD_PRELOAD=" + preload);
  // For glibc, in case --list has no effect.
  command.variables.push_back("LD_TRACE_LOADED_OBJECTS=1");
  PipedChild child(std::move(command));
  child.wait();
  return {child.is_good(), child.text()};
}

}  // namespace talus::tool
