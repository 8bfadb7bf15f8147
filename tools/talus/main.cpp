// SPDX-License-Identifier: MIT
//
// Owns: the command line of `talus`: its subcommands and their options.
// Invariant: no word after the program's name is interpreted. The line is therefore cut before
// CLI11 sees it (command_words.hpp), and CLI11 gets the command's words only.
// Must not know: how a subcommand works.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "command_words.hpp"
#include "help_page.hpp"
#include "shell/completion.hpp"
#include "shell/manual.hpp"
#include "setting.hpp"
#include "subcommand.hpp"

namespace talus::tool {

namespace {

int usage(const std::string& line, const CLI::App& app) {
  const auto commands = app.get_subcommands();
  const std::string name = commands.empty() ? "" : commands.front()->get_name() + " ";
  complain(fmt::format("{}; see talus {}--help", line, name));
  return exit_usage;
}

struct Answers {
  std::string library;
  std::vector<std::string> settings;
  std::string pid;
  bool is_markdown = false;
  bool is_json = false;
  bool is_effective = false;
  bool is_presets = false;
  bool is_leak_check = false;
  CompareRequest compare;
  StatsRequest stats;
  std::string manual_of;
};

void add_library_option(CLI::App& command, Answers& answers) {
  command.add_option("--lib", answers.library, "use this libtalus.so instead of the one found")
      ->type_name("PATH");
}

void add_compare(CLI::App& app, Answers& answers) {
  CompareRequest& wanted = answers.compare;
  CLI::App* const compare =
      app.add_subcommand("compare", "Run a program under every allocator found here, and compare");
  compare->footer(
      "talus compare [options] [--] program [args ...]\n\nCompares Talus, the C library and every "
      "known allocator that the loader can find. The\nprogram runs many times, so it must be "
      "repeatable. Exit status: 0 if all runs were good, 1 if\none failed or behaved differently, "
      "2 for wrong use, 128 + signal if stopped.");
  compare->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  compare->add_option("--rounds", wanted.rounds, "measured runs with each allocator")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->capture_default_str();
  compare
      ->add_option("--warm-up", wanted.warm_up, "warm-up rounds; the first proves what is loaded")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  compare->add_option("--timeout", wanted.timeout_s, "time limit for one run")
      ->check(CLI::Range(0.001, 1e9))
      ->type_name("SECONDS")
      ->capture_default_str();
  compare
      ->add_option("--alloc", wanted.allocators,
                   "a further allocator, or Talus with a preset (talus-fast); repeatable")
      ->type_name("NAME=PATH")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  compare->add_option("--with", wanted.with, "a further row: Talus with these settings; repeatable")
      ->type_name("KEY=VALUE,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  compare
      ->add_option("--only", wanted.only,
                   "compare only these, beside --alloc and --with; libc is the C library")
      ->type_name("NAME,NAME");
  compare->add_option("--stdin", wanted.input, "standard input of each run")->type_name("FILE");
  compare->add_option("--html", wanted.html, "write a page with every sample")->type_name("FILE");
  compare->add_option("--json", wanted.json, "write all samples as JSON")->type_name("FILE");
  compare->add_option("--csv", wanted.csv, "write the figures as CSV")->type_name("FILE");
  compare->add_option("--markdown", wanted.markdown, "write the verdict and the tables as Markdown")
      ->type_name("FILE");
  compare->add_flag("--show-output", wanted.is_output_shown, "show the program's output");
  compare->add_flag("--quiet", wanted.is_quiet, "print no table and no progress, only errors");
  add_library_option(*compare, answers);
}

void add_options(CLI::App& app, Answers& answers) {
  CLI::App* const options =
      app.add_subcommand("options", "List all options, or the options of a program");
  options->footer(
      "talus options [--json | --markdown | --presets]\ntalus options --effective [--json] "
      "[KEY=VALUE ...] [--] [program [args ...]]\n\nThe second form shows the options that `talus "
      "run` with these settings would give the\nprogram, and the source of each value. It does not "
      "start the program. Without a program\nit shows the values for any program.");
  CLI::Option* const markdown =
      options->add_flag("--markdown", answers.is_markdown, "as Markdown, for docs/options.md");
  CLI::Option* const json = options->add_flag("--json", answers.is_json, "as JSON");
  CLI::Option* const presets =
      options->add_flag("--presets", answers.is_presets, "the values that each preset sets");
  CLI::Option* const effective =
      options->add_flag("--effective", answers.is_effective, "values in effect and their sources");
  json->excludes(markdown)->excludes(presets);
  presets->excludes(markdown)->excludes(effective);
  effective->excludes(markdown);
  options->add_option("settings", answers.settings, "as for `talus run`")->type_name("KEY=VALUE");
}

void add_stats(CLI::App& app, StatsRequest& wanted) {
  CLI::App* const stats =
      app.add_subcommand("stats", "Show where the memory of a running process or a core file is");
  stats->footer(
      "talus stats [--json | --csv | --openmetrics] [--watch[=SECONDS]] PID\ntalus stats [--json | "
      "--csv | --openmetrics] CORE\n\nReads the process "
      "and changes nothing in it, also where it hangs or is stopped. Exit status: 0 if\nit was "
      "read, 1 if there is no Talus in it, 2 for wrong use or no such process, 3 if the "
      "kernel\nforbids to read it, 4 if its heap is damaged.");
  stats->add_option("process", wanted.process, "a running process, or a core file")
      ->type_name("PID|CORE")
      ->required();
  const auto add_format = [&](const char* name, StatsFormat format, const char* what) {
    return stats->add_flag_callback(
        name, [&wanted, format] { wanted.format = format; }, what);
  };
  CLI::Option* const json = add_format("--json", StatsFormat::json, "one object a line");
  CLI::Option* const csv = add_format("--csv", StatsFormat::csv, "a header, and one row a sample");
  CLI::Option* const metrics =
      add_format("--openmetrics", StatsFormat::openmetrics, "one exposition a sample");
  json->excludes(csv)->excludes(metrics);
  csv->excludes(metrics);
  stats->add_flag("--watch{1}", wanted.every_s,
                  "sample again, each second or as often as given, with rates");
}

// Of no use to people: the build and the shells ask.
void add_hidden(CLI::App& app, Answers& answers) {
  CLI::App* const manual = app.add_subcommand("manual", "Print a manual page, for man");
  manual->footer("talus manual [COMMAND]");
  manual->add_option("command", answers.manual_of, "a command; none: all")->type_name("COMMAND");
  app.add_subcommand("complete", "Print what may stand at the cursor, for the shells")
      ->footer("talus complete -- talus WORD ...");
  for (const char* const name : {"manual", "complete"}) app.get_subcommand(name)->group("");
}

int dispatch(const CLI::App& app, const Answers& answers, const CommandLine& line) {
  if (app.got_subcommand("run")) {
    if (line.program.empty()) return usage("run: no program given", app);
    return run_program({answers.library, answers.settings, line.program, answers.is_leak_check});
  }
  if (app.got_subcommand("check")) {
    if (answers.pid.empty() == line.program.empty()) {
      return usage("check: give a process id, or -- and a program", app);
    }
    if (!line.program.empty()) return check_program(answers.library, line.program);
    const bool is_number = std::all_of(answers.pid.begin(), answers.pid.end(),
                                       [](char letter) { return letter >= '0' && letter <= '9'; });
    if (!is_number) return usage(fmt::format("check: {} is not a process id", answers.pid), app);
    return check_process(answers.pid);
  }
  if (app.got_subcommand("compare")) {
    if (line.program.empty()) return usage("compare: no program given", app);
    CompareRequest request = answers.compare;
    request.library = answers.library;
    request.program = line.program;
    request.command = line.all;
    return compare_program(request);
  }
  if (app.got_subcommand("options")) {
    if (answers.is_effective) {
      return print_effective({answers.settings, answers.is_json, line.program});
    }
    if (!line.program.empty() || !answers.settings.empty()) {
      return usage("options: a program or a setting needs --effective", app);
    }
    if (answers.is_presets) return print_presets();
    return print_options(answers.is_markdown ? OptionsFormat::markdown
                         : answers.is_json   ? OptionsFormat::json
                                             : OptionsFormat::text);
  }
  if (app.got_subcommand("stats")) return print_stats(answers.stats);
  if (app.got_subcommand("statistics")) {
    return print_statistics(answers.is_markdown ? StatisticsFormat::markdown
                                                : StatisticsFormat::text);
  }
  if (app.got_subcommand("manual")) {
    fmt::print("{}", manual_page(app, answers.manual_of));
    return exit_yes;
  }
  if (app.got_subcommand("complete")) {
    fmt::print("{}", complete(app, {line.program.begin(), line.program.end()}));
    return exit_yes;
  }
  return print_version(answers.library);
}

void add_listings(CLI::App& app, Answers& answers) {
  CLI::App* const statistics = app.add_subcommand("statistics", "List the names of statistics");
  statistics->footer("talus statistics [--markdown]");
  statistics->add_flag("--markdown", answers.is_markdown, "as the tables of docs/statistics.md");

  CLI::App* const version =
      app.add_subcommand("version", "Print the versions of the command and the library");
  version->footer("talus version [--lib PATH]");
  add_library_option(*version, answers);
}

int main_of(const std::vector<char*>& words) {
  Answers answers;
  CLI::App app("Runs programs on the Talus memory allocator, and checks that they use it.",
               "talus");
  app.formatter(std::make_shared<HelpPage>());
  app.footer("talus COMMAND ...\n\n`talus COMMAND --help` describes a command.");
  app.set_version_flag("--version", std::string("talus ") + TALUS_TOOL_VERSION);
  app.require_subcommand(1);

  CLI::App* const run = app.add_subcommand("run", "Run a program on Talus");
  run->footer(
      "talus run [--lib PATH] [--leak-check] [KEY=VALUE ...] [--] program [args ...]\n\n"
      "From the program's name on, every word belongs to the program.");
  run->add_option("settings", answers.settings, "options; `talus options` lists them")
      ->type_name("KEY=VALUE");
  add_library_option(*run, answers);
  run->add_flag("--leak-check", answers.is_leak_check,
                "say what was lost when it ends; exit status 23 if anything was");

  CLI::App* const check =
      app.add_subcommand("check", "Check whether Talus is active (exit 0) or not (exit 1)");
  check->footer(
      "talus check PID\ntalus check [--lib PATH] -- program [args ...]\n\nWith a program: check "
      "whether Talus would be active under `talus run`, without a start.");
  check->add_option("pid", answers.pid, "a running process")->type_name("PID");
  add_library_option(*check, answers);

  add_compare(app, answers);
  add_options(app, answers);
  add_stats(app, answers.stats);
  std::vector<Subcommand> further = {add_why(app),     add_map(app),  add_top(app),
                                     add_profile(app), add_leak(app), add_explain(app)};
  add_listings(app, answers);
  further.push_back(add_ctl(app));
  further.push_back(add_serve(app));
  for (CLI::App* const command : app.get_subcommands({})) command->group("Commands");
  add_hidden(app, answers);
  const CommandLine line = cut(app, words);
  try {
    app.parse(std::vector<std::string>(line.ours.rbegin(), line.ours.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return usage(error.what(), app);
  }
  try {
    for (const Subcommand& command : further) {
      if (command.words->parsed()) return command.run();
    }
    return dispatch(app, answers, line);
  } catch (const std::exception&
               error) {  // for example, the working folder was removed or memory ran out
    complain(error.what());
    return exit_usage;
  }
}

}  // namespace
}  // namespace talus::tool

int main(int argc, char** argv) {
  const int code = talus::tool::main_of(std::vector<char*>(argv, argv + argc));
  // A result that could not be written, for instance to a full disk, is a failure.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  talus::tool::complain("the output cannot be written");
  return talus::tool::exit_usage;
}
