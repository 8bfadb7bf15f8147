// SPDX-License-Identifier: MIT
//
// Owns: `talus compare`: the rounds and their output. Rounds are the outer loop and the order
// within a round rotates, so drift of the machine affects all allocators alike.
// Invariant: nothing starts if the program, an allocator or a file is not as requested.
// Must not know: what the figures mean (judge.cpp) or look like (show_*.cpp).

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "../command.hpp"
#include "../library.hpp"
#include "../program.hpp"
#include "allocators.hpp"
#include "launch.hpp"
#include "show.hpp"
#include "witness.hpp"

namespace talus::tool {
namespace {

constexpr int timeouts_max = 2;  // an allocator stops after this number of timeouts

std::vector<std::string> environment_for(const Allocator& allocator,
                                         std::vector<std::string> more) {
  std::vector<std::string> environment;
  more.insert(more.end(), allocator.settings.begin(), allocator.settings.end());
  const auto is_replaced = [&](std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    if (name == "LD_PRELOAD=" && !allocator.path.empty()) return true;
    return std::any_of(more.begin(), more.end(),
                       [&](auto& other) { return other.rfind(name, 0) == 0; });
  };
  for (char** variable = environ; *variable != nullptr; variable++)
    if (!is_replaced(*variable)) environment.emplace_back(*variable);
  if (!allocator.path.empty())
    environment.push_back("LD_PRELOAD=" + preload_with(allocator.path, std::getenv("LD_PRELOAD")));
  environment.insert(environment.end(), more.begin(), more.end());
  return environment;
}

// An allocator that is already preloaded would be in every run, even in the C library's.
std::string allocator_in_preload() {
  const char* const variable = std::getenv("LD_PRELOAD");
  std::string_view entries = variable != nullptr ? variable : "";
  while (!entries.empty()) {
    const size_t end = entries.find_first_of(": ");
    const std::string entry(entries.substr(0, end));
    const bool brings = defines_function(entry, "malloc").value_or(false);
    if (!entry.empty() && (brings || !known_allocator(entry).empty())) return entry;
    if (end == std::string_view::npos) break;
    entries.remove_prefix(end + 1);
  }
  return {};
}

// The reason why the program cannot be compared; empty: it can. Also adds notes on the program.
std::string look_at_program(const ProgramPath& path, Comparison& comparison) {
  if (path.search == ProgramSearch::missing) return fmt::format("{}: not found", path.path);
  if (path.search == ProgramSearch::not_executable)
    return fmt::format("{}: not executable", path.path);
  const Program program = inspect_program(path.path);
  // sh, which can be preloaded, reads a file of unknown format. The run itself shows the
  // interpreter of a chain of scripts.
  const bool is_seen_later =
      program.kind == ProgramKind::unknown || program.kind == ProgramKind::script;
  const std::string reason = is_seen_later ? "" : why_not_preloadable(program);
  if (!reason.empty()) return reason + ": every allocator would be the same";
  if (program.kind == ProgramKind::embedded)
    return program.image + " has Talus linked into it: every allocator would be the same";
  const std::string later = why_passed_over(program);
  if (!later.empty()) comparison.notes.push_back(printable(later));
  return {};
}

class Rounds {
 public:
  Rounds(const CompareRequest& request, Comparison& comparison, const Launch& launch)
      : comparison_(comparison),
        launch_(launch),
        has_progress_(!request.is_quiet && !request.is_output_shown &&
                      ::isatty(STDERR_FILENO) == 1) {}

  void run_all() {
    SignalGate signals;
    for (int i = 0; i < comparison_.warm_up && signals.stopped_by() == 0; i++)
      run_round(0, i, signals);
    for (int i = 1; i <= comparison_.rounds && signals.stopped_by() == 0; i++) {
      run_round(i, comparison_.warm_up + i - 1, signals);
      if (signals.stopped_by() == 0) comparison_.rounds_done = i;
    }
    comparison_.stopped_by = signals.stopped_by();
    if (has_progress_) fmt::print(stderr, "\r\033[K");
  }

 private:
  void run_round(int round, int turn, SignalGate& signals) {
    const size_t count = comparison_.contenders.size();
    for (size_t i = 0; i < count; i++) {
      Contender& contender = comparison_.contenders[(i + static_cast<size_t>(turn)) % count];
      if (!contender.left_out.empty()) continue;
      tell_progress(round, contender);
      run_one(contender, round, signals);
      signals.read_all();
      if (signals.stopped_by() != 0) return;
    }
  }

  void run_one(Contender& contender, int round, SignalGate& signals) {
    if (contender.warm_ups.empty()) {
      Witness witness(contender.allocator);
      contender.warm_ups.push_back(
          run_once(launch_, environment_for(contender.allocator, witness.variables()), signals,
                   [&](pid_t program) { witness.watch(program); }));
      contender.sighting = witness.testify();
      const bool is_complete = contender.warm_ups.back().end.is_own();
      if (contender.sighting.presence == Presence::absent && is_complete)
        contender.left_out = "the loader did not load " + contender.allocator.path;
    } else {
      Sample sample = run_once(launch_, environment_for(contender.allocator, {}), signals, {});
      sample.round = round;
      (round == 0 ? contender.warm_ups : contender.samples).push_back(sample);
    }
    int timeouts = 0;
    for (const auto* const list : {&contender.warm_ups, &contender.samples})
      for (const Sample& sample : *list) timeouts += sample.end.kind == EndKind::timed_out ? 1 : 0;
    if (timeouts >= timeouts_max && contender.left_out.empty())
      contender.left_out =
          fmt::format("{} runs took longer than {:g} s", timeouts, comparison_.timeout_s);
  }

