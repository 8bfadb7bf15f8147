// SPDX-License-Identifier: MIT
// threads/mailbox: the place where another process leaves a command, and takes the answer.
//
// PROTOCOL mailbox     words: shared_request, shared_taken, shared_answered, shared_taker
//   The other process (`talus ctl`) writes by process_vm_writev, which copies bytes and knows no
//   atomic operation. So each word has writers on one side only.
//   request   the number of the command; 0: withdrawn. The other process writes it, after all that
//             makes the command.
//   taken     the last request that a thread of this process took; 0: it found that withdrawn.
//             Only such a thread writes it.
//   answered  the last request whose answer is complete. The thread that took it writes it.
//   taker     1 while a thread of this process takes or executes a command; others pass by.
// invariants  one thread executes a command, once. A command that is withdrawn is executed, or is
//             seen to be taken: the thread stores `taken` and then reads `request` again; the other
//             process stores `request` and then reads `taken`. Two processes that write at once
//             make a command whose check fails.
// edges  E1 the request -> load.acquire   the command is visible; system calls order its writes
//        E2 taker.release -> taker.exchange.acquire   a thread that read an old request is past it
//        The answer goes the same way back: answered.release, and the other process's system call.
// why no ABA: requests are random numbers of 32 bits, and the check covers them.
// progress: no thread waits for the other process.
// tests: tests/stress/mailbox
// fork: the child forgets a command that no thread took yet (helper_fork.hpp).
//
// Owns: the words. A process without a command reads them only where a thread is about to start the
// background thread anyway. Called on: any thread. Must not know: what commands do (commands.hpp).
#ifndef TALUS_THREADS_MAILBOX_HPP
#define TALUS_THREADS_MAILBOX_HPP

#include "base/base.hpp"
#include "settings/commands.hpp"

namespace talus::core {

// One whole command.
struct Command {
  uint32_t request;
  CommandId id;
  uint64_t number;
  char text[command_text_bytes];
};

struct Mailbox {
  // The other process writes these before the request.
  Atomic<uint32_t> shared_command;
  Atomic<uint32_t> shared_check;
  Atomic<uint64_t> shared_number;
  Atomic<uint64_t> shared_text[command_text_bytes / sizeof(uint64_t)];
  Atomic<uint32_t> shared_request;
  // The thread that took the command writes these.
  Atomic<uint32_t> shared_taken;
  Atomic<uint32_t> shared_answered;
  Atomic<uint32_t> shared_taker;
  CommandResult result = CommandResult::none;
  uint64_t value = 0;
  char answer[answer_text_bytes] = {};

  bool has_command() const noexcept {
    const uint32_t request = shared_request.load_acquire();  // [E1]
    return request != 0 && request != shared_taken.load_acquire();
  }
  // In the child of a fork: no thread is about to answer, and the command was not meant.
  void forget() noexcept {
    if (has_command()) shared_taken.store_release(shared_request.load_acquire());
    shared_taker.store_release(0);
  }

  // False: there is none, another thread is at work, or it was withdrawn. True: tell() must follow.
  TALUS_APART bool take(Command& command) noexcept {
    if (shared_taker.exchange_acquire(1) != 0) return false;  // [E2]
    if (take_alone(command)) return true;
    shared_taker.store_release(0);  // [E2]
    return false;
  }
  bool is_whole(const Command& command) const noexcept {
    return shared_check.load_acquire() ==
           command_check(command.id, command.number, command.text, command.request);
  }
  void tell(const Command& command, CommandResult told) noexcept {
    result = told;
    shared_answered.store_release(command.request);
    shared_taker.store_release(0);  // [E2]
  }

 private:
  bool take_alone(Command& command) noexcept {
    command.request = shared_request.load_acquire();  // [E1]
    if (command.request == 0 || command.request == shared_taken.load_own()) return false;
    shared_taken.exchange_acq_rel(command.request);
    if (shared_request.load_acquire() != command.request) {
      // The other process may have left the next command, so no answer must be written here.
      shared_taken.store_release(0);
      return false;
    }
    command.id = CommandId{shared_command.load_acquire()};
    command.number = shared_number.load_acquire();
    for (size_t i = 0; i < sizeof command.text / sizeof(uint64_t); i++) {
      const uint64_t word = shared_text[i].load_acquire();
      __builtin_memcpy(command.text + sizeof word * i, &word, sizeof word);
    }
    return true;
  }
};

}  // namespace talus::core

#endif  // TALUS_THREADS_MAILBOX_HPP
