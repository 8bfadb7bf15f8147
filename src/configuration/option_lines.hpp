// SPDX-License-Identifier: MIT
// configuration/option_lines: options as lines: `name = value`, comments, sections by program.
//
// Owns: the format of /etc/talus.conf and of the program's own string. A line is empty, a comment
// (#), a section ([name], [name*], [*]), or an option. A name may have any case and TALUS_ in
// front. A # after a blank ends a line. Lines before the first section, or in [*], are for all
// programs. They are weaker than lines in a section of this program, wherever that section is.
//
// Invariants: each mistake gives one line of warning that names its place, and each text gives only
// a few. It allocates nothing and keeps errno. Called on: the thread that starts the process. Must
// not know: which files there are.
#ifndef TALUS_CONFIGURATION_OPTION_LINES_HPP
#define TALUS_CONFIGURATION_OPTION_LINES_HPP

#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/option_number.hpp"
#include "machine/kernel_file.hpp"
#include "configuration/option_target.hpp"

namespace talus::core {

// The program's names, which sections are compared with.
struct ProgramNames {
  TextPart called_as;  // last part of the executed path; for a script, its own
  TextPart file;       // the last part of the path of the executable file
};

inline TextPart last_part_of(TextPart path) noexcept {
  TextPart last = path;
  while (path.length != 0) {
    const TextPart part = path.take_until('/');
    if (part.length != 0) last = part;
  }
  return last;
}

inline bool is_blank(char letter) noexcept {
  return letter == ' ' || letter == '\t' || letter == '\r';
}

inline TextPart without_blanks(TextPart text) noexcept {
  while (text.length != 0 && is_blank(text.text[0])) {
    text.text++;
    text.length--;
  }
  while (text.length != 0 && is_blank(text.text[text.length - 1])) text.length--;
  return text;
}

inline TextPart without_comment(TextPart line) noexcept {
  for (size_t i = 0; i < line.length; i++) {
    if (line.text[i] != '#' || (i != 0 && !is_blank(line.text[i - 1]))) continue;
    line.length = i;
  }
  return line;
}

// True if a section's name, which may end with a star, matches this name.
inline bool is_meant(TextPart section, TextPart name) noexcept {
  if (name.length == 0) return false;
  const bool is_open = section.length != 0 && section.text[section.length - 1] == '*';
  const size_t length = is_open ? section.length - 1 : section.length;
  if (is_open ? name.length < length : name.length != length) return false;
  for (size_t i = 0; i < length; i++) {
    if (section.text[i] != name.text[i]) return false;
  }
  return true;
}

inline constexpr uint32_t line_warnings_max = 8;

class OptionLineReader {
 public:
  // `place` is the text's name in warnings. `sink` may be null.
  OptionLineReader(OptionTarget target, OptionSource source, const char* place,
                   const ProgramNames& names, WarningSink sink) noexcept
      : target_{target}, names_{names}, place_{place}, sink_{sink} {
    origin_.source = source;
  }

  // False: too many mistakes, so the caller reads no further.
  bool take(TextPart line, uint32_t number) noexcept {
    number_ = number;
    origin_.line = static_cast<uint16_t>(number < UINT16_MAX ? number : UINT16_MAX);
    line = without_blanks(without_comment(line));
    if (line.length == 0) return true;
    if (line.text[0] == '[') {
      begin_section(line);
    } else if (section_ != Section::of_others) {
      take_option(line);
    }
    return warnings_ < line_warnings_max;
  }

  // Reports what is wrong with the whole text (line 0) or with one line. False: too many mistakes.
  bool complain(uint32_t line, const char* what) noexcept {
    number_ = line;
    Warning{*this}.line.add(what);
    return warnings_ < line_warnings_max;
  }

 private:
  enum class Section : uint8_t { of_all, of_this, of_others };

  // One line of warning, written at the end of its scope.
  struct Warning {
    explicit Warning(OptionLineReader& from) noexcept : reader{from}, line{text, sizeof text} {
      line.add("talus: ");
      line.add(reader.place_);
      if (reader.number_ != 0 && reader.origin_.source != OptionSource::program) {
        line.add(":");
        line.add_number(reader.number_);
      }
      line.add(": ");
    }
    ~Warning() {
      if (++reader.warnings_ == line_warnings_max) line.add("; the rest is not read");
      if (reader.sink_ != nullptr) reader.sink_(text);
    }
    OptionLineReader& reader;
    char text[option_warning_bytes_max];
    OptionLine line;
  };

  void begin_section(TextPart line) noexcept {
    const bool is_closed = line.length > 2 && line.text[line.length - 1] == ']';
    TextPart name;
    if (is_closed) name = without_blanks(TextPart{line.text + 1, line.length - 2});
    if (name.length == 0) {
      section_ = Section::of_others;
      Warning{*this}.line.add("a section is written [program], or [*] for all programs");
    } else if (name.is("*")) {
      section_ = Section::of_all;
    } else if (origin_.source == OptionSource::program) {
      section_ = Section::of_others;
      Warning{*this}.line.add("sections of programs are for files");
    } else {
      const bool is_this = is_meant(name, names_.called_as) || is_meant(name, names_.file);
      section_ = is_this ? Section::of_this : Section::of_others;
    }
    origin_.is_for_program = section_ == Section::of_this;
  }

  void take_option(TextPart line) noexcept {
    TextPart rest = line;
    const TextPart name = without_blanks(rest.take_until('='));
    const bool has_value = rest.text[-1] == '=';
    const TextPart value = without_blanks(rest);
    char text[option_text_bytes_max + 64];
    if (!has_value || name.length == 0) return add_misfit(line);
    const OptionRow* row = find_option(name.text, name.length);
    if (row == nullptr) {
      Warning warning{*this};
      return add_unknown(warning.line, "", name.text, name.length,
                         [](OptionLine& to, const OptionRow& near) noexcept { to.add(near.name); });
    }
    if (row->id == OptionId::config) {
      Warning{*this}.line.add("config counts in the environment only");
      return;
    }
    size_t length = 0;
    for (; length < value.length && length + 1 < sizeof text; length++) {
      text[length] = value.text[length];
      if (text[length] == '\0') return add_misfit(line);
    }
    text[length] = '\0';  // a longer text is too long for any option
    const OptionParse parse = set_option_from(target_, *row, text, origin_);
    if (parse == OptionParse::accepted) return;
    Warning warning{*this};
    warning.line.add(row->name);
    add_refusal(warning.line, *row, text, parse);
    add_kept_value(warning.line, *row, target_.values);
  }

  void add_misfit(TextPart line) noexcept {
    Warning warning{*this};
    warning.line.add("not understood: ");
    warning.line.add_foreign(line.text, line.length);
    warning.line.add("; an option is written name = value");
  }

  OptionTarget target_;
  const ProgramNames& names_;
  const char* place_;
  WarningSink sink_;
  OptionOrigin origin_;
  Section section_ = Section::of_all;
  uint32_t number_ = 0;
  uint32_t warnings_ = 0;
};

}  // namespace talus::core

#endif  // TALUS_CONFIGURATION_OPTION_LINES_HPP
