// SPDX-License-Identifier: MIT
//
// Owns: the parsing of one KEY=VALUE word, see setting.hpp.
// Invariant: the value stays unchanged; only the key becomes the option's name.
// Must not know: anything but the table of options, its parser, and whether a file can be read.

#include "setting.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "command.hpp"
#include "configuration/options_env.hpp"

namespace talus::tool {

using namespace core;  // the library's options
namespace {

constexpr std::string_view prefix = "TALUS_";

std::string upper(std::string_view text) {
  std::string result;
  for (const char letter : text) result += option_upper(letter);
  return result;
}

// The reason why a process could not read the file that CONFIG names. Empty: it can, or CONFIG
// names no file.
std::string why_not_readable(const std::string& name) {
  if (name.empty() || option_is_word(name.data(), name.size(), "none")) return {};
  const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return fmt::format("cannot be opened: {}", std::strerror(errno));
  struct stat status;
  const bool is_regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  ::close(file);
  return is_regular ? "" : "is not a regular file";
}

}  // namespace

bool looks_like_setting(std::string_view word) {
  const size_t end = word.find('=');
  if (end == std::string_view::npos || end == 0) return false;
  if (word[0] >= '0' && word[0] <= '9') return false;
  for (const char letter : word.substr(0, end)) {
    const char low = option_lower(letter);
    const bool is_part = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9') || low == '_';
    if (!is_part) return false;
  }
  return true;
}

Setting parse_setting(std::string_view word) {
  const size_t end = word.find('=');
  std::string key = upper(word.substr(0, end));
  if (key.rfind(prefix, 0) == 0) key.erase(0, prefix.size());
  Setting setting{std::string(prefix) + key, std::string(word.substr(end + 1)), {}};

  char buffer[option_warning_bytes_max];
  OptionLine line(buffer, sizeof buffer);
  const OptionRow* const row = find_option_env(key.data(), key.size());
  if (row == nullptr) {
    add_unknown_option(line, key.data(), key.size());
  } else {
    Options scratch;
    const OptionParse parse = set_option(scratch, *row, setting.value.c_str());
    if (parse == OptionParse::accepted) {
      const bool is_file = row->id == OptionId::config;
      const std::string reason = is_file ? why_not_readable(setting.value) : "";
      if (!reason.empty()) {
        setting.error =
            printable(fmt::format("talus: {}={} {}", setting.name, setting.value, reason));
      }
      return setting;
    }
    add_refused_value(line, *row, setting.value.c_str(), parse);
  }
  setting.error = buffer;
  return setting;
}

bool apply_settings(const std::vector<std::string>& words) {
  bool is_good = true;
  for (const std::string& word : words) {
    const Setting setting = parse_setting(word);
    if (setting.error.empty()) {
      ::setenv(setting.name.c_str(), setting.value.c_str(), 1);
    } else {
      fmt::print(stderr, "{}\n", setting.error);
      is_good = false;
    }
  }
  return is_good;
}

}  // namespace talus::tool
