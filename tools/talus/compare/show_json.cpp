// SPDX-License-Identifier: MIT
//
// Owns: the comparison as JSON, for programs and for keeping. It has every sample, not only the
// medians.
// Invariant: the file is valid JSON for any program name. "format" increases when a reader of older
// files would misread a new one.
// Must not know: how a figure was computed.

#include <fmt/format.h>

#include "../json.hpp"
#include "machine.hpp"
#include "show.hpp"
#include "statistics.hpp"

namespace talus::tool {
namespace {

constexpr int format_number = 2;  // since at most one allocator is "best"

const char* word_for(Presence presence) {
  switch (presence) {
    case Presence::not_needed:
      return "not needed";
    case Presence::present:
      return "present";
    case Presence::absent:
      return "absent";
    case Presence::unknown:
      return "unknown";
  }
  return "";
}

const char* word_for(EndKind kind) {
  switch (kind) {
    case EndKind::exited:
      return "exited";
    case EndKind::signalled:
      return "signalled";
    case EndKind::timed_out:
      return "timed out";
    case EndKind::interrupted:
      return "interrupted";
    case EndKind::not_started:
      return "not started";
  }
  return "";
}

Json json_of_sample(const Sample& sample, const Usual& usual) {
  Json one = {{"round", sample.round},
              {"counted", is_counted(sample, usual)},
              {"end", word_for(sample.end.kind)},
              {"number", sample.end.number}};
  for (const Measure& measure : measures) one[measure.key] = sample.*measure.value;
  one["rss_floor_kib"] = sample.floor_kib;
  one["output_bytes"] = sample.output_bytes;
  one["output_fnv1a"] = fmt::format("{:016x}", sample.output_hash);
  one["left_processes"] = sample.has_leftovers;
  if (!sample.end.is_success() && !sample.last_words.empty()) {
    one["last_words"] = sample.last_words;
  }
  return one;
}

Json json_of_samples(const std::vector<Sample>& samples, const Usual& usual) {
  Json all = Json::array();
  for (const Sample& sample : samples) all.push_back(json_of_sample(sample, usual));
  return all;
}

Json json_of_figure(const Figure& figure) {
  Json one = {{"median", figure.median}, {"half_spread", figure.spread}};
  if (figure.has_ratio) {
    one["ratio"] = figure.ratio.value;
    one["ratio_low"] = figure.ratio.low;
    one["ratio_high"] = figure.ratio.high;
    one["shown"] = figure.ratio.is_shown;
  }
  one["best"] = figure.is_best;
  return one;
}

Json json_of_contender(const Contender& contender, const Verdict& verdict, const Usual& usual) {
  const Sighting& seen = contender.sighting;
  Json figures = Json::object();
  for (size_t id = 0; verdict.counted > 0 && id < measure_count; id++) {
    figures[measures[id].key] = json_of_figure(verdict.figures[id]);
  }
  return {{"name", contender.allocator.name},
          {"path", contender.allocator.path},
          {"settings", contender.allocator.settings},
          {"left_out", contender.left_out},
          {"library",
           {{"presence", word_for(seen.presence)},
            {"programs", seen.processes},
            {"programs_with", seen.processes_with},
            {"without", seen.without},
            {"others", seen.others}}},
          {"counted", verdict.counted},
          {"figures", figures},
          {"warm_ups", json_of_samples(contender.warm_ups, usual)},
          {"samples", json_of_samples(contender.samples, usual)}};
}

}  // namespace

std::string json_of(const Comparison& comparison, const Judgement& judgement) {
  const Machine machine = this_machine();
  Json allocators = Json::array();
  for (size_t i = 0; i < comparison.contenders.size(); i++) {
    allocators.push_back(
        json_of_contender(comparison.contenders[i], judgement.verdicts[i], judgement.usual));
  }
  return many_lines({{"format", format_number},
                     {"talus", TALUS_TOOL_VERSION},
                     {"program", comparison.program},
                     {"date", comparison.date},
                     {"command", comparison.command},
                     {"environment", comparison.environment},
                     {"machine",
                      {{"kernel", machine.kernel},
                       {"processor", machine.processor},
                       {"processors", machine.processors},
                       {"memory_kib", machine.memory_kib}}},
                     {"stdin", comparison.standard_input},
                     {"rounds", comparison.rounds},
                     {"rounds_done", comparison.rounds_done},
                     {"warm_up", comparison.warm_up},
                     {"timeout_s", comparison.timeout_s},
                     {"stopped_by", comparison.stopped_by},
                     {"bootstrap", {{"seed", bootstrap_seed}, {"resamples", bootstrap_resamples}}},
                     {"verdict", judgement.verdict},
                     {"ranking", judgement.ranking},
                     {"time_decided_by", measures[judgement.time.id].key},
                     {"reference", comparison.contenders[comparison.reference].allocator.name},
                     {"usual_end", words_for(judgement.usual.end)},
                     {"failures", judgement.failures},
                     {"notes", judgement.notes},
                     {"allocators", allocators}});
}

}  // namespace talus::tool
