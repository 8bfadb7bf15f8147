// SPDX-License-Identifier: MIT
//
// Owns: the comparison as one page of HTML. The page loads nothing, runs no script, and follows the
// reader's choice of light or dark.
// Invariant: the page is also well-formed XML, so that any tool can parse it. All foreign text is
// escaped.
// Must not know: how a figure was computed.

#include <fmt/format.h>

#include <algorithm>

#include "../command.hpp"
#include "../utf8.hpp"
#include "machine.hpp"
#include "show.hpp"
#include "strip_plot.hpp"
#include "verdict.hpp"

namespace talus::tool {
namespace {

constexpr const char* style = R"(
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1c2126; --faint: #66707a;
  --line: #d8dce0; --dot: #7a8794; --own: #c2410c; --reference: #2563a8; --wrong: #b91c1c; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e4e7ea; --faint: #98a2ad;
  --line: #353b42; --dot: #8b98a6; --own: #fb923c; --reference: #7cb3f0; --wrong: #f87171; } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
code, td, .path { font-variant-numeric: tabular-nums; }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--faint); }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
  background: var(--paper); }
.best { font-weight: 700; } .unsure, .faint { color: var(--faint); }
.wrong { color: var(--wrong); }
svg { margin-top: .8rem; display: block; }
svg text { fill: var(--ink); font-size: 13px; } svg .scale { fill: var(--faint); }
svg .grid { stroke: var(--line); } svg .median { stroke: var(--ink); stroke-width: 2; }
svg circle { fill: var(--dot); fill-opacity: .75; }
svg .own circle { fill: var(--own); } svg .reference circle { fill: var(--reference); }
.verdict { font-size: 1.15rem; font-weight: 600; }
ul { padding-left: 1.2rem; }
@media (max-width: 34rem) { body { margin: 1rem auto; } svg .second { display: none; }
  th, td { padding: .25rem .4rem; } }
)";

// XML does not allow U+FFFE and U+FFFF.
std::string without_no_characters(std::string text) {
  for (const char* const no_character : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (size_t at = text.find(no_character); at != std::string::npos;
         at = text.find(no_character, at))
      text.replace(at, 3, "\xef\xbf\xbd");
  }
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : without_no_characters(as_utf8(printable(text)))) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string cells_of(const Figure& figure, MeasureId id, bool is_reference) {
  const bool is_unsure = !is_reference && !(figure.has_ratio && figure.ratio.is_shown);
  return fmt::format("<td{}>{}{}</td><td class=\"faint\">{}</td><td{}>{}</td>",
                     figure.is_best ? " class=\"best\"" : "", figure.is_best ? "*" : "",
                     text_of_value(id, figure.median), text_of_spread(figure),
                     is_unsure ? " class=\"unsure\"" : "", text_of_ratio(figure, is_reference));
}

std::string html_table(const Comparison& comparison, const Judgement& judgement,
                       const Section& section) {
  std::string text = fmt::format(
      "<div class=\"scroll\"><table>\n<tr><th>allocator</th><th>{}</th><th></th><th>/ {}</th>",
      measures[section.main].title,
      escaped(comparison.contenders[comparison.reference].allocator.name));
  for (const MeasureId id : section.beside) text += fmt::format("<th>{}</th>", measures[id].title);
  text += "</tr>\n";
  for (size_t i = 0; i < comparison.contenders.size(); i++) {
    const Verdict& verdict = judgement.verdicts[i];
    text += fmt::format("<tr><td>{}</td>", escaped(comparison.contenders[i].allocator.name));
    if (verdict.counted == 0) {
      text += fmt::format("<td colspan=\"{}\" class=\"wrong\">no figure</td></tr>\n",
                          3 + section.beside.size());
      continue;
    }
    text += cells_of(verdict.figures[section.main], section.main, i == comparison.reference);
    for (const MeasureId id : section.beside)
      text += fmt::format("<td>{}</td>", text_of_value(id, verdict.figures[id].median));
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

StripPlot plot_of(const Comparison& comparison, const Judgement& judgement, MeasureId id) {
  StripPlot plot{measures[id].title, {}};
  for (size_t i = 0; i < comparison.contenders.size(); i++) {
    const Contender& contender = comparison.contenders[i];
    Strip strip;
    strip.name = escaped(contender.allocator.name);
    strip.kind = i == comparison.reference      ? "reference"
                 : contender.allocator.is_talus ? "own"
                                                : "other";
    for (const Sample& sample : contender.samples)
      if (is_counted(sample, judgement.usual))
        strip.dots.push_back({sample.*measures[id].value, sample.round});
    strip.median = judgement.verdicts[i].figures[id].median;
    plot.strips.push_back(strip);
  }
  return plot;
}

std::string html_list(const std::vector<std::string>& lines, const char* title, const char* kind) {
  if (lines.empty()) return {};
  std::string text = fmt::format("<h2>{}</h2>\n<ul class=\"{}\">\n", title, kind);
  for (const std::string& line : lines) text += fmt::format("<li>{}</li>\n", escaped(line));
  return text + "</ul>\n";
}

std::string html_allocators(const Comparison& comparison) {
  std::string text = "<h2>Allocators</h2>\n<ul>\n";
  for (const Contender& contender : comparison.contenders) {
    const Allocator& allocator = contender.allocator;
    std::string settings;
    for (const std::string& setting : allocator.settings)
      settings += fmt::format(", <code>{}</code>", escaped(setting));
    text += fmt::format("<li>{}: {}{}</li>\n", escaped(allocator.name),
                        allocator.path.empty() ? "the program's own C library, nothing preloaded"
                                               : "<code>" + escaped(allocator.path) + "</code>",
                        settings);
  }
  return text + "</ul>\n";
}

}  // namespace

std::string html_of(const Comparison& comparison, const Judgement& judgement) {
  const Machine machine = this_machine();
  const std::string program = escaped(shell_text(comparison.program));
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}: allocators compared</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<h1>Allocators compared</h1>\n<p class=\"verdict\">{} {}</p>\n<p><code>{}</code></p>\n"
      "<p class=\"faint\">{} {}. {}, {} processors, {:.0f} MiB, {}. Talus {}.</p>\n"
      "<p class=\"faint\">Made at {} by <code>{}</code></p>\n",
      program, style, escaped(judgement.verdict), escaped(judgement.ranking), program,
      text_of_time(judgement.time), text_of_rounds(comparison), escaped(machine.processor),
      machine.processors, machine.memory_kib / 1024, escaped(machine.kernel), TALUS_TOOL_VERSION,
      comparison.date, escaped(shell_text(comparison.command)));
  text += html_list(judgement.failures, "Failures and differences", "wrong");
  for (const Section& section : sections) {
    text += fmt::format("<h2>{}</h2>\n{}<div class=\"scroll\">{}</div>\n",
                        measures[section.main].title, html_table(comparison, judgement, section),
                        svg_of(plot_of(comparison, judgement, section.main), section.main));
  }
  text += "<p class=\"faint\">";
  for (const char* const line : legend_lines) text += fmt::format("{}.<br/>\n", line);
  text += "</p>\n";
  text += html_list(judgement.notes, "Notes", "notes") + html_allocators(comparison);
  return text + "</body>\n</html>\n";
}

}  // namespace talus::tool
