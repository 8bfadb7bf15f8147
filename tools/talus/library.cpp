// SPDX-License-Identifier: MIT
//
// Owns: the search for libtalus.so, see library.hpp. The kernel tells the command's own place
// (/proc/self/exe), so a symbolic link to the command works as well.
// Invariants: a path with a colon or a space is refused. LD_PRELOAD is split at both and has no
// quotes, so the loader would try two halves. A dollar sign is refused too: the loader expands
// names after it. The folder is the kernel's name, since only the kernel resolves .. after a link.
// The file keeps its own name.
// Must not know: options.

#include "library.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace talus::tool {
namespace {

namespace files = std::filesystem;

// Tried in this order, relative to the folder of the command.
constexpr const char* folders[] = {
    ".",
    "../lib",
#ifdef TALUS_MULTIARCH
    ("../lib/" TALUS_MULTIARCH),
#endif
    "../lib64",
    "../lib/talus",
};

LibraryPath accept(const files::path& path) {
  std::error_code error;
  const files::path folder = files::canonical(files::absolute(path, error).parent_path(), error);
  if (error) return {{}, fmt::format("{}: {}", path.string(), error.message())};
  const std::string text = (folder / path.filename()).string();
  if (text.find_first_of(": \t\n$") != std::string::npos) {
    return {{},
            fmt::format("{}: a path with a colon, a space or a dollar cannot be preloaded", text)};
  }
  return {text, {}};
}

}  // namespace

LibraryPath find_library(const std::string& wanted) {
  std::error_code error;
  if (!wanted.empty()) {
    if (files::is_regular_file(wanted, error) && ::access(wanted.c_str(), R_OK) == 0) {
      return accept(wanted);
    }
    return {{}, fmt::format("{}: no such library, or it cannot be read", wanted)};
  }
  const files::path command = files::read_symlink("/proc/self/exe", error);
  if (error) return {{}, "libtalus.so: /proc is not mounted; name the library with --lib PATH"};
  std::string tried;
  for (const char* folder : folders) {
    const files::path path = command.parent_path() / folder / "libtalus.so";
    if (files::is_regular_file(path, error)) return accept(path);
    tried += (tried.empty() ? "" : ", ") + path.parent_path().lexically_normal().string();
  }
  return {{}, fmt::format("libtalus.so not found in {}; name it with --lib PATH", tried)};
}

std::string preload_with(const std::string& library, const char* existing) {
  const std::string_view before = existing != nullptr ? existing : "";
  if (before.empty()) return library;
  if (before.substr(0, before.find_first_of(": ")) == library) return std::string(before);
  return library + ":" + std::string(before);
}

}  // namespace talus::tool
