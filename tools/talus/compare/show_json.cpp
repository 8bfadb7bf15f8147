// SPDX-License-Identifier: MIT
//
// Owns: the comparison as JSON, for programs and for keeping. It has every sample, not only the
// medians.
// Invariant: the file is valid JSON for any program name. "format" increases when a reader of older
// files would misread a new one.
// Must not know: how a figure was computed.

#include <fmt/format.h>

#include "../json_text.hpp"
#include "machine.hpp"
#include "show.hpp"
#include "statistics.hpp"

namespace talus::tool {
namespace {

constexpr int format_number = 2;  // since at most one allocator is "best"

std::string list_of(const std::vector<std::string>& words) {
  std::string result = "[";
  for (const std::string& word : words)
    result += (result.size() == 1 ? "" : ", ") + json_string(word);
  return result + "]";
}

const char* bool_word(bool is_true) { return is_true ? "true" : "false"; }

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

// Uses the shortest text that reads back as the same number.
std::string json_of_sample(const Sample& sample, const Usual& usual) {
  std::string text = fmt::format(
      "{{\"round\": {}, \"counted\": {}, \"end\": \"{}\", \"number\": {}", sample.round,
      bool_word(is_counted(sample, usual)), word_for(sample.end.kind), sample.end.number);
  for (const Measure& measure : measures)
    text += fmt::format(", \"{}\": {}", measure.key, sample.*measure.value);
  text += fmt::format(
      ", \"rss_floor_kib\": {}, \"output_bytes\": {}, \"output_fnv1a\": "
      "\"{:016x}\", \"left_processes\": {}",
      sample.floor_kib, sample.output_bytes, sample.output_hash, bool_word(sample.has_leftovers));
  if (!sample.end.is_success() && !sample.last_words.empty())
    text += ", \"last_words\": " + json_string(sample.last_words);
  return text + "}";
}

std::string json_of_samples(const std::vector<Sample>& samples, const Usual& usual) {
  std::string text;
  for (const Sample& sample : samples)
    text += (text.empty() ? "\n        " : ",\n        ") + json_of_sample(sample, usual);
  return "[" + text + "]";
}

std::string json_of_figure(const Measure& measure, const Figure& figure) {
  std::string text = fmt::format("\"{}\": {{\"median\": {}, \"half_spread\": {}", measure.key,
                                 figure.median, figure.spread);
  if (figure.has_ratio) {
    text += fmt::format(", \"ratio\": {}, \"ratio_low\": {}, \"ratio_high\": {}, \"shown\": {}",
                        figure.ratio.value, figure.ratio.low, figure.ratio.high,
                        bool_word(figure.ratio.is_shown));
  }
  return text + fmt::format(", \"best\": {}}}", bool_word(figure.is_best));
}

std::string json_of_contender(const Contender& contender, const Verdict& verdict,
                              const Usual& usual) {
  const Sighting& seen = contender.sighting;
  std::string text = fmt::format(
      "    {{\"name\": {}, \"path\": {}, \"settings\": {}, \"left_out\": {},\n"
      "      \"library\": {{\"presence\": \"{}\", \"programs\": {}, \"programs_with\": {}, "
      "\"without\": {}, \"others\": {}}},\n      \"counted\": {}, \"figures\": {{",
      json_string(contender.allocator.name), json_string(contender.allocator.path),
      list_of(contender.allocator.settings), json_string(contender.left_out),
      word_for(seen.presence), seen.processes, seen.processes_with, list_of(seen.without),
      list_of(seen.others), verdict.counted);
  for (size_t id = 0; verdict.counted > 0 && id < measure_count; id++) {
    text += (id == 0 ? "\n        " : ",\n        ") +
            json_of_figure(measures[id], verdict.figures[id]);
  }
  return text + fmt::format("}},\n      \"warm_ups\": {},\n      \"samples\": {}}}",
                            json_of_samples(contender.warm_ups, usual),
                            json_of_samples(contender.samples, usual));
}

}  // namespace

std::string json_of(const Comparison& comparison, const Judgement& judgement) {
  const Machine machine = this_machine();
  std::string text = fmt::format(
      "{{\n  \"format\": {}, \"talus\": {}, \"program\": {},\n  \"date\": {}, \"command\": {}, "
      "\"environment\": {},\n  \"machine\": {{\"kernel\": {}, "
      "\"processor\": {}, \"processors\": {}, \"memory_kib\": {}}},\n",
      format_number, json_string(TALUS_TOOL_VERSION), list_of(comparison.program),
      json_string(comparison.date), list_of(comparison.command), list_of(comparison.environment),
      json_string(machine.kernel), json_string(machine.processor), machine.processors,
      machine.memory_kib);
  text += fmt::format(
      "  \"stdin\": {}, \"rounds\": {}, \"rounds_done\": {}, \"warm_up\": {}, \"timeout_s\": {}, "
      "\"stopped_by\": {},\n  \"bootstrap\": {{\"seed\": {}, \"resamples\": {}}},\n"
      "  \"verdict\": {}, \"ranking\": {}, \"time_decided_by\": \"{}\",\n"
      "  \"reference\": {}, \"usual_end\": {},\n  \"failures\": {},\n  \"notes\": {},\n"
      "  \"allocators\": [\n",
      json_string(comparison.standard_input), comparison.rounds, comparison.rounds_done,
      comparison.warm_up, comparison.timeout_s, comparison.stopped_by, bootstrap_seed,
      bootstrap_resamples, json_string(judgement.verdict), json_string(judgement.ranking),
      measures[judgement.time.id].key,
      json_string(comparison.contenders[comparison.reference].allocator.name),
      json_string(words_for(judgement.usual.end)), list_of(judgement.failures),
      list_of(judgement.notes));
  for (size_t i = 0; i < comparison.contenders.size(); i++) {
    text += (i == 0 ? "" : ",\n") +
            json_of_contender(comparison.contenders[i], judgement.verdicts[i], judgement.usual);
  }
  return text + "\n  ]\n}\n";
}

}  // namespace talus::tool
