// SPDX-License-Identifier: MIT
//
// Owns: the subcommands as functions, one source file each, and their exit codes.
// Invariant: results go to stdout. Every complaint goes to stderr, as one line that starts with
// "talus: ".
// Must not know: how main.cpp reads the command line.

#ifndef TALUS_TOOLS_TALUS_COMMAND_HPP
#define TALUS_TOOLS_TALUS_COMMAND_HPP

#include <string>
#include <vector>

namespace talus::tool {

enum ExitCode : int {
  exit_yes = 0,
  exit_no = 1,                // `check`: Talus is not active; `compare`: a run failed or differed
  exit_usage = 2,             // wrong command line, or unreadable input
  exit_refused = 3,           // `stats`, `ctl`: the kernel or the process does not allow it
  exit_damaged = 4,           // `stats`: the heap of the process is damaged
  exit_leak = 23,             // `leak`, `run --leak-check`: there is one; as LeakSanitizer's
  exit_not_executable = 126,  // as in a shell
  exit_not_found = 127        // as in a shell
};

struct RunRequest {
  std::string library;                // --lib; empty: search
  std::vector<std::string> settings;  // KEY=VALUE
  std::vector<char*> program;         // name and arguments, pointers into main's argv
  bool is_leak_check = false;         // --leak-check
};

// Replaces this process with the program. Returns an exit code only on failure, and after a check
// for leaks, for which this process stays.
int run_program(const RunRequest& request);

int check_process(const std::string& pid);
int check_program(const std::string& library, const std::vector<char*>& program);

struct CompareRequest {
  std::string library;                  // --lib; empty: search
  std::vector<std::string> allocators;  // --alloc: NAME=PATH or talus-PRESET
  std::vector<std::string> with;        // --with: KEY=VALUE,KEY=VALUE
  std::string only;                     // --only: names separated by commas; empty: all
  int rounds = 5;
  int warm_up = 1;         // rounds; the first one proves that libraries are loaded
  double timeout_s = 600;  // for one run
  std::string html;        // output files; empty: none
  std::string json;
  std::string csv;
  std::string markdown;
  std::string input;  // --stdin; empty: /dev/null
  bool is_quiet = false;
  bool is_output_shown = false;
  std::vector<std::string> command;  // the whole command line, for the record
  std::vector<char*> program;        // name and arguments, pointers into main's argv
};

// Returns exit_yes if all runs were good, exit_no if one failed or differed, 128 + signal if
// stopped.
int compare_program(const CompareRequest& request);

enum class OptionsFormat { text, markdown, json };
int print_options(OptionsFormat format);
int print_presets();

struct EffectiveRequest {
  std::vector<std::string> settings;  // KEY=VALUE
  bool is_json = false;
  std::vector<char*> program;  // name and arguments; empty: any program
};

// Prints the options that a program would get, each with its source.
int print_effective(const EffectiveRequest& request);

enum class StatisticsFormat { text, markdown };
int print_statistics(StatisticsFormat format);

enum class StatsFormat { text, json, csv, openmetrics };

struct StatsRequest {
  std::string process;  // its id, or the path of its core file
  StatsFormat format = StatsFormat::text;
  std::string every_s;  // --watch; empty: once
};

// Prints the numbers of a running process, which notices nothing, or of a core file.
int print_stats(const StatsRequest& request);

// Prints the version of the command, and the library's version if it is found.
int print_version(const std::string& library);

// Text of another process or file. '?' replaces characters that could control the terminal.
std::string printable(std::string text);

// Writes one printable line to stderr, with "talus: " in front.
void complain(const std::string& line);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMMAND_HPP
