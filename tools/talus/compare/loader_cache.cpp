// SPDX-License-Identifier: MIT
//
// Owns: the reading of the loader's cache, see loader_cache.hpp. ldconfig may be outside of PATH,
// and its text is made for people, so it is not used. Layout of the cache, with numbers in the
// machine's byte order:
//   20 bytes  "glibc-ld.so.cache1.1", perhaps after an older table of another layout
//    4 bytes  number of entries       4 bytes  length of the strings      20 bytes  not needed here
//   24 bytes  each entry: flags, offset of the name, offset of the path, OS version, hardware (8)
// Offsets count from the first of the 20 bytes.
// Must not know: which libraries are allocators.

#include "loader_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "../file_text.hpp"

namespace talus::tool {
namespace {

namespace files = std::filesystem;

constexpr std::string_view cache_mark = "glibc-ld.so.cache1.1";
constexpr size_t header_bytes = 48;
constexpr size_t entry_bytes = 24;
constexpr size_t path_offset = 8;  // within an entry

constexpr const char* standard_folders[] = {
#ifdef TALUS_MULTIARCH
    "/usr/local/lib/" TALUS_MULTIARCH,
    "/lib/" TALUS_MULTIARCH,
    "/usr/lib/" TALUS_MULTIARCH,
#endif
    "/usr/local/lib",
    "/usr/local/lib64",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib"};

uint32_t number_at(std::string_view bytes, size_t offset) {
  uint32_t number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

void add_folder(const files::path& folder, std::vector<std::string>& found) {
  std::error_code error;
  std::vector<std::string> here;
  for (const files::directory_entry& entry : files::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".so") != std::string::npos) here.push_back(entry.path().string());
  }
  std::sort(here.begin(), here.end());
  found.insert(found.end(), here.begin(), here.end());
}

}  // namespace

std::vector<std::string> paths_in_cache(std::string_view cache) {
  const size_t start = cache.find(cache_mark);
  if (start == std::string_view::npos) return {};
  cache.remove_prefix(start);
  if (cache.size() < header_bytes) return {};
  const size_t count = number_at(cache, cache_mark.size());
  if (count > (cache.size() - header_bytes) / entry_bytes) return {};
  std::vector<std::string> paths;
  for (size_t i = 0; i < count; i++) {
    const size_t at = number_at(cache, header_bytes + i * entry_bytes + path_offset);
    if (at >= cache.size()) continue;
    const size_t end = cache.find('\0', at);
    if (end == std::string_view::npos || cache[at] != '/') continue;
    paths.emplace_back(cache.substr(at, end - at));
  }
  return paths;
}

std::vector<std::string> loader_libraries() {
  std::vector<std::string> found;
  const char* const variable = std::getenv("LD_LIBRARY_PATH");
  std::string_view folders = variable != nullptr ? variable : "";
  while (!folders.empty()) {
    const size_t end = folders.find_first_of(":;");
    const std::string_view folder = folders.substr(0, end);
    if (!folder.empty()) add_folder(folder, found);
    if (end == std::string_view::npos) break;
    folders.remove_prefix(end + 1);
  }
  const std::vector<std::string> cached =
      paths_in_cache(text_of_file("/etc/ld.so.cache").value_or(""));
  found.insert(found.end(), cached.begin(), cached.end());
  for (const char* const folder : standard_folders) add_folder(folder, found);
  return found;
}

}  // namespace talus::tool