  void tell_progress(int round, const Contender& contender) const {
    if (!has_progress_) return;
    const std::string step =
        round == 0 ? "warm-up" : fmt::format("round {} of {}", round, comparison_.rounds);
    fmt::print(stderr, "\r\033[K{}: {}", step, contender.allocator.name);
    std::fflush(stderr);
  }

  Comparison& comparison_;
  const Launch& launch_;
  bool has_progress_;  // constant
};

struct OutputFile {
  std::string CompareRequest::*path;  // empty: not requested
  std::string (*text_of)(const Comparison&, const Judgement&);
};
constexpr OutputFile output_files[] = {{&CompareRequest::html, html_of},
                                       {&CompareRequest::json, json_of},
                                       {&CompareRequest::csv, csv_of},
                                       {&CompareRequest::markdown, markdown_of}};

bool write_file(const std::string& path,
                std::string (*text_of)(const Comparison&, const Judgement&),
                const Comparison& comparison, const Judgement& judgement) {
  if (path.empty()) return true;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text_of(comparison, judgement);
  file.close();
  if (file) return true;
  complain(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  return false;
}

// Checked before the runs: hours of work should not be lost because a folder does not exist.
bool can_write(const std::string& path) {
  if (path.empty()) return true;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file >= 0) ::close(file);
  if (file < 0) complain(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  return file >= 0;
}

// A reader of the output may leave. The rounds go on, and the files are still written. The signal
// gets a handler, because the program would inherit an ignored signal.
void outlive_readers() {
  if (::signal(SIGPIPE, [](int) {}) == SIG_IGN) ::signal(SIGPIPE, SIG_IGN);
}

int show(const CompareRequest& request, const Comparison& comparison) {
  const Judgement judgement = judge(comparison);
  if (!request.is_quiet) {
    std::fputs(table_of(comparison, judgement).c_str(), stdout);
    std::fflush(stdout);
  }
  for (const std::string& failure : judgement.failures) complain(failure);
  bool is_good = true;
  for (const OutputFile& file : output_files)
    is_good = write_file(request.*file.path, file.text_of, comparison, judgement) && is_good;
  if (!is_good) return exit_usage;
  if (comparison.stopped_by != 0) return 128 + comparison.stopped_by;
  return judgement.failures.empty() ? exit_yes : exit_no;
}

// Records the conditions that the figures depend on beside the program, for kept results.
void record_circumstances(const CompareRequest& request, Comparison& comparison) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&now, &parts));
  comparison.date = date;
  comparison.command = request.command;
  for (char** variable = environ; *variable != nullptr; variable++)
    if (std::string_view(*variable).rfind("TALUS_", 0) == 0)
      comparison.environment.emplace_back(*variable);
  for (const std::string& variable : comparison.environment)
    comparison.notes.push_back(
        printable(variable + " from the environment is in every run that does not set it"));
}

// The C library; without it, the first allocator that is not Talus.
size_t reference_of(const std::vector<Contender>& contenders) {
  for (size_t i = 0; i < contenders.size(); i++)
    if (contenders[i].allocator.path.empty()) return i;
  for (size_t i = 0; i < contenders.size(); i++)
    if (!contenders[i].allocator.is_talus) return i;
  return 0;
}

}  // namespace

int compare_program(const CompareRequest& request) {
  const auto refuse = [](const std::string& line) {
    complain("compare: " + line);
    return exit_usage;
  };
  Comparison comparison;
  for (const char* const word : request.program) comparison.program.emplace_back(word);
  const ProgramPath path = find_program(comparison.program.front());
  const std::string obstacle = look_at_program(path, comparison);
  if (!obstacle.empty()) return refuse(obstacle);
  const std::string preloaded = allocator_in_preload();
  if (!preloaded.empty())
    return refuse(fmt::format("LD_PRELOAD contains {}, which every run would load", preloaded));
  const std::string input = request.input.empty() ? "/dev/null" : request.input;
  if (std::ifstream file(input); !file || std::filesystem::is_directory(input))
    return refuse(fmt::format("{}: cannot be read", input));
  const AllocatorChoice choice =
      choose_allocators({request.library, request.allocators, request.with, request.only});
  if (!choice.error.empty()) return refuse(choice.error);
  for (const OutputFile& file : output_files)
    if (!can_write(request.*file.path)) return exit_usage;

  record_circumstances(request, comparison);
  comparison.standard_input = input;
  comparison.rounds = request.rounds;
  comparison.warm_up = request.warm_up;
  comparison.timeout_s = request.timeout_s;
  for (const Allocator& allocator : choice.allocators)
    comparison.contenders.push_back({allocator, {}, {}, {}, {}});
  comparison.reference = reference_of(comparison.contenders);
  const Launch launch{path.path, comparison.program, input, request.timeout_s,
                      request.is_output_shown};
  outlive_readers();
  Rounds(request, comparison, launch).run_all();
  return show(request, comparison);
}

}  // namespace talus::tool
