// SPDX-License-Identifier: MIT
//
// Owns: see terminal.hpp.
// Invariant: see terminal.hpp.
// Must not know: what is shown.

#include "terminal.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <string_view>

namespace talus::tool {
namespace {

constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr const char* heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char plain_heights[] = " .:-=+*#@";

bool has_value(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

Terminal this_terminal() {
  Terminal terminal;
  std::setlocale(LC_CTYPE, "");
  terminal.has_unicode = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  if (::isatty(STDOUT_FILENO) != 1) return terminal;
  const char* const kind = std::getenv("TERM");
  terminal.has_colour =
      !has_value("NO_COLOR") && kind != nullptr && std::string_view(kind) != "dumb";
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
    terminal.columns = size.ws_col;
  }
  return terminal;
}

std::string coloured(const Terminal& terminal, const char* colour, const std::string& text) {
  return terminal.has_colour ? fmt::format("\033[{}m{}\033[0m", colour, text) : text;
}

std::string bar_of(const Terminal& terminal, uint64_t part, uint64_t all, size_t cells) {
  if (part == 0 || all == 0) return "";
  const double share = std::min(1.0, static_cast<double>(part) / static_cast<double>(all)) *
                       static_cast<double>(cells);
  std::string bar;
  if (!terminal.has_unicode) {
    bar.assign(std::max<size_t>(1, static_cast<size_t>(share + 0.5)), '#');
    return bar;
  }
  const size_t eighth_count = std::max<size_t>(1, static_cast<size_t>(share * 8 + 0.5));
  for (size_t i = 0; i < eighth_count / 8; i++) bar += eighths[8];
  return bar + eighths[eighth_count % 8];
}

std::string spark_of(const Terminal& terminal, std::span<const uint64_t> values) {
  uint64_t most = 1;
  for (const uint64_t value : values) most = std::max(most, value);
  std::string line;
  for (const uint64_t value : values) {
    const size_t height =
        value == 0 ? 0
                   : std::max<size_t>(1, static_cast<size_t>(static_cast<double>(value) * 8 /
                                                             static_cast<double>(most)));
    if (terminal.has_unicode) {
      line += heights[height];
    } else {
      line += plain_heights[height];
    }
  }
  return line;
}

std::string as_size(uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(units)) {
    value /= 1024;
    unit++;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace talus::tool
