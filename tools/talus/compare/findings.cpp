// SPDX-License-Identifier: MIT
//
// Owns: the wording and the conditions of failures and notes, see findings.hpp.
// Invariant: behaviour of the program under every allocator is reported once and blamed on none.
// Outputs are compared only if all runs of the reference wrote the same.
// Must not know: where the sentences are printed.

#include "findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "../command.hpp"

namespace talus::tool {
namespace {

// Warm-up runs show the behaviour as well as measured runs do. A run that was ended from outside
// shows nothing.
std::vector<const Sample*> runs_of(const Contender& contender) {
  std::vector<const Sample*> runs;
  for (const auto* const list : {&contender.warm_ups, &contender.samples}) {
    for (const Sample& sample : *list)
      if (sample.end.kind != EndKind::interrupted) runs.push_back(&sample);
  }
  return runs;
}

std::string last_line(const Sample& sample) {
  std::string text = sample.last_words;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const size_t start = text.rfind('\n');
  text = printable(start == std::string::npos ? text : text.substr(start + 1));
  return text.empty() ? "" : fmt::format("; it wrote: {}", text);
}

// True if every run of every allocator ended alike.
bool all_end_alike(const Comparison& comparison, const End& end) {
  for (const Contender& contender : comparison.contenders) {
    for (const Sample* const run : runs_of(contender))
      if (run->end != end) return false;
  }
  return true;
}

void add_ends(const Comparison& comparison, const Contender& contender, Judgement& judgement) {
  const auto runs = runs_of(contender);
  std::vector<End> told;
  for (const Sample* const run : runs) {
    const bool is_fine = run->end == judgement.usual.end && run->end.is_success();
    if (is_fine || std::find(told.begin(), told.end(), run->end) != told.end()) continue;
    told.push_back(run->end);
    const auto count = std::count_if(runs.begin(), runs.end(),
                                     [&](auto* other) { return other->end == run->end; });
    std::string contrast;
    if (run->end != judgement.usual.end) {
      contrast = fmt::format("; usual under {}: {}",
                             comparison.contenders[comparison.reference].allocator.name,
                             words_for(judgement.usual.end));
    }
    judgement.failures.push_back(fmt::format("{}: {} of {} runs: {}{}{}", contender.allocator.name,
                                             count, runs.size(), words_for(run->end), contrast,
                                             last_line(*run)));
  }
}

void add_outputs(const Comparison& comparison, Judgement& judgement) {
  const Usual& usual = judgement.usual;
  const std::string& reference = comparison.contenders[comparison.reference].allocator.name;
  if (!usual.is_output_known && judgement.verdicts[comparison.reference].counted > 0)
    judgement.notes.push_back(fmt::format(
        "the program's output differs between runs of {} itself, so outputs are not compared",
        reference));
  for (const Contender& contender : comparison.contenders) {
    size_t usual_ends = 0;
    size_t wrong = 0;
    for (const Sample* const run : runs_of(contender)) {
      if (run->end != usual.end) continue;
      usual_ends++;
      wrong += has_usual_output(*run, usual) ? 0 : 1;
    }
    if (wrong > 0)
      judgement.failures.push_back(
          fmt::format("{}: {} of {} runs: the output differs from the one under {}",
                      contender.allocator.name, wrong, usual_ends, reference));
  }
}

void add_sightings(const Comparison& comparison, Judgement& judgement) {
  std::vector<std::string> told;
  const auto tell_once = [&](const std::string& line) {
    if (std::find(told.begin(), told.end(), line) == told.end()) told.push_back(line);
  };
  for (const Contender& contender : comparison.contenders) {
    const Sighting& sighting = contender.sighting;
    const std::string& name = contender.allocator.name;
    if (sighting.presence == Presence::unknown && !contender.warm_ups.empty())
      tell_once(
          fmt::format("{}: not seen in the program, so its figures may be the C library's", name));
    for (const std::string& program : sighting.without)
      tell_once(printable(program) + ": the allocators have no effect there");
    for (const std::string& other : sighting.others) {
      if (sighting.presence == Presence::not_needed) {
        tell_once(fmt::format("{} is linked to the program: '{}' means that allocator here",
                              printable(other), name));
      }
    }
  }
  judgement.notes.insert(judgement.notes.end(), told.begin(), told.end());
}

void add_limits_of_figures(const Comparison& comparison, Judgement& judgement) {
  bool has_leftovers = false;
  double floor_kib = 0;
  for (size_t i = 0; i < comparison.contenders.size(); i++) {
    for (const Sample* const run : runs_of(comparison.contenders[i])) {
      has_leftovers = has_leftovers || run->has_leftovers;
      if (run->peak_kib <= run->floor_kib) floor_kib = std::max(floor_kib, run->floor_kib);
    }
  }
  if (has_leftovers)
    judgement.notes.push_back(
        "the program left processes behind; they were ended and are not part of the figures");
  if (floor_kib > 0)
    judgement.notes.push_back(
        fmt::format("the start of a program costs a peak RSS of {:.0f} KiB here: the program's own "
                    "may be smaller",
                    floor_kib));
  if (comparison.rounds_done < static_cast<int>(rounds_least) && comparison.rounds_done > 0)
    judgement.notes.push_back(
        fmt::format("{} {} only: {} are needed to tell allocators apart", comparison.rounds_done,
                    comparison.rounds_done == 1 ? "round" : "rounds", rounds_least));
  if (comparison.stopped_by != 0)
    judgement.notes.push_back(fmt::format("stopped by signal {} after {} of {} rounds",
                                          comparison.stopped_by, comparison.rounds_done,
                                          comparison.rounds));
}

// If a program lost its processor and took longer than it computed, it shared the processor.
void add_busy_machine(const Comparison& comparison, Judgement& judgement) {
  const Verdict& verdict = judgement.verdicts[comparison.reference];
  if (verdict.counted == 0) return;
  const auto value = [&](MeasureId id) { return verdict.figures[id].median; };
  const double computed_s = value(measure_user) + value(measure_sys);
  const bool is_held_up = value(measure_wall) > 1.3 * computed_s;
  if (is_held_up && value(measure_involuntary) > 10 * (1 + value(measure_voluntary)))
    judgement.notes.push_back(
        "other work on this machine used the program's processor: wall times include that wait");
}

void add_what_is_not_shown(const Comparison& comparison, Judgement& judgement) {
  for (const MeasureId id : {judgement.time.id, measure_peak}) {
    size_t compared = 0;
    size_t shown = 0;
    for (size_t i = 0; i < judgement.verdicts.size(); i++) {
      const Figure& figure = judgement.verdicts[i].figures[id];
      if (i == comparison.reference || !figure.has_ratio) continue;
      compared++;
      shown += figure.ratio.is_shown ? 1 : 0;
    }
    if (compared > 0 && shown == 0)
      judgement.notes.push_back(
          fmt::format("{}: this run shows no difference", measures[id].title));
  }
}

}  // namespace

std::string words_for(const End& end) {
  switch (end.kind) {
    case EndKind::exited:
      return fmt::format("exit status {}", end.number);
    case EndKind::signalled:
      return fmt::format("signal {} ({})", end.number, ::strsignal(end.number));
    case EndKind::timed_out:
      return "timed out";
    case EndKind::interrupted:
      return "interrupted";
    case EndKind::not_started:
      return fmt::format("not started: {}", std::strerror(end.number));
  }
  return {};
}

void add_failures(const Comparison& comparison, Judgement& judgement) {
  for (const Contender& contender : comparison.contenders)
    if (!contender.left_out.empty())
      judgement.failures.push_back(
          fmt::format("{}: left out: {}", contender.allocator.name, contender.left_out));
  const Contender& reference = comparison.contenders[comparison.reference];
  const auto runs = runs_of(reference);
  if (!runs.empty() && all_end_alike(comparison, runs.front()->end)) {
    if (!runs.front()->end.is_success())
      judgement.failures.push_back(fmt::format("every run, under every allocator: {}{}",
                                               words_for(runs.front()->end),
                                               last_line(*runs.front())));
  } else {
    for (const Contender& contender : comparison.contenders)
      add_ends(comparison, contender, judgement);
  }
  add_outputs(comparison, judgement);
}

void add_notes(const Comparison& comparison, Judgement& judgement) {
  judgement.notes.insert(judgement.notes.begin(), comparison.notes.begin(), comparison.notes.end());
  add_sightings(comparison, judgement);
  add_limits_of_figures(comparison, judgement);
  add_busy_machine(comparison, judgement);
  add_what_is_not_shown(comparison, judgement);
}

}  // namespace talus::tool
