// SPDX-License-Identifier: MIT
//
// Owns: `talus check`. It tells whether Talus is active in a live process, or would be active in a
// program that `talus run` starts. It also tells the version, the way Talus came in and the
// options.
// Invariant: a check never runs the program. It reads a live process through /proc. For a program
// it starts the loader alone, in its listing mode.
// Must not know: how an option is parsed.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "command.hpp"
#include "future_process.hpp"
#include "kernel_answers.hpp"
#include "library.hpp"
#include "loader_listing.hpp"
#include "other_mallocs.hpp"
#include "process_view.hpp"
#include "program.hpp"

namespace talus::tool {
namespace {

struct Finding {
  bool is_active;
  std::string version;
  std::string entry;   // preload, linked or embedded
  std::string object;  // the file that carries Talus
  std::string reason;  // why Talus is not active
};

void print_finding(const Finding& finding) {
  fmt::print("active: {}\n", finding.is_active ? "yes" : "no");
  if (!finding.reason.empty()) fmt::print("reason: {}\n", printable(finding.reason));
  if (!finding.version.empty()) fmt::print("version: {}\n", printable(finding.version));
  if (!finding.entry.empty()) fmt::print("entry: {}\n", finding.entry);
  if (!finding.object.empty()) fmt::print("object: {}\n", printable(finding.object));
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

bool is_library_name(const std::string& path) {
  return file_name(path).rfind("libtalus.so", 0) == 0;
}

// True if an LD_PRELOAD value names the file.
bool is_preloaded(std::string_view preload, const std::string& path) {
  while (!preload.empty()) {
    const size_t end = preload.find_first_of(": ");
    const std::string entry(preload.substr(0, end));
    std::error_code error;
    if (entry == path || (entry.find('/') == std::string::npos && entry == file_name(path)) ||
        (entry.find('/') != std::string::npos && std::filesystem::equivalent(entry, path, error)))
      return true;
    if (end == std::string_view::npos) return false;
    preload.remove_prefix(end + 1);
  }
  return false;
}

std::string_view preload_of(const std::vector<std::string>& environment) {
  static constexpr std::string_view prefix = "LD_PRELOAD=";
  for (const std::string& variable : environment) {
    if (variable.rfind(prefix, 0) == 0) return std::string_view(variable).substr(prefix.size());
  }
  return {};
}

bool needs(const MappedObject& object, const MappedObject& library) {
  if (!object.facts) return false;
  const std::string soname = library.facts && !library.facts->soname.empty()
                                 ? library.facts->soname
                                 : file_name(library.path);
  const std::vector<std::string>& needed = object.facts->needed;
  return std::find(needed.begin(), needed.end(), soname) != needed.end();
}

bool is_needed_by_any(const ProcessView& view, const MappedObject& library) {
  return std::any_of(view.objects.begin(), view.objects.end(),
                     [&](const MappedObject& object) { return needs(object, library); });
}

// Only objects that came with the program stand before the needed libraries: dlopen appends.
bool comes_before_what_is_needed(const ProcessView& view, const MappedObject& library) {
  const MappedObject& front = view.objects.front();
  return library.turn && front.path == view.file &&
         std::any_of(view.objects.begin(), view.objects.end(), [&](const MappedObject& object) {
           return object.turn && *library.turn < *object.turn && needs(front, object);
         });
}

bool is_preloaded_everywhere(const std::string& path) {
  std::ifstream file("/etc/ld.so.preload");
  for (std::string entry; file >> entry;) {
    if (is_preloaded(entry, path)) return true;
  }
  return false;
}

// A library that is neither preloaded nor needed came by dlopen. The program's malloc was bound
// before it arrived. The names in LD_PRELOAD belong to the folders of the process, which may
// contain links. They need not lead to the library from here, so the search order decides. Without
// an environment, preload is the most likely way. Addresses decide nothing: a late library may fill
// a hole above libc (tried, and refuted by a test).
std::string entry_of(const ProcessView& view, const MappedObject& object) {
  const bool is_in_environment = is_preloaded(preload_of(view.environment), object.path);
  if (is_in_environment && !view.is_secure) return "preload";
  if (is_preloaded_everywhere(object.path)) return "preload";
  const bool is_library =
      is_library_name(object.path) || (object.facts && is_library_name(object.facts->soname));
  if (!is_library) return "embedded";
  if (is_needed_by_any(view, object)) return "linked";
  if (comes_before_what_is_needed(view, object)) return "preload";
  return view.is_environment_intact ? "dlopen" : "preload";
}

// The object whose malloc the loader finds before `library`; null: there is none. The program comes
// first even where the order is not known.
const MappedObject* server_before(const ProcessView& view, const MappedObject& library) {
  const MappedObject& front = view.objects.front();
  if (&front != &library && front.path == view.file && brings_another_malloc(front)) return &front;
  const MappedObject* server = nullptr;
  for (const MappedObject& object : view.objects) {
    const bool is_before = library.turn && object.turn && *object.turn < *library.turn;
    const bool is_first = server == nullptr || object.turn < server->turn;
    if (is_before && is_first && brings_another_malloc(object)) server = &object;
  }
  return server;
}

Finding find_in_process(const ProcessView& view) {
  Finding late{false, "", "", "", "no object mapped into the process contains Talus"};
  for (const MappedObject& object : view.objects) {
    const bool has_note = object.facts && object.facts->talus_version;
    const bool is_hidden = !object.facts && is_library_name(object.path);
    if (!has_note && !is_hidden) continue;
    const std::string version =
        has_note ? *object.facts->talus_version : "unknown (the file can no longer be read)";
    const std::string entry = entry_of(view, object);
    // An embedded Talus may serve its own object alone, whatever the others are bound to.
    const MappedObject* const server = entry == "embedded" ? nullptr : server_before(view, object);
    if (entry != "dlopen" && server == nullptr) return {true, version, entry, object.path, ""};
    if (entry != "dlopen") {
      return {false, version, "", object.path,
              server->path + " defines malloc, and the loader finds it before Talus' malloc"};
    }
    late = {false, version, "", object.path,
            "loaded by dlopen, after the program was bound to another malloc"};
  }
  return late;
}

Finding find_in_listing(const Program& program, const std::string& library,
                        const std::string& listing) {
  const std::optional<ElfFacts> facts = read_elf(library);
  if (!facts || !facts->talus_version) {
    return {false, "", "", library, "the library does not contain Talus"};
  }
  const std::vector<std::string>& needed = program.facts->needed;
  const std::string name = facts->soname.empty() ? file_name(library) : facts->soname;
  const bool is_linked = std::find(needed.begin(), needed.end(), name) != needed.end();
  if (program.facts->talus_version) {
    return {true, *program.facts->talus_version, "embedded", program.image, ""};
  }
  if (listing.find("\t" + library + " ") == std::string::npos) {
    return {false, "", "", "", "the loader of " + program.image + " does not load the library"};
  }
  const std::string later = why_passed_over(program);
  if (!later.empty()) return {false, *facts->talus_version, "", library, later};
  return {true, *facts->talus_version, is_linked ? "linked" : "preload", library, ""};
}

int report(const Finding& finding, const ProcessFacts& facts) {
  print_finding(finding);
  if (finding.is_active) {
    print_kernel_answers();
    print_effective_options(facts);
  }
  return finding.is_active ? exit_yes : exit_no;
}

// Paths of files are resolved where the process sees them.
ProcessFacts facts_of_process(const std::string& pid, const ProcessView& view) {
  ProcessFacts facts;
  facts.environment = view.environment;
  const bool has_program = !view.objects.empty() && view.objects.front().path == view.file;
  facts.program_text = program_text_of("/proc/" + pid + "/exe",
                                       has_program ? view.objects.front().facts : std::nullopt);
  facts.called_as = view.called_as;
  facts.file = view.file;
  facts.root = "/proc/" + pid + "/root";
  facts.user_id = view.user_id;
  facts.is_secure = view.is_secure;
  // A relative file name starts at the folder of the process. If that folder cannot be entered, it
  // starts here.
  static_cast<void>(::chdir(("/proc/" + pid + "/cwd").c_str()) == 0);
  return facts;
}

}  // namespace

int check_process(const std::string& pid) {
  const ProcessView view = view_process(pid);
  if (!view.error.empty()) {
    complain(view.error);
    return exit_usage;
  }
  const Finding finding = find_in_process(view);
  print_finding(finding);
  if (!finding.is_active) return exit_no;
  print_kernel_answers();
  for (const MappedObject& object : view.objects) {
    if (object.path != finding.object) continue;
    for (const std::string& line : find_other_mallocs(pid, view, object))
      fmt::print("note: {}\n", printable(line));
  }
  if (view.is_secure) {
    fmt::print("note: the process gained privileges and ignores the environment\n");
  }
  if (!view.is_secure && !view.is_environment_intact) {
    fmt::print(
        "note: the environment of the process cannot be read, or the process overwrote it; its "
        "options are not known\n");
  } else {
    print_effective_options(facts_of_process(pid, view));
  }
  return exit_yes;
}

int check_program(const std::string& wanted, const std::vector<char*>& words) {
  const std::string name = words.front();
  const ProgramPath path = find_program(name);
  if (path.search != ProgramSearch::found) {
    const bool is_missing = path.search == ProgramSearch::missing;
    complain(fmt::format("{}: {}", path.path, is_missing ? "not found" : "not executable"));
    return exit_usage;
  }
  const Program program = inspect_program(path.path);
  if (program.kind == ProgramKind::unknown || program.kind == ProgramKind::script) {
    complain(why_not_preloadable(program));
    return exit_usage;
  }
  const ProcessFacts facts = facts_of_program(program);
  if (program.kind == ProgramKind::embedded) {
    return report({true, *program.facts->talus_version, "embedded", program.image, ""}, facts);
  }
  const std::string reason = why_not_preloadable(program);
  if (!reason.empty()) return report({false, "", "", "", reason}, facts);
  const LibraryPath library = find_library(wanted);
  if (library.path.empty() || !has_listing_loader(program)) {
    complain(library.path.empty()
                 ? library.error
                 : fmt::format("{}: its loader {} cannot list the objects it loads", program.image,
                               program.facts->interpreter));
    return exit_usage;
  }
  const std::string preload = preload_with(library.path, std::getenv("LD_PRELOAD"));
  const LoaderListing listing = list_objects(program, preload);
  if (!listing.is_good) {
    complain(fmt::format("{}: its loader {} could not load it with {}", program.image,
                         program.facts->interpreter, library.path));
    return exit_usage;
  }
  const int code = report(find_in_listing(program, library.path, listing.text), facts);
  const std::string end = what_ends_it(program);
  if (code == exit_yes && !end.empty()) fmt::print("note: {}\n", printable(end));
  return code;
}

}  // namespace talus::tool
