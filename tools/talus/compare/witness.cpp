// SPDX-License-Identifier: MIT
//
// Owns: the reading of the loader's record and of /proc, see witness.hpp. In the record of a
// process, "transferring control" ends the start of each program that the process executes. Files
// mapped before that line belong to that program.
// Invariant: a live process counts as one without the library only after several looks. Its loader
// must have passed the point where it maps preloaded libraries.
// Must not know: the cost of runs.

#include "witness.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "../elf_file.hpp"
#include "../file_text.hpp"
#include "allocators.hpp"
#include "clock.hpp"
#include "process_tree.hpp"

namespace talus::tool {
namespace {

namespace files = std::filesystem;

constexpr int looks_min = 3;
constexpr double look_share = 0.05;  // of the elapsed time, between two looks
constexpr double look_s_max = 0.1;

std::string text_of(const files::path& path) { return text_of_file(path).value_or(""); }

// The reason why no loader will act in the program of a live process; empty: one will.
std::string obstacle_of(const files::path& process) {
  const std::optional<ElfFacts> facts = read_elf(process / "exe");
  if (!facts) return {};
  if (!facts->is_64_bit || facts->machine != own_machine) return "is built for another machine";
  const bool is_loader = facts->soname.rfind("ld-", 0) == 0;
  return facts->interpreter.empty() && !is_loader ? "is statically linked" : "";
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

}  // namespace

Witness::Witness(const Allocator& allocator) : library_(allocator.path), started_s_(now_s()) {
  std::error_code error;
  if (!library_.empty()) library_file_ = files::canonical(library_, error).string();
  own_program_ = files::read_symlink("/proc/self/exe", error).string();
  std::string pattern = files::temp_directory_path(error).string() + "/talus-compare-XXXXXX";
  if (!error && ::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
}

Witness::~Witness() {
  std::error_code error;
  if (!folder_.empty()) files::remove_all(folder_, error);
}

std::vector<std::string> Witness::variables() const {
  if (folder_.empty()) return {};
  return {"LD_DEBUG=files", "LD_DEBUG_OUTPUT=" + folder_ + "/start"};
}

void Witness::watch(pid_t program) {
  const double time_s = now_s();
  if (time_s < next_watch_s_) return;
  for (const pid_t process : tree_of(program)) watch_process(process);
  next_watch_s_ = now_s() + std::min(look_s_max, (now_s() - started_s_) * look_share);
}

void Witness::watch_process(pid_t process) {
  const files::path folder = files::path("/proc") / std::to_string(process);
  std::error_code error;
  const std::string program = files::read_symlink(folder / "exe", error).string();
  if (error == std::errc::permission_denied) {
    std::string name = text_of(folder / "comm");
    while (!name.empty() && name.back() == '\n') name.pop_back();
    watched_[{process, name}].obstacle = "has gained privileges and may not be looked at";
  }
  if (error || program == own_program_) return;
  Watched& watched = watched_[{process, program}];
  if (watched.times++ == 0) watched.obstacle = obstacle_of(folder);
  if (library_file_.empty() || watched.has_library) return;
  const std::string maps = text_of(folder / "maps");
  watched.has_library = maps.find(library_file_) != std::string::npos;
  const bool is_settled = maps.find("/libc.so") != std::string::npos ||
                          maps.find("/libc-") != std::string::npos ||
                          maps.find("/ld-musl-") != std::string::npos;
  watched.times_settled += is_settled ? 1 : 0;
}

bool Witness::is_library(const std::string& name) const {
  if (library_.empty()) return false;
  if (name == library_) return true;
  std::error_code error;
  return name.find('/') != std::string::npos && files::equivalent(name, library_, error);
}

void Witness::read_record(const std::string& path, Sighting& sighting) const {
  static constexpr std::string_view mapped_mark = "file=";
  static constexpr std::string_view ready_mark = "transferring control: ";
  std::ifstream file(path, std::ios::binary);
  bool has_library = false;
  std::vector<std::string> others;
  for (std::string line; std::getline(file, line);) {
    const size_t mapped = line.find(mapped_mark);
    if (mapped != std::string::npos && line.find("generating link map") != std::string::npos) {
      const size_t from = mapped + mapped_mark.size();
      const std::string name = line.substr(from, line.rfind(" [") - from);
      if (is_library(name)) {
        has_library = true;
      } else if (!known_allocator(name).empty()) {
        others.push_back(name);
      }
    }
    const size_t ready = line.find(ready_mark);
    if (ready == std::string::npos) continue;
    const std::string program = line.substr(ready + ready_mark.size());
    sighting.processes++;
    sighting.processes_with += has_library ? 1 : 0;
    if (!has_library && !library_.empty())
      add_once(sighting.without, program + " was started without LD_PRELOAD");
    for (const std::string& other : others) add_once(sighting.others, other);
    has_library = false;
    others.clear();
  }
}

Sighting Witness::testify() const {
  Sighting sighting;
  std::error_code error;
  if (!folder_.empty()) {
    for (const files::directory_entry& entry : files::directory_iterator(folder_, error))
      read_record(entry.path(), sighting);
  }
  bool is_seen = sighting.processes_with > 0;
  for (const auto& [key, watched] : watched_) {
    is_seen = is_seen || watched.has_library;
    if (library_.empty() || watched.has_library) continue;
    if (!watched.obstacle.empty()) {
      add_once(sighting.without, key.second + " " + watched.obstacle);
    } else if (watched.times_settled >= looks_min && sighting.processes_with > 0) {
      add_once(sighting.without, key.second + " ran without the preloaded library");
    }
  }
  sighting.presence = library_.empty()         ? Presence::not_needed
                      : is_seen                ? Presence::present
                      : sighting.processes > 0 ? Presence::absent
                                               : Presence::unknown;
  return sighting;
}

}  // namespace talus::tool
