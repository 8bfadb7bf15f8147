// SPDX-License-Identifier: MIT
//
// Owns: `talus ctl`: its words, what it says, and its exit codes.
// Invariant: a refusal is one line with its reason and a remedy. Results go to stdout.
// Must not know: how a command reaches the process.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "control/mailbox.hpp"
#include "observe/memory.hpp"
#include "observe/process_numbers.hpp"
#include "observe/reach.hpp"
#include "observe/target.hpp"
#include "parsing/option_number.hpp"
#include "proc_text.hpp"
#include "process_word.hpp"
#include "setting.hpp"
#include "subcommand.hpp"

namespace talus::tool {
namespace {

using core::CommandId;
using core::CommandResult;

struct Wanted {
  std::string process;
  std::vector<std::string> words;
  double wait_s = 2;
};

struct Mistake : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The value of a line of /proc/PID/status; empty: there is none.
std::string status_of(int pid, const std::string& name) {
  return text_in(named_lines(memory_folder(pid) + "/status"), name);
}

std::string name_of(const std::string& pid) {
  const std::string name = process_name(pid);
  return printable(name.empty() ? pid : fmt::format("{} ({})", pid, name));
}

uint64_t bytes_of(const std::string& word) {
  core::OptionRow row = core::option_rows[static_cast<size_t>(core::OptionId::retain_bytes)];
  row.min = 0;
  row.max = uint64_t{1} << 62;
  uint64_t bytes = 0;
  if (core::parse_option_number(row, word.c_str(), bytes) == core::OptionParse::accepted) {
    return bytes;
  }
  throw Mistake(fmt::format("{} is no number of bytes, such as 100M", word));
}

Order read_setting(const std::string& word) {
  const size_t parting = word.find('=');
  if (parting == std::string::npos || parting == 0) throw Mistake("set needs KEY=VALUE");
  Order order{CommandId::set_option, 0, word};
  if (word.size() >= core::command_text_bytes) throw Mistake("the setting is too long");
  order.text[parting] = '\0';
  return order;
}

Order read_order(const std::vector<std::string>& words) {
  const std::string& name = words.front();
  const size_t count = words.size();
  if (name == "release" && count <= 2) {
    const uint64_t bytes = count == 2 ? bytes_of(words[1]) : 0;
    if (count == 2 && bytes == 0) throw Mistake("release 0 asks for nothing");
    return {CommandId::release, bytes, ""};
  }
  if (name == "trim" && count <= 2) {
    return {CommandId::trim, count == 2 ? bytes_of(words[1]) : 0, ""};
  }
  if (name == "set" && count == 2) return read_setting(words[1]);
  if (name == "stats" && count == 2 && (words[1] == "on" || words[1] == "off")) {
    return {CommandId::count_calls, words[1] == "on" ? 1U : 0U, ""};
  }
  if (name == "profile" && count == 2) {
    constexpr uint64_t usual_bytes = 512 * 1024;
    if (words[1] == "off") return {CommandId::profile, 0, ""};
    return {CommandId::profile, words[1] == "on" ? usual_bytes : bytes_of(words[1]), ""};
  }
  if (name == "reset-peak" && count == 1) return {CommandId::reset_peaks, 0, ""};
  std::string all;
  for (const std::string& word : words) all += " " + word;
  throw Mistake("no command:" + all);
}

std::string mib(uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

// The options that a running process may change.
std::string changeable_options() {
  std::string names;
  for (const core::OptionRow& row : core::option_rows) {
    if (row.reload != core::OptionReload::while_running) continue;
    names += (names.empty() ? "" : ", ") + std::string(row.name.text());
  }
  return names;
}

// What was done, in one line.
std::string tell_done(const Order& order, const Answer& answer) {
  switch (order.id) {
    case CommandId::release:
    case CommandId::trim:
      return fmt::format("{} went back to the kernel", mib(answer.value));
    case CommandId::set_option:
      return fmt::format("{} = {}, was {}", order.text.c_str(), answer.text_after,
                         answer.text.empty() ? "unset" : answer.text);
    case CommandId::count_calls:
      return order.number != 0 ? "counts its calls from here on; `talus stats` shows them as calls"
                               : "counts its calls no longer";
    case CommandId::profile:
      if (order.number == 0) return "takes no samples of its blocks any more";
      return fmt::format("takes a sample each {} KiB of allocations; `talus profile` shows them",
                         answer.value / 1024);
    default:
      return "peaks are those of the time from here on";
  }
}

// Why a setting was refused. The command's own table of options knows the words for it.
std::string tell_setting(const Order& order, CommandResult result) {
  const std::string name = order.text.c_str();
  const std::string value = order.text.c_str() + name.size() + 1;
  const Setting known = parse_setting(name + "=" + value);
  if (result == CommandResult::at_start) {
    return fmt::format("{} is read when a process starts; the options that may change later are {}",
                       name, changeable_options());
  }
  constexpr std::string_view front = "talus: ";
  const bool has_front = known.error.substr(0, front.size()) == front;
  if (!known.error.empty()) return known.error.substr(has_front ? front.size() : 0);
  if (result == CommandResult::no_option) return fmt::format("its Talus has no option {}", name);
  return fmt::format("its Talus does not take {}={}", name, value);
}

// The exit code, and why the process did not do it.
std::pair<int, std::string> tell_refusal(const Order& order, CommandResult result) {
  switch (result) {
    case CommandResult::refused:
      return {exit_refused, "it takes no commands: it was started with TALUS_OBSERVERS=none"};
    case CommandResult::unknown:
      return {exit_no, "its version of Talus does not know this command"};
    case CommandResult::damaged:
      return {exit_refused, "another command was written at the same time; try again"};
    case CommandResult::no_room:
      return {exit_refused, "it has as many modes on as it can have, or no memory for it"};
    default:
      return {exit_usage, tell_setting(order, result)};
  }
}

// Why no thread took the command; it changed nothing.
std::string tell_silence(int pid, double wait_s) {
  const std::string tracer = status_of(pid, "TracerPid");
  if (!tracer.empty() && tracer != "0") {
    return fmt::format(
        "no thread took the command within {} s: the process is traced by process "
        "{}, so its background thread cannot be woken",
        wait_s, name_of(tracer));
  }
  return fmt::format(
      "no thread took the command within {} s: it has no background thread now, and "
      "no thread of it asked for memory; --wait=SECONDS waits longer",
      wait_s);
}

// A process that cannot take a command now. Empty: it can.
std::string why_not_now(int pid) {
  const std::string state = status_of(pid, "State").substr(0, 1);
  const std::string tracer = status_of(pid, "TracerPid");
  if (state == "t" && tracer != "0") {
    return fmt::format("it is stopped by process {}, which traces it", name_of(tracer));
  }
  if (state == "T" || state == "t") {
    return fmt::format("it is stopped (SIGSTOP), and does nothing until `kill -CONT {}`", pid);
  }
  if (status_of(pid, "Seccomp") == "1") {
    return "it is in strict seccomp mode, where the kernel ends it for any call that a command "
           "needs";
  }
  return "";
}

int command_copy(int pid, const TalusCopy& copy, const Order& order, double wait_s) {
  const std::string process = fmt::format("process {}", pid);
  Answer answer;
  try {
    answer = send_order(pid, copy, order, wait_s);
  } catch (const NotUnderstood&) {
    complain(fmt::format("{}: its version of Talus ({}) is older and takes no commands", process,
                         copy.version.empty() ? copy.object : copy.version));
    return exit_no;
  } catch (const Lost& lost) {
    complain(fmt::format("{}: {}", process, lost.what()));
    return exit_usage;
  } catch (const Implausible& error) {
    complain(fmt::format("{}: {}", process, error.what()));
    return exit_damaged;
  }
  switch (answer.delivery) {
    case Delivery::occupied:
      complain(fmt::format("{}: another command is under way there; try again", process));
      return exit_refused;
    case Delivery::not_taken:
      complain(fmt::format("{}: {}", process, tell_silence(pid, wait_s)));
      return exit_refused;
    case Delivery::unfinished:
      complain(fmt::format("{}: it took the command and is still at work on it", process));
      return exit_refused;
    case Delivery::answered:
      break;
  }
  if (answer.result != CommandResult::done) {
    const auto [code, why] = tell_refusal(order, answer.result);
    complain(fmt::format("{}: {}", process, why));
    return code;
  }
  fmt::print("{}: {}\n", process, printable(tell_done(order, answer)));
  return exit_yes;
}

int control(const Wanted& wanted) {
  const int pid = process_of_word(wanted.process);
  if (pid == 0) {
    complain(fmt::format("ctl: {} is not a process id", wanted.process));
    return exit_usage;
  }
  Order order;
  try {
    order = read_order(wanted.words);
  } catch (const Mistake& mistake) {
    complain(fmt::format("ctl: {}; see talus ctl --help", mistake.what()));
    return exit_usage;
  }
  const ProcessMemory memory(pid);
  const Reached reached = reach_process(pid, memory);
  if (reached.result != ObserveResult::good) {
    complain(reached.message);
    return exit_code_of(reached.result);
  }
  if (const std::string why = why_not_now(pid); !why.empty()) {
    complain(fmt::format("process {}: {}", pid, why));
    return exit_refused;
  }
  if (const int other = shares_memory_with(pid, memory.thread()); other != 0) {
    complain(
        fmt::format("note: process {} shares its memory with process {} (vfork): the heap is "
                    "that one's",
                    pid, other));
  }
  int code = exit_yes;
  for (const TalusCopy& copy : reached.found.copies) {
    const int result = command_copy(pid, copy, order, wanted.wait_s);
    if (code == exit_yes) code = result;
  }
  return code;
}

}  // namespace

Subcommand add_ctl(CLI::App& app) {
  const auto wanted = std::make_shared<Wanted>();
  CLI::App* const ctl = app.add_subcommand("ctl",
                                           "Let a running process release memory, or change "
                                           "an option of it");
  // Lines of the page. clang-format off
  ctl->footer(
      "talus ctl [--wait=SECONDS] PID release [BYTES] | trim [BYTES] | set KEY=VALUE\n"
      "talus ctl [--wait=SECONDS] PID stats on|off | profile on|off|BYTES | reset-peak\n\n"
      "release     purges all free memory, or at least BYTES: the kernel gets the pages\n"
      "trim        the same, and keeps up to BYTES of it for reuse\n"
      "set         changes an option: " +
      changeable_options() +
      "\n"
      "stats       counts all calls from here on, which `talus stats` then shows, or no longer\n"
      "profile     samples blocks from here on, for `talus profile`, or no longer; BYTES is the "
      "mean\n"
      "            between samples, 512 KiB if it is not said; the first one stays\n"
      "reset-peak  peaks are those of the time from here on\n\n"
      "The process executes the command itself, on its background thread if it has one. It gets\n"
      "no signal. Exit status: 0 if it was done, 1 if there is no Talus in the process or an "
      "older\n"
      "one, 2 for wrong use or no such process, 3 if the kernel or the process refuses, or if no\n"
      "thread took the command in time; then nothing has changed.");
  // clang-format on
  ctl->add_option("process", wanted->process, "a running process")->type_name("PID")->required();
  ctl->add_option("words", wanted->words, "what it is to do")
      ->type_name("COMMAND")
      ->required()
      ->expected(1, 2);
  ctl->add_option("--wait", wanted->wait_s, "wait that long for a thread that takes the command")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("SECONDS")
      ->capture_default_str();
  return {ctl, [wanted] { return control(*wanted); }};
}

}  // namespace talus::tool
