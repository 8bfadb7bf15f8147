// SPDX-License-Identifier: MIT
// stress/mailbox: commands that are left, withdrawn, taken and answered, all at once.
//
// One thread is the other process: it leaves a command, waits a random time at most, and leaves
// the next one. It writes words as `talus ctl` does (tools/talus/control/mailbox.cpp). The
// others are threads of the process that look for commands. Each command is executed once, or was
// withdrawn and is never executed. An answer is that of its own command.
#include "threads/mailbox.hpp"

#include "stress.hpp"

namespace stress::mailbox {

using namespace stress;
using talus::core::Atomic;
using talus::core::Command;
using talus::core::CommandId;
using talus::core::CommandResult;
using talus::core::Mailbox;

constexpr uint64_t commands_max = 4000000;
constexpr int takers = 3;
Mailbox box;
Atomic<bool> shared_is_over;
Atomic<uint64_t> shared_left;                   // commands
Atomic<uint8_t> shared_executed[commands_max];  // how often each was

void write_text(uint64_t number, char* text) {
  for (size_t i = 0; i < talus::core::command_text_bytes; i++) {
    text[i] = static_cast<char>(number + i);
  }
}

void keep_taking() {
  while (!shared_is_over.load_acquire()) {
    Command command;
    if (!box.take(command)) continue;
    STRESS_CHECK(box.is_whole(command), "command %u", command.request);
    char text[talus::core::command_text_bytes];
    write_text(command.number, text);
    STRESS_CHECK(memcmp(text, command.text, sizeof text) == 0, "command %u", command.request);
    shared_executed[command.number].fetch_add_relaxed(1);
    box.value = 3 * command.number;
    box.tell(command, CommandResult::done);
  }
}

void leave(uint32_t request, uint64_t number) {
  char text[talus::core::command_text_bytes];
  write_text(number, text);
  box.shared_request.store_release(0);
  box.shared_command.store_release(static_cast<uint32_t>(CommandId::trim));
  box.shared_number.store_release(number);
  for (size_t i = 0; i < sizeof text / sizeof(uint64_t); i++) {
    uint64_t word = 0;
    memcpy(&word, text + sizeof word * i, sizeof word);
    box.shared_text[i].store_release(word);
  }
  box.shared_check.store_release(command_check(CommandId::trim, number, text, request));
  box.shared_request.store_release(request);
}

// True: it was executed. False: it was withdrawn before a thread had it.
bool wait_for(uint32_t request, size_t turns_max) {
  bool is_taken = false;
  for (size_t turns = 0; box.shared_answered.load_acquire() != request; turns++) {
    const bool was_taken = is_taken;
    is_taken = box.shared_taken.load_acquire() == request;
    if (was_taken && !is_taken && box.shared_answered.load_acquire() != request) return false;
    STRESS_CHECK(turns < 2000000000, "command %u was lost", request);
    if (is_taken || turns < turns_max) continue;
    box.shared_request.exchange_acq_rel(0);  // system calls order these two
    if (box.shared_taken.load_acquire() != request) return false;
  }
  box.shared_request.store_release(0);
  return true;
}

void keep_asking() {
  Random random{77};
  const Deadline deadline;
  uint64_t executed = 0, number = 0;
  for (; number < commands_max && !deadline.is_over(); number++) {
    const uint32_t request = static_cast<uint32_t>(random.next()) | 1;
    leave(request, number);
    const bool is_done = wait_for(request, random.below(200));
    if (is_done) STRESS_CHECK(box.result == CommandResult::done, "command %u", request);
    if (is_done) STRESS_CHECK(box.value == 3 * number, "the answer of another command");
    // A withdrawn one counts 2: it must not be executed later.
    shared_executed[number].fetch_add_relaxed(is_done ? 0 : 2);
    executed += is_done ? 1 : 0;
  }
  shared_is_over.store_release(true);
  STRESS_CHECK(executed != 0 && executed != number, "nothing was withdrawn, or all");
  shared_left.store_release(number);
}

int run() {
  run_threads(takers + 1, [](int index) { index == 0 ? keep_asking() : keep_taking(); });
  for (uint64_t i = 0; i < shared_left.load_acquire(); i++) {
    const unsigned times = shared_executed[i].load_relaxed();
    STRESS_CHECK(times == 1 || times == 2, "command %u: %u", static_cast<unsigned>(i), times);
  }
  return 0;
}

const Program program{"mailbox", run};

}  // namespace stress::mailbox
