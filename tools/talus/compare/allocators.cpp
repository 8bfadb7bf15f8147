// SPDX-License-Identifier: MIT
//
// Owns: the table of known allocators and the search for them, see allocators.hpp.
// Invariant: a library is taken for an allocator by its name only if it also defines malloc, so a
// package that splits differently cannot slip a library in that does nothing.
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

#include "../elf_file.hpp"
#include "../library.hpp"
#include "loader_cache.hpp"

namespace talus::tool {
namespace {

namespace files = std::filesystem;

// Names of files up to ".so": several for one allocator where packagers disagree.
struct KnownAllocator {
  const char* name;
  const char* stem;
};
constexpr KnownAllocator known_allocators[] = {
    {"talus", "libtalus"},
    {"jemalloc", "libjemalloc"},
    {"mimalloc", "libmimalloc"},
    {"tcmalloc", "libtcmalloc"},
    {"tcmalloc_minimal", "libtcmalloc_minimal"},
    {"tbbmalloc", "libtbbmalloc_proxy"},
    {"snmalloc", "libsnmallocshim"},
    {"snmalloc", "libsnmalloc"},
    {"rpmalloc", "librpmallocwrap"},
    {"rpmalloc", "librpmalloc"},
    {"hoard", "libhoard"},
    {"hardened_malloc", "libhardened_malloc"},
    {"scudo", "libclang_rt.scudo_standalone"},
    {"scudo", "libscudo"},
};

// Digits compare as numbers, so that version 10 is newer than version 9.
bool is_older(std::string_view one, std::string_view other) {
  std::size_t i = 0, k = 0;
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  while (i < one.size() && k < other.size()) {
    if (is_digit(one[i]) && is_digit(other[k])) {
      unsigned long long left = 0, right = 0;
      for (; i < one.size() && is_digit(one[i]); ++i)
        left = left * 10 + static_cast<unsigned>(one[i] - '0');
      for (; k < other.size() && is_digit(other[k]); ++k)
        right = right * 10 + static_cast<unsigned>(other[k] - '0');
      if (left != right) return left < right;
    } else {
      if (one[i] != other[k]) return one[i] < other[k];
      ++i, ++k;
    }
  }
  return one.size() - i < other.size() - k;
}

// Compilers keep their runtime libraries where no loader looks: below lib/clang/VERSION/lib.
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

// The library of each known allocator; the loader's first choice, and of several versions of one
// folder the newest.
std::map<std::string, std::string> find_known() {
  std::vector<std::string> libraries = loader_libraries();
  add_compiler_runtimes(libraries);
  std::map<std::string, std::string> found;
  for (const std::string& path : libraries) {
    const std::string name = known_allocator(path);
    if (name.empty() || name == "talus" || !is_preloadable_allocator(path)) continue;
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

// An empty text, or what is wrong with one NAME=PATH word.
std::string add_named(const std::string& word, std::vector<Allocator>& allocators) {
  const std::size_t end = word.find('=');
  const std::string name = word.substr(0, end);
  if (end == std::string::npos || !is_good_name(name))
    return fmt::format("--alloc {}: write NAME=PATH", word);
  if (name == c_library_name) return fmt::format("--alloc {}: that name is the C library's", word);
  if (end + 1 == word.size()) return fmt::format("--alloc {}: no path given", word);
  const LibraryPath library = find_library(word.substr(end + 1));
  if (library.path.empty()) return fmt::format("--alloc {}: {}", name, library.error);
  if (!is_preloadable_allocator(library.path)) {
    return fmt::format("--alloc {}: {} is no library of this machine that brings malloc", name,
                       library.path);
  }
  const std::optional<ElfFacts> facts = read_elf(library.path);
  put(allocators, {name, library.path, name == "talus" || (facts && facts->talus_version)});
  return {};
}

// Keeps what --only names, in its order of finding; or says which name is not there.
std::string keep_only(const std::string& only, std::vector<Allocator>& allocators) {
  std::string there;
  for (const Allocator& allocator : allocators)
    there += (there.empty() ? "" : ", ") + allocator.name;
  std::set<std::string> wanted;
  for (const std::string& name : split_at_commas(only)) {
    const bool is_there = std::any_of(allocators.begin(), allocators.end(),
                                      [&](auto& allocator) { return allocator.name == name; });
    if (!is_there) return fmt::format("--only: there is no '{}' here, but {}", name, there);
    wanted.insert(name);
  }
  std::erase_if(allocators, [&](auto& allocator) { return !wanted.contains(allocator.name); });
  return {};
}

}  // namespace

std::string known_allocator(const std::string& path) {
  const std::string name = files::path(path).filename().string();
  const std::size_t end = name.find(".so");
  if (end == std::string::npos) return {};
  std::string stem = name.substr(0, end);
  const std::size_t machine = stem.find("standalone-");  // the clang runtime carries its machine
  if (machine != std::string::npos) stem.resize(machine + std::string_view("standalone").size());
  for (const KnownAllocator& known : known_allocators)
    if (stem == known.stem) return known.name;
  return {};
}

AllocatorChoice choose_allocators(const AllocatorWishes& wishes) {
  AllocatorChoice choice;
  const LibraryPath own = find_library(wishes.library);
  if (!own.path.empty()) choice.allocators.push_back({"talus", own.path, true});
  choice.allocators.push_back({c_library_name, "", false});
  std::set<files::path> taken;
  std::error_code error;
  for (const auto& [name, path] : find_known()) {
    const bool is_new = taken.insert(files::canonical(path, error)).second;
    if (is_new) choice.allocators.push_back({name, path, false});
  }
  for (const std::string& word : wishes.named) {
    choice.error = add_named(word, choice.allocators);
    if (!choice.error.empty()) return choice;
  }
  const bool is_talus_there =
      std::any_of(choice.allocators.begin(), choice.allocators.end(),
                  [](const Allocator& allocator) { return allocator.name == "talus"; });
  if (!is_talus_there && (wishes.only.empty() || !wishes.library.empty())) {
    choice.error = own.error;
    return choice;
  }
  if (!wishes.only.empty()) choice.error = keep_only(wishes.only, choice.allocators);
  if (choice.error.empty() && choice.allocators.size() < 2)
    choice.error = "one allocator alone cannot be compared; see --only and --alloc";
  return choice;
}

}  // namespace talus::tool
