// SPDX-License-Identifier: MIT
//
// Owns: the search for known allocators, see allocators.hpp.
// Invariant: a library file with a known name counts only if it defines malloc. A package may split
// its libraries in another way, and a file without malloc would have no effect.
// Must not know: the program that will run.

#include "allocators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "../command.hpp"
#include "../elf_file.hpp"
#include "../library.hpp"
#include "../setting.hpp"
#include "known_allocators.hpp"
#include "loader_cache.hpp"
#include "configuration/options_env.hpp"

namespace talus::tool {

using namespace core;  // the library's options
namespace {

namespace files = std::filesystem;

constexpr const char* talus_name = "talus";
constexpr std::string_view preset_prefix = "talus-";

// Compares digits as numbers, so that version 10 is newer than version 9.
bool is_older(std::string_view one, std::string_view other) {
  size_t i = 0, k = 0;
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  while (i < one.size() && k < other.size()) {
    if (is_digit(one[i]) && is_digit(other[k])) {
      unsigned long long left = 0, right = 0;
      for (; i < one.size() && is_digit(one[i]); i++)
        left = left * 10 + static_cast<unsigned>(one[i] - '0');
      for (; k < other.size() && is_digit(other[k]); k++)
        right = right * 10 + static_cast<unsigned>(other[k] - '0');
      if (left != right) return left < right;
    } else {
      if (one[i] != other[k]) return one[i] < other[k];
      i++, k++;
    }
  }
  return one.size() - i < other.size() - k;
}

// Compilers keep runtime libraries in lib/clang/VERSION/lib, where no loader looks.
void add_compiler_runtimes(std::vector<std::string>& found) {
  std::vector<files::path> roots{"/usr/lib/clang", "/usr/lib64/clang"};
  std::error_code error;
  for (const files::directory_entry& entry : files::directory_iterator("/usr/lib", error)) {
    if (entry.path().filename().string().rfind("llvm", 0) == 0)
      roots.push_back(entry.path() / "lib" / "clang");
  }
  std::vector<std::string> here;
  for (const files::path& root : roots) {
    for (const files::directory_entry& version : files::directory_iterator(root, error)) {
      for (const files::directory_entry& kind :
           files::directory_iterator(version.path() / "lib", error)) {
        for (const files::directory_entry& file : files::directory_iterator(kind.path(), error))
          if (!known_allocator(file.path()).empty()) here.push_back(file.path().string());
      }
    }
  }
  std::sort(here.begin(), here.end(), [](auto& one, auto& other) { return is_older(other, one); });
  found.insert(found.end(), here.begin(), here.end());
}

// The library of each known allocator: the loader's first choice. If a folder has several versions,
// the newest.
std::map<std::string, std::string> find_known() {
  std::vector<std::string> libraries = loader_libraries();
  add_compiler_runtimes(libraries);
  std::map<std::string, std::string> found;
  for (const std::string& path : libraries) {
    const std::string name = known_allocator(path);
    if (name.empty() || name == talus_name || !is_preloadable_allocator(path)) continue;
    const auto [place, is_new] = found.emplace(name, path);
    const bool is_same_folder =
        files::path(place->second).parent_path() == files::path(path).parent_path();
    if (!is_new && is_same_folder && is_older(place->second, path)) place->second = path;
  }
  return found;
}

bool is_good_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.';
  });
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == ',') {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

void put(std::vector<Allocator>& allocators, const Allocator& allocator) {
  const auto place = std::find_if(allocators.begin(), allocators.end(),
                                  [&](auto& other) { return other.name == allocator.name; });
  if (place == allocators.end()) {
    allocators.push_back(allocator);
  } else {
    *place = allocator;
  }
}

// Adds one NAME=PATH word. Returns an empty text, or the mistake.
std::string add_named(const std::string& word, std::vector<Allocator>& allocators) {
  const size_t end = word.find('=');
  const std::string name = word.substr(0, end);
  if (end == std::string::npos || !is_good_name(name))
    return fmt::format("--alloc {}: write NAME=PATH or talus-PRESET", word);
  if (name == c_library_name) return fmt::format("--alloc {}: that name is the C library's", word);
  if (end + 1 == word.size()) return fmt::format("--alloc {}: no path given", word);
  const LibraryPath library = find_library(word.substr(end + 1));
  if (library.path.empty()) return fmt::format("--alloc {}: {}", name, library.error);
  if (!is_preloadable_allocator(library.path)) {
    return fmt::format("--alloc {}: {} is not a library for this machine that defines malloc", name,
                       library.path);
  }
  const std::optional<ElfFacts> facts = read_elf(library.path);
  const bool is_talus = name == talus_name || (facts && facts->talus_version);
  put(allocators, {name, library.path, is_talus, {}});
  return {};
}

bool is_preset_row(const std::string& name) {
  return name.rfind(preset_prefix, 0) == 0 && name.find('=') == std::string::npos;
}

// The parser's line comes from the library and begins with its name.
std::string without_prefix(const std::string& line) {
  static constexpr std::string_view prefix = "talus: ";
  return line.rfind(prefix, 0) == 0 ? line.substr(prefix.size()) : line;
}

// Adds a row: the same library with settings of its own. Returns an empty text, or the mistake.
std::string add_row(const std::string& name, const std::vector<std::string>& words,
                    std::vector<Allocator>& allocators) {
  const auto talus = std::find_if(allocators.begin(), allocators.end(),
                                  [](auto& allocator) { return allocator.name == talus_name; });
  if (talus == allocators.end()) return find_library("").error;
  Allocator row{name, talus->path, true, {}};
  for (const std::string& word : words) {
    const Setting setting = parse_setting(word);
    if (!setting.error.empty()) return fmt::format("{}: {}", name, without_prefix(setting.error));
    row.settings.push_back(setting.name + "=" + setting.value);
  }
  put(allocators, row);
  return {};
}

std::string add_preset(const std::string& name, std::vector<Allocator>& allocators) {
  return add_row(name, {"preset=" + name.substr(preset_prefix.size())}, allocators);
}

// Names the row `talus+decay_ms=0+thp=never` for `--with decay_ms=0,TALUS_THP=never`. A comma
// without a KEY= after it belongs to the value.
std::string add_with(const std::string& text, std::vector<Allocator>& allocators,
                     std::set<std::string>& asked) {
  std::vector<std::string> words;
  for (const std::string& part : split_at_commas(text)) {
    if (looks_like_setting(part)) {
      words.push_back(part);
    } else if (!words.empty()) {
      words.back() += "," + part;
    } else {
      return fmt::format("--with {}: write KEY=VALUE,KEY=VALUE", text);
    }
  }
  std::string name(talus_name);
  for (const std::string& word : words) {
    std::string key = word.substr(0, word.find('='));
    for (char& letter : key) letter = option_lower(letter);
    if (key.rfind("talus_", 0) == 0) key.erase(0, 6);
    name += printable("+" + key + word.substr(word.find('=')));
  }
  asked.insert(name);
  return add_row(name, words, allocators);
}

// Adds the rows of --alloc and --with, and the presets that --only names.
std::string add_asked(const AllocatorRequests& requests, std::vector<Allocator>& allocators,
                      std::set<std::string>& asked) {
  std::vector<std::string> presets;
  for (const std::string& word : requests.named) {
    if (is_preset_row(word)) {
      presets.push_back(word);
    } else if (word != talus_name) {
      const std::string error = add_named(word, allocators);
      if (!error.empty()) return error;
    }
    asked.insert(word.substr(0, word.find('=')));
  }
  for (const std::string& name : split_at_commas(requests.only)) {
    const bool is_there = std::any_of(allocators.begin(), allocators.end(),
                                      [&](auto& allocator) { return allocator.name == name; });
    if (is_preset_row(name) && !is_there) presets.push_back(name);
  }
  for (const std::string& name : presets) {
    const std::string error = add_preset(name, allocators);
    if (!error.empty()) return error;
  }
  for (const std::string& text : requests.with) {
    const std::string error = add_with(text, allocators, asked);
    if (!error.empty()) return error;
  }
  return {};
}

// Keeps the requested rows and those of --only, in the order of the list. Returns an error for a
// name that is not there.
std::string keep_only(const std::string& only, std::set<std::string> wanted,
                      std::vector<Allocator>& allocators) {
  std::string there;
  for (const Allocator& allocator : allocators)
    there += (there.empty() ? "" : ", ") + allocator.name;
  for (const std::string& name : split_at_commas(only)) {
    const bool is_there = std::any_of(allocators.begin(), allocators.end(),
                                      [&](auto& allocator) { return allocator.name == name; });
    if (!is_there) return fmt::format("--only: '{}' is not here; there are {}", name, there);
    wanted.insert(name);
  }
  std::erase_if(allocators, [&](auto& allocator) { return !wanted.contains(allocator.name); });
  return {};
}

}  // namespace

