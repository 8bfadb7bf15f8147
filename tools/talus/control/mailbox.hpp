// SPDX-License-Identifier: MIT
//
// Owns: the other end of the process's mailbox (src/threads/mailbox.hpp): one command, written by
// process_vm_writev, and its answer.
// Invariant: a command is executed once, or not at all and withdrawn. No wait is without an end.
// Must not know: what commands mean.

#ifndef TALUS_TOOLS_TALUS_CONTROL_MAILBOX_HPP
#define TALUS_TOOLS_TALUS_CONTROL_MAILBOX_HPP

#include <cstdint>
#include <stdexcept>
#include <string>

#include "observe/copies.hpp"
#include "settings/commands.hpp"

namespace talus::tool {

struct Order {
  core::CommandId id = core::CommandId::none;
  uint64_t number = 0;
  std::string text;
};

enum class Delivery {
  answered,
  occupied,   // another command is under way
  not_taken,  // no thread took it in time, and it is withdrawn
  unfinished  // a thread took it and was not ready in time
};

struct Answer {
  Delivery delivery = Delivery::answered;
  core::CommandResult result = core::CommandResult::none;
  uint64_t value = 0;
  std::string text, text_after;
};

// Waits `wait_s` seconds at most for a thread that takes the command. Throws NotUnderstood if the
// process's Talus has no mailbox; Lost, also if its memory may not be written; and Implausible.
Answer send_order(int pid, const TalusCopy& copy, const Order& order, double wait_s);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_CONTROL_MAILBOX_HPP
