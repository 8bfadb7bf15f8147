// SPDX-License-Identifier: MIT
//
// Owns: the page that --help prints. A command's footer holds its usage lines, an empty line, and
// its notes. The page shows the usage lines at the top and the notes at the end.
// Invariant: a page has one usage text and none of the parser's own words ("OPTIONS", types).
// Must not know: which commands exist.

#ifndef TALUS_TOOLS_TALUS_HELP_PAGE_HPP
#define TALUS_TOOLS_TALUS_HELP_PAGE_HPP

#include <CLI/CLI.hpp>
#include <string>

namespace talus::tool {

class HelpPage : public CLI::Formatter {
 public:
  HelpPage() { label("Positionals", "Arguments"); }

  std::string make_usage(const CLI::App* app, std::string) const override {
    std::string text = "\nUsage: ";
    for (const char letter : app->get_footer().substr(0, app->get_footer().find(parting))) {
      text += letter;
      if (letter == '\n') text += "       ";
    }
    return text + "\n";
  }

  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    const size_t end = footer.find(parting);
    return end == std::string::npos ? "" : footer.substr(end + 2) + "\n";
  }

  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (!is_positional) return without_braces(CLI::Formatter::make_option_name(option, false));
    return value_name(option) + (option->get_expected_max() > 1 ? " ..." : "");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const bool has_value = option->get_type_size() != 0 && !option->get_positional();
    return has_value ? " " + value_name(option) : "";
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string value = option->get_default_str();
    return option->get_description() + (value.empty() ? "" : "; default " + value);
  }

 private:
  // A flag with a default value is declared as --watch{1}.
  static std::string without_braces(const std::string& name) {
    const size_t end = name.find('}');
    return end == std::string::npos ? name : name.substr(0, name.find('{')) + name.substr(end + 1);
  }

  static constexpr const char* parting = "\n\n";

  // The name given to the value. The parser adds a colon and its checks.
  static std::string value_name(const CLI::Option* option) {
    const std::string name = option->get_type_name();
    return name.substr(0, name.find(':'));
  }
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_HELP_PAGE_HPP