std::string known_allocator(const std::string& path) {
  const std::string name = files::path(path).filename().string();
  const size_t end = name.find(".so");
  if (end == std::string::npos) return {};
  std::string stem = name.substr(0, end);
  const size_t machine = stem.find("standalone-");  // the clang runtime's name contains its machine
  if (machine != std::string::npos) stem.resize(machine + std::string_view("standalone").size());
  for (const KnownAllocator& known : known_allocators)
    if (stem == known.stem) return known.name;
  return {};
}

AllocatorChoice choose_allocators(const AllocatorRequests& requests) {
  AllocatorChoice choice;
  std::vector<Allocator>& allocators = choice.allocators;
  const LibraryPath own = find_library(requests.library);
  if (!own.path.empty()) allocators.push_back({talus_name, own.path, true, {}});
  allocators.push_back({c_library_name, "", false, {}});
  std::set<files::path> taken;
  std::error_code error;
  for (const auto& [name, path] : find_known()) {
    const bool is_new = taken.insert(files::canonical(path, error)).second;
    if (is_new) allocators.push_back({name, path, false, {}});
  }
  std::set<std::string> asked;
  choice.error = add_asked(requests, allocators, asked);
  if (!choice.error.empty()) return choice;
  const bool is_talus_there =
      std::any_of(allocators.begin(), allocators.end(),
                  [](const Allocator& allocator) { return allocator.name == talus_name; });
  if (!is_talus_there && (requests.only.empty() || !requests.library.empty())) {
    choice.error = own.error;
    return choice;
  }
  if (!requests.only.empty()) choice.error = keep_only(requests.only, asked, allocators);
  std::stable_partition(allocators.begin(), allocators.end(),
                        [](const Allocator& allocator) { return allocator.is_talus; });
  if (choice.error.empty() && allocators.size() < 2)
    choice.error = "a comparison needs two allocators; see --only and --alloc";
  return choice;
}

}  // namespace talus::tool
