// SPDX-License-Identifier: MIT
//
// Owns: the table for the terminal, and the wording of figures that all forms share.
// Invariant: columns align in any terminal, because widths count characters, not bytes. No line is
// wider than 100 columns unless an allocator's name is very long.
// Must not know: how a figure was computed.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../command.hpp"
#include "show.hpp"
#include "verdict.hpp"

namespace talus::tool {
namespace {

// Three significant digits, or all digits before the point. More digits if the step has more.
std::string three_digits(double value, double step) {
  const int usual = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const int fine = step > 0 ? static_cast<int>(-std::floor(std::log10(step) + 1e-9)) : 0;
  return fmt::format("{:.{}f}", value, std::max(usual, fine));
}

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char letter) {
    return (static_cast<unsigned char>(letter) & 0xc0) != 0x80;
  }));
}

using Row = std::vector<std::string>;

// Aligns the first column left and the others right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); i++) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string marked(MeasureId id, const Figure& figure) {
  return fmt::format("{}{}", figure.is_best ? "*" : "", text_of_value(id, figure.median));
}

// One block: a main measure with spread and ratio, and other measures beside it.
std::string block(const Comparison& comparison, const Judgement& judgement,
                  const Section& section) {
  const auto& [main, beside] = section;
  const std::string& reference = comparison.contenders[comparison.reference].allocator.name;
  std::vector<Row> rows{{"", measures[main].title, "", "/ " + reference}};
  for (const MeasureId id : beside) rows[0].push_back(measures[id].title);
  for (size_t i = 0; i < comparison.contenders.size(); i++) {
    const Verdict& verdict = judgement.verdicts[i];
    Row row{comparison.contenders[i].allocator.name};
    if (verdict.counted == 0) {
      row.push_back("no figure");
    } else {
      const Figure& figure = verdict.figures[main];
      row.insert(row.end(), {marked(main, figure), text_of_spread(figure),
                             text_of_ratio(figure, i == comparison.reference)});
      for (const MeasureId id : beside)
        row.push_back(text_of_value(id, verdict.figures[id].median));
    }
    rows.push_back(row);
  }
  return aligned(rows);
}

std::string quoted(const std::string& word) {
  const bool is_plain =
      !word.empty() && word.find_first_of(" \t\n\"'\\$`*?[]<>|&;(){}!#~") == std::string::npos;
  if (is_plain) return word;
  std::string result = "'";
  for (const char letter : word) {
    result += letter;
    if (letter == '\'') result += "\\''";
  }
  result += '\'';
  return result;
}

}  // namespace

std::string text_of_value(MeasureId id, double value, double step) {
  switch (id) {
    case measure_wall:
    case measure_cpu:
    case measure_user:
    case measure_sys:
      return value >= 0.9995 ? three_digits(value, step) + " s"
                             : three_digits(value * 1e3, step * 1e3) + " ms";
    case measure_peak:
      return three_digits(value / 1024, step / 1024) + " MiB";
    default:
      return fmt::format("{:.0f}", value);
  }
}

std::string text_of_ratio(const Figure& figure, bool is_reference) {
  if (is_reference) return "1";
  if (!figure.has_ratio) return "-";
  const Ratio& ratio = figure.ratio;
  return fmt::format("{}{:.3f} [{:.3f}, {:.3f}]", ratio.is_shown ? "" : "~", ratio.value, ratio.low,
                     ratio.high);
}

std::string text_of_spread(const Figure& figure) {
  if (figure.median <= 0) return {};
  return fmt::format("±{:.1f} %", 100 * figure.spread / figure.median);
}

std::string shell_text(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words)
    line += fmt::format("{}{}", line.empty() ? "" : " ", quoted(word));
  return printable(line);
}

std::string text_of_rounds(const Comparison& comparison) {
  return fmt::format("{} of {} rounds, {} warm-up, medians", comparison.rounds_done,
                     comparison.rounds, comparison.warm_up);
}

std::string table_of(const Comparison& comparison, const Judgement& judgement) {
  std::string text = judgement.verdict + "\n";
  if (!judgement.ranking.empty()) text += judgement.ranking + "\n";
  text += fmt::format("\n{}\n{}\n{}\n\n", shell_text(comparison.program),
                      text_of_rounds(comparison), text_of_time(judgement.time));
  for (const Section& section : sections) text += block(comparison, judgement, section) + "\n";
  for (const char* const line : legend_lines) text += fmt::format("{}\n", line);
  for (const std::string& note : judgement.notes) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace talus::tool
