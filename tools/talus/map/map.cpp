// SPDX-License-Identifier: MIT
//
// Owns: `talus map`: its command line, and the file that it writes.
// Invariant: the page is whole, or the exit status says that it is not.
// Must not know: how the process is read, and how the page draws.

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "command.hpp"
#include "map/map_data.hpp"
#include "map_page.hpp"
#include "subcommand.hpp"
#include "why/sight.hpp"

namespace talus::tool {
namespace {

struct MapRequest {
  std::string process;  // its id, or the path of its core file
  std::string output;   // -o; "-": standard output
};

bool write_all(std::FILE* file, const Sight& sight) {
  constexpr std::string_view mark = "@DATA@";
  const std::string_view page = map_page;
  const size_t at = page.find(mark);
  const std::string data = map_data(sight.title, sight.picture, sight.seen.numbers, sight.areas);
  const std::string_view parts[] = {page.substr(0, at), data, page.substr(at + mark.size())};
  for (const std::string_view part : parts) {
    if (std::fwrite(part.data(), 1, part.size(), file) != part.size()) return false;
  }
  return std::fflush(file) == 0;
}

int write_map(const MapRequest& request) {
  const std::optional<Target> target = read_target("map", request.process);
  if (!target) return exit_usage;
  const Sight sight = see(*target);
  if (!sight.is_seen()) return exit_code_of(sight.seen.result);
  if (request.output == "-") {
    return write_all(stdout, sight) ? exit_code_of(sight.seen.result) : exit_usage;
  }
  std::FILE* const file = std::fopen(request.output.c_str(), "we");
  const bool is_written = file != nullptr && write_all(file, sight);
  const int error = errno;
  if ((file != nullptr && std::fclose(file) != 0) || !is_written) {
    complain(fmt::format("map: {}: {}", request.output, std::strerror(error)));
    return exit_usage;
  }
  return exit_code_of(sight.seen.result);
}

}  // namespace

Subcommand add_map(CLI::App& app) {
  const auto wanted = std::make_shared<MapRequest>();
  CLI::App* const map =
      app.add_subcommand("map", "Draw the address space of a process as a page to zoom into");
  map->footer(
      "talus map PID -o FILE.html\ntalus map CORE -o FILE.html\n\nThe page needs no network and no "
      "other file. One tile is a slice of 64 KiB, one cell in it\na page. Exit status: as of "
      "`talus stats`.");
  map->add_option("process", wanted->process, "a running process, or a core file")
      ->type_name("PID|CORE")
      ->required();
  map->add_option("-o,--output", wanted->output, "the file to write; - is standard output")
      ->type_name("FILE")
      ->required();
  return {map, [wanted] { return write_map(*wanted); }};
}

}  // namespace talus::tool
