// SPDX-License-Identifier: MIT
//
// Owns: the figures of a comparison as CSV (RFC 4180), with a row for each allocator and measure.
// Each row includes the date and the command, so that rows of several comparisons can share a file.
// Invariant: every row has as many fields as the first row, which names them.
// Must not know: how a figure was computed.

#include <fmt/format.h>

#include "../utf8.hpp"
#include "show.hpp"

namespace talus::tool {
namespace {

constexpr const char* csv_heads =
    "allocator,settings,library,runs,measure,decides,median,half_spread,ratio,ratio_low,ratio_high,"
    "shown,best,reference,program,date,command\r\n";

// Adds quotes where the text could end the field.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return as_utf8(text);
  std::string result = "\"";
  for (const char letter : as_utf8(text)) {
    if (letter == '"') result += '"';
    result += letter;
  }
  return result + "\"";
}

std::string csv_ratio(const Figure& figure, bool is_reference) {
  if (!figure.has_ratio || is_reference) return ",,,";
  return fmt::format("{},{},{},{}", figure.ratio.value, figure.ratio.low, figure.ratio.high,
                     figure.ratio.is_shown);
}

}  // namespace

std::string csv_of(const Comparison& comparison, const Judgement& judgement) {
  const std::string circumstances = fmt::format(
      "{},{},{},{}\r\n", csv_field(comparison.contenders[comparison.reference].allocator.name),
      csv_field(shell_text(comparison.program)), comparison.date,
      csv_field(shell_text(comparison.command)));
  std::string text = csv_heads;
  for (size_t i = 0; i < comparison.contenders.size(); i++) {
    const Allocator& allocator = comparison.contenders[i].allocator;
    const Verdict& verdict = judgement.verdicts[i];
    const std::string row = fmt::format("{},{},{},{}", csv_field(allocator.name),
                                        csv_field(shell_text(allocator.settings)),
                                        csv_field(allocator.path), verdict.counted);
    for (size_t id = 0; id < measure_count; id++) {
      const Figure& figure = verdict.figures[id];
      const std::string values =
          verdict.counted == 0 ? "," : fmt::format("{},{}", figure.median, figure.spread);
      text += fmt::format("{},{},{},{},{},{},{}", row, measures[id].key, id == judgement.time.id,
                          values, csv_ratio(figure, i == comparison.reference), figure.is_best,
                          circumstances);
    }
  }
  return text;
}

}  // namespace talus::tool
