// SPDX-License-Identifier: MIT
//
// Owns: the comparison as Markdown, for an issue, a merge request or a page.
// Invariant: foreign text is escaped. It can neither end a cell nor begin a heading, a link or
// HTML.
// Must not know: how a figure was computed.

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "../command.hpp"
#include "../utf8.hpp"
#include "show.hpp"
#include "verdict.hpp"

namespace talus::tool {
namespace {

// A backslash escapes any ASCII punctuation.
std::string plain(const std::string& text) {
  std::string result;
  for (const char letter : as_utf8(printable(text))) {
    if (std::string_view("\\`*_~|<>[]#&!").find(letter) != std::string_view::npos) result += '\\';
    result += letter;
  }
  return result;
}

// An indented block, which needs no escapes.
std::string code(const std::string& line) { return "    " + as_utf8(line) + "\n\n"; }

std::string markdown_table(const Comparison& comparison, const Judgement& judgement,
                           const Section& section) {
  std::string heads =
      fmt::format("| allocator | {} | ± | / {} |", measures[section.main].title,
                  plain(comparison.contenders[comparison.reference].allocator.name));
  std::string line = "|---|--:|--:|--:|";
  for (const MeasureId id : section.beside) {
    heads += fmt::format(" {} |", measures[id].title);
    line += "--:|";
  }
  std::string text = heads + "\n" + line + "\n";
  for (size_t i = 0; i < comparison.contenders.size(); i++) {
    const Verdict& verdict = judgement.verdicts[i];
    const Figure& figure = verdict.figures[section.main];
    text += fmt::format("| {} |", plain(comparison.contenders[i].allocator.name));
    if (verdict.counted == 0) {
      text += " no figure | | |";
      for (size_t k = 0; k < section.beside.size(); k++) text += " |";
      text += "\n";
      continue;
    }
    text += fmt::format(" {}{} | {} | {} |", figure.is_best ? "\\*" : "",
                        text_of_value(section.main, figure.median), text_of_spread(figure),
                        plain(text_of_ratio(figure, i == comparison.reference)));
    for (const MeasureId id : section.beside)
      text += fmt::format(" {} |", text_of_value(id, verdict.figures[id].median));
    text += "\n";
  }
  return text + "\n";
}

std::string markdown_list(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = fmt::format("{}:\n\n", title);
  for (const std::string& line : lines) text += fmt::format("- {}\n", plain(line));
  return text + "\n";
}

}  // namespace

std::string markdown_of(const Comparison& comparison, const Judgement& judgement) {
  std::string text =
      fmt::format("**{}** {}\n\n", plain(judgement.verdict), plain(judgement.ranking));
  text += code(shell_text(comparison.program));
  text += fmt::format("{}. {}\n\n", text_of_rounds(comparison), text_of_time(judgement.time));
  for (const Section& section : sections) text += markdown_table(comparison, judgement, section);
  std::vector<std::string> legend(std::begin(legend_lines), std::end(legend_lines));
  text += markdown_list("Legend", legend);
  text += markdown_list("Failures and differences", judgement.failures);
  text += markdown_list("Notes", judgement.notes);
  return text + fmt::format("Made at {} by Talus {}:\n\n", comparison.date, TALUS_TOOL_VERSION) +
         code(shell_text(comparison.command));
}

}  // namespace talus::tool
