// SPDX-License-Identifier: MIT
//
// Owns: see words.hpp.
// Invariant: see words.hpp.
// Must not know: see words.hpp.

#include "explain/words.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "profile/debug_lines.hpp"
#include "profile/own_frames.hpp"
#include "profile/samples.hpp"

namespace talus::tool {
namespace {

std::string count_of(uint64_t count) {
  return fmt::format("{} byte{}", count, count == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> Words::places(uint64_t return_address) {
  const CodeArea* const area = names_.area_of(return_address - 1);
  std::string where;
  if (area != nullptr) {
    const std::string file = std::filesystem::path(area->mapping.path).filename().string();
    where = fmt::format("{}+{:#x}", file, return_address - 1 - area->bias);
  }
  const std::vector<CodeLine> lines = lines_of_frame(return_address, names_);
  std::vector<std::string> found;
  for (size_t i = 0; i < lines.size(); i++) {
    const CodeLine& line = lines[i];
    std::string facts = i + 1 < lines.size() ? "inlined" : where;
    if (!line.file.empty()) {
      const std::string file = std::filesystem::path(line.file).filename().string();
      facts += fmt::format("{}{}:{}", facts.empty() ? "" : ", ", file, line.line);
    }
    const bool has_facts = !facts.empty() && line.function != where;
    found.push_back(printable(line.function + (has_facts ? fmt::format(" ({})", facts) : "")));
  }
  return found;
}

std::string Words::moment(uint64_t at_ns) const {
  std::string text;
  if (times_.started_ns != 0 && at_ns >= times_.started_ns) {
    text = fmt::format("{:.6f} s after the start",
                       static_cast<double>(at_ns - times_.started_ns) / 1e9);
  }
  if (times_.now_ns && *times_.now_ns >= at_ns) {
    text += fmt::format("{}{:.3f} s ago", text.empty() ? "" : ", ",
                        static_cast<double>(*times_.now_ns - at_ns) / 1e9);
  }
  return text.empty() ? "at an unknown time" : text;
}

std::string Words::trace(const std::string& what, const GuardedTrace& trace) {
  std::string text = fmt::format("{} by thread {}, {}:\n", what, trace.thread, moment(trace.at_ns));
  std::vector<Place> stacks(1);
  stacks[0].frames = trace.frames;
  drop_own_frames(stacks, object_, names_);
  for (const uint64_t frame : stacks[0].frames) {
    for (const std::string& line : places(frame)) text += fmt::format("    {}\n", line);
  }
  if (stacks[0].frames.empty()) text += "    (no frame)\n";
  return text;
}

std::string Words::access(uint64_t address, const GuardedBlock& block) {
  const bool is_freed = block.state == GuardedState::freed;
  const std::string name = fmt::format("the {} block of {} at {:#x}", is_freed ? "freed" : "live",
                                       count_of(block.bytes), block.start);
  if (address < block.start) {
    return fmt::format("The address is {} before {}: {}.\n", count_of(block.start - address), name,
                       is_freed ? "a use after free, beyond the block" : "an underrun");
  }
  if (address >= block.end()) {
    return fmt::format("The address is {} behind the last byte of {}: {}.\n",
                       count_of(address - block.end() + 1), name,
                       is_freed ? "a use after free, beyond the block" : "an overrun");
  }
  return fmt::format("The address is {} into {}{}.\n", count_of(address - block.start), name,
                     is_freed ? ": a use after free" : ", which the program may use");
}

std::string Words::event(const GuardedEvent& event, const GuardedBlock* block) {
  std::string text;
  switch (event.kind) {
    case GuardedEventKind::none:
      return "";
    case GuardedEventKind::fault:
      text = fmt::format("A thread had no access to the address {:#x}.\n", event.address);
      break;
    case GuardedEventKind::double_free:
      text = fmt::format("The block at {:#x} was freed twice.\n", event.address);
      break;
    case GuardedEventKind::invalid_free:
      text = fmt::format("A call got {:#x}, which is the start of no live block.\n", event.address);
      break;
    case GuardedEventKind::freed_use:
      text = fmt::format("A call got the block at {:#x}, which was freed before.\n", event.address);
      break;
    case GuardedEventKind::damage:
      text =
          fmt::format("The byte at {:#x} was written, and belongs to no block. A free found it.\n",
                      event.address);
      break;
  }
  const bool is_address_of_access =
      event.kind != GuardedEventKind::double_free && event.kind != GuardedEventKind::freed_use;
  if (block != nullptr && is_address_of_access) {
    GuardedBlock then = *block;  // the free that found the damage ended the block
    if (event.kind == GuardedEventKind::damage) then.state = GuardedState::live;
    text += access(event.address, then);
  }
  return text + trace("Noticed", event.trace);
}

std::string Words::life(const GuardedBlock& block) {
  std::string text = trace("Allocated", block.made);
  if (block.state == GuardedState::freed) text += trace("Freed", block.freed);
  return text;
}

}  // namespace talus::tool
