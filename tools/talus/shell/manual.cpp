// SPDX-License-Identifier: MIT
//
// Owns, invariant, must not know: see manual.hpp.

#include "shell/manual.hpp"

#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "configuration/options_env.hpp"
#include "help_page.hpp"

namespace talus::tool {
namespace {

using namespace core;  // the library's options

// Text as man(7) shows it unchanged.
std::string plain(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); i++) {
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (text[i] == '.' || text[i] == '\'')) result += "\\&";
    if (text[i] == '\\') {
      result += "\\e";
    } else if (text[i] == '-') {
      result += "\\-";
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string section(std::string_view name, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}", name, body);
}

std::string entry(std::string_view name, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", plain(name), plain(text));
}

// The first lines of a footer are the forms of the command.
std::string forms_of(const std::string& footer) {
  const std::string forms = footer.substr(0, footer.find("\n\n"));
  std::string text = ".nf\n";
  text += plain(forms);
  return text + "\n.fi\n";
}

std::string notes_of(const std::string& footer) {
  const size_t end = footer.find("\n\n");
  return end == std::string::npos ? "" : plain(footer.substr(end + 2)) + "\n";
}

std::string options_of(const CLI::App& app, bool are_positional) {
  const HelpPage page;
  std::string text;
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_positional() != are_positional || option->get_group().empty()) continue;
    text += entry(page.make_option_name(option, are_positional) + page.make_option_opts(option),
                  page.make_option_desc(option));
  }
  return text;
}

std::string commands_of(const CLI::App& app) {
  std::string text;
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    text +=
        entry(command->get_name(),
              fmt::format("{}. See talus-{}(1).", command->get_description(), command->get_name()));
  }
  return text;
}

// TALUS_NAME and what it says, for each option of the library.
std::string environment() {
  std::string text;
  for (const OptionRow& row : option_rows) {
    char name[64];
    OptionLine line(name, sizeof name);
    add_option_env_name(line, row);
    char value[option_text_bytes_max];
    const Options defaults;
    format_option_value(defaults, row, value, sizeof value);
    text += entry(fmt::format("{}={}", name, value), fmt::format("{}.", row.help.text()));
  }
  return text;
}

}  // namespace

std::string manual_page(const CLI::App& app, const std::string& command) {
  const bool is_whole = command.empty();
  const CLI::App& shown = is_whole ? app : *app.get_subcommand(command);
  const std::string name = is_whole ? "talus" : "talus-" + command;
  const std::string description = shown.get_description();
  std::string text =
      fmt::format(".TH {} 1 \"\" \"Talus {}\" \"Talus\"\n", name, TALUS_TOOL_VERSION);
  text += section("NAME", fmt::format("{} \\- {}\n", plain(name), plain(description)));
  text += section("SYNOPSIS", forms_of(shown.get_footer()));
  text += section("DESCRIPTION", notes_of(shown.get_footer()));
  text += section("COMMANDS", is_whole ? commands_of(app) : "");
  text += section("ARGUMENTS", options_of(shown, true));
  text += section("OPTIONS", options_of(shown, false));
  const bool has_settings = shown.get_option_no_throw("settings") != nullptr;
  text += section("ENVIRONMENT", is_whole || has_settings ? environment() : "");
  text += section("SEE ALSO", is_whole ? ".BR malloc (3)\n" : ".BR talus (1)\n");
  return text;
}

}  // namespace talus::tool
