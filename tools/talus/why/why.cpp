// SPDX-License-Identifier: MIT
//
// Owns: `talus why`: its command line, and one look at the process and its mappings.
// Invariant: a look in which resident memory changed is tried again a few times.
// Must not know: how the picture is computed or drawn.

#include "why/why.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "file_text.hpp"
#include "observe/target.hpp"
#include "why/show_why.hpp"

namespace talus::tool {
namespace {

constexpr int looks_max = 4;

uint64_t sum_of(const std::vector<MappedArea>& areas) {
  uint64_t bytes = 0;
  for (const MappedArea& area : areas) bytes += area.resident_bytes;
  return bytes;
}

std::string name_of(const Target& target) {
  if (!target.is_process) return std::filesystem::path(target.path).filename().string();
  std::string name = text_of_file(fmt::format("/proc/{}/comm", target.pid)).value_or("?");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

// Mappings before and behind the look, until both have the same sum.
Observation look(const Target& target, std::vector<MappedArea>& areas) {
  for (int i = 0;; i++) {
    if (target.is_process) areas = read_areas(target.pid);
    Observation seen = observe(target, Detail::pieces);
    if (!target.is_process) return seen;
    const uint64_t before = sum_of(areas);
    areas = read_areas(target.pid);
    if (sum_of(areas) == before || i + 1 == looks_max) return seen;
  }
}

}  // namespace

int print_why(const WhyRequest& request) {
  const std::optional<Target> target = read_target("why", request.process);
  if (!target) return exit_usage;
  std::vector<MappedArea> areas;
  const Observation seen = look(*target, areas);
  if (!seen.note.empty()) complain("note: " + seen.note);
  if (!seen.message.empty()) complain(seen.message);
  if (seen.numbers.empty() || seen.numbers.front().is_damaged) return exit_code_of(seen.result);
  const Numbers& first = seen.numbers.front();
  PictureTitle title{name_of(*target), first.get(core::StatisticId::process_id), first.version,
                     true, ""};
  for (const Numbers& numbers : seen.numbers) {
    if (numbers.is_consistent) continue;
    title.is_consistent = false;
    title.why_not = numbers.why_not;
  }
  const Picture picture =
      make_picture(seen.numbers, areas, target->is_process ? page_table_bytes(target->pid) : 0);
  const std::vector<Advice> advice = advise(picture);
  const std::string text = request.is_json ? show_why_json(title, picture, advice)
                                           : show_why(this_terminal(), title, picture, advice);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return exit_code_of(seen.result);
}

void declare_why(CLI::App& app, WhyRequest& wanted) {
  CLI::App* const why =
      app.add_subcommand("why", "Tell why a process is as large as it is, and what would help");
  why->footer(
      "talus why [--json] PID\ntalus why [--json] CORE\n\nShows where resident memory is, what of "
      "it could go, and the option or call that would\nhelp most. The parts sum to the process's "
      "Rss. Exit status: as of `talus stats`.");
  why->add_option("process", wanted.process, "a running process, or a core file")
      ->type_name("PID|CORE")
      ->required();
  why->add_flag("--json", wanted.is_json, "one object on one line");
}

}  // namespace talus::tool
