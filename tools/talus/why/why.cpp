// SPDX-License-Identifier: MIT
//
// Owns: `talus why`: its command line and its form.
// Invariant: complaints go to stderr, so stdout has a whole page or nothing.
// Must not know: how the picture is computed or drawn.

#include <cstdio>
#include <memory>

#include "command.hpp"
#include "subcommand.hpp"
#include "why/show_why.hpp"
#include "why/sight.hpp"
#include "why/sites.hpp"

namespace talus::tool {
namespace {

struct WhyRequest {
  std::string process;  // its id, or the path of its core file
  bool is_json = false;
};

int print_why(const WhyRequest& request) {
  const std::optional<Target> target = read_target("why", request.process);
  if (!target) return exit_usage;
  Sight sight = see(*target);
  if (!sight.is_seen()) return exit_code_of(sight.seen.result);
  sight.title.sites = see_sites(*target, sight.seen.numbers.front().notes.pieces);
  const std::vector<Advice> advice = advise(sight.picture);
  const std::string text = request.is_json
                               ? show_why_json(sight.title, sight.picture, advice)
                               : show_why(this_terminal(), sight.title, sight.picture, advice);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return exit_code_of(sight.seen.result);
}

}  // namespace

Subcommand add_why(CLI::App& app) {
  const auto wanted = std::make_shared<WhyRequest>();
  CLI::App* const why =
      app.add_subcommand("why", "Tell why a process is as large as it is, and what would help");
  why->footer(
      "talus why [--json] PID\ntalus why [--json] CORE\n\nShows where resident memory is, what of "
      "it could go, and the option or call that would\nhelp most. Where the process has a heap "
      "profile, "
      "the three places in it that hold or pin most. The parts sum to the process's "
      "Rss. Exit status: as of `talus stats`.");
  why->add_option("process", wanted->process, "a running process, or a core file")
      ->type_name("PID|CORE")
      ->required();
  why->add_flag("--json", wanted->is_json, "one object on one line");
  return {why, [wanted] { return print_why(*wanted); }};
}

}  // namespace talus::tool
