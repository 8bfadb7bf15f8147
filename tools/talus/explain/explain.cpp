// SPDX-License-Identifier: MIT
//
// Owns: `talus explain`: its words, and which address it is about.
// Invariant: only reads. Exit status 0 only where a guarded block was found.
// Must not know: how records are read.

#include <fmt/format.h>
#include <signal.h>

#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "command.hpp"
#include "explain/guarded_record.hpp"
#include "explain/other_address.hpp"
#include "explain/words.hpp"
#include "observe/core_file.hpp"
#include "observe/target.hpp"
#include "profile/code_names.hpp"
#include "profile/with_complaints.hpp"
#include "subcommand.hpp"

namespace talus::tool {
namespace {

struct ExplainRequest {
  std::string process;  // its id, or the path of its core file
  std::string address;  // empty: that of the fault
};

std::string name_of_signal(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

// Nothing: the word is no address.
std::optional<uint64_t> address_in(const std::string& word) {
  char* end = nullptr;
  errno = 0;
  const uint64_t address = std::strtoull(word.c_str(), &end, 16);
  const bool is_whole = end != word.c_str() && *end == '\0' && errno == 0 && word[0] != '-';
  return is_whole ? std::optional(address) : std::nullopt;
}

void print_signal(const CoreSignal& at, Words& words) {
  std::string text = at.thread ? fmt::format("Thread {} got ", *at.thread) : "A thread got ";
  text += name_of_signal(at.number);
  if (at.address != 0) text += fmt::format(" at the address {:#x}", at.address);
  if (at.code_address) text += fmt::format(", in {}", words.places(*at.code_address + 1).front());
  fmt::print("{}.\n", text);
}

class Explanation {
 public:
  Explanation(const Memory& memory, const TalusCopy& copy, const std::vector<Mapping>& mappings,
              CodeFiles files, std::optional<uint64_t> now_ns)
      : memory_(memory),
        copy_(copy),
        record_(read_guarded(memory, copy)),
        names_(memory, mappings, std::move(files)),
        words_(names_, copy.object, {started_ns_of(memory, copy), now_ns}) {}

  Words& words() { return words_; }

  // False: it is no guarded block's.
  bool explain_address(uint64_t address) {
    const GuardedBlock* const block = record_.has(address) ? record_.near(address) : nullptr;
    if (block != nullptr) {
      fmt::print("{}{}", words_.access(address, *block), words_.life(*block));
      return true;
    }
    if (record_.has(address)) {
      fmt::print("The address lies between guarded blocks, and no block was near it yet.\n");
    } else {
      fmt::print("{}\n", describe_address(memory_, copy_, address));
    }
    return false;
  }
  // What the process noted itself. False: nothing.
  bool explain_event() {
    const GuardedEvent& event = record_.event;
    if (event.kind == GuardedEventKind::none) return false;
    const GuardedBlock* const block = record_.near(event.address);
    fmt::print("{}", words_.event(event, block));
    if (block != nullptr) fmt::print("{}", words_.life(*block));
    return true;
  }
  void print_state() {
    if (record_.mean_bytes == 0) {
      fmt::print("No block is guarded: the process started without TALUS_GUARD.\n");
      return;
    }
    fmt::print("Guarded blocks: {} live, {} freed and still known; one in {} bytes.\n",
               record_.count(GuardedState::live), record_.count(GuardedState::freed),
               record_.mean_bytes);
  }

 private:
  const Memory& memory_;
  const TalusCopy& copy_;
  GuardedRecord record_;
  CodeNames names_;
  Words words_;
};

// Nothing more is known; what there is was told.
int tell_nothing(Explanation& explanation, const std::string& why) {
  fmt::print("{}\n", why);
  explanation.print_state();
  return exit_no;
}

int explain_process(int pid, const ExplainRequest& request, std::optional<uint64_t> address) {
  const ProcessMemory memory(pid);
  const Reached reached = reach_process(pid, memory);
  if (reached.result != ObserveResult::good) {
    complain(reached.message);
    return exit_code_of(reached.result);
  }
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto now_ns =
      static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
  Explanation explanation(memory, reached.found.copies.front(), reached.mappings,
                          {memory.folder() + "/root", DebugFiles{}}, now_ns);
  if (address) {
    if (explanation.explain_address(*address)) return exit_yes;
    explanation.print_state();
    return exit_no;
  }
  if (explanation.explain_event()) return exit_yes;
  return tell_nothing(
      explanation, fmt::format("Process {} noted no mistake. Give the address of a fault, or run "
                               "with TALUS_GUARD_REPORT=1, which notes it.",
                               request.process));
}

int explain_core(const std::string& path, std::optional<uint64_t> address) {
  const CoreFile memory(path);
  const FoundCopies found = find_copies(memory, memory.mappings());
  if (found.copies.empty()) {
    complain(fmt::format("{}: no Talus in it", path));
    return exit_no;
  }
  Explanation explanation(memory, found.copies.front(), memory.mappings(), {"", DebugFiles{}}, {});
  const std::optional<CoreSignal>& at = memory.deadly_signal();
  if (at) print_signal(*at, explanation.words());
  if (address) {
    if (explanation.explain_address(*address)) return exit_yes;
    explanation.print_state();
    return exit_no;
  }
  if (explanation.explain_event()) return exit_yes;
  if (at && (at->number == SIGSEGV || at->number == SIGBUS)) {
    // Without an address the processor did not tell one: it was none that memory can have.
    if (at->code > 0 && at->code != SI_KERNEL) {
      if (explanation.explain_address(at->address)) return exit_yes;
      explanation.print_state();
      return exit_no;
    }
    return tell_nothing(explanation, "The kernel tells no address of the fault.");
  }
  return tell_nothing(explanation, "The core file has no fault, and Talus noted no mistake.");
}

int explain(const ExplainRequest& request) {
  const std::optional<Target> target = read_target("explain", request.process);
  if (!target) return exit_usage;
  std::optional<uint64_t> address;
  if (!request.address.empty()) {
    address = address_in(request.address);
    if (!address) {
      complain(fmt::format("explain: {} is not an address", request.address));
      return exit_usage;
    }
  }
  return with_complaints("explain", request.process, "guarded blocks", [&] {
    return target->is_process ? explain_process(target->pid, request, address)
                              : explain_core(target->path, address);
  });
}

}  // namespace

Subcommand add_explain(CLI::App& app) {
  const auto wanted = std::make_shared<ExplainRequest>();
  CLI::App* const command =
      app.add_subcommand("explain", "Say what happened at the address of a fault");
  command->footer(
      "talus explain PID [ADDRESS]\ntalus explain CORE [ADDRESS]\n\nTells of guarded blocks "
      "(TALUS_GUARD=16MiB): which block it was, who allocated and freed it,\nand when. Without an "
      "address it is that of the core file's fault, or what the process noted\nitself: a double "
      "free, a write beside a block, or a fault with TALUS_GUARD_REPORT=1. Exit\nstatus: as of "
      "`talus stats`, and 1 if no guarded block explains it.");
  command->add_option("process", wanted->process, "a running process, or a core file")
      ->type_name("PID|CORE")
      ->required();
  command->add_option("address", wanted->address, "a hexadecimal address")->type_name("ADDRESS");
  return {command, [wanted] { return explain(*wanted); }};
}

}  // namespace talus::tool
