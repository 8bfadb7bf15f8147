// SPDX-License-Identifier: MIT
// threads/commands: what the process does when another one asks (settings/commands.hpp).
//
// Owns: the work of each command. Invariants: it does what the program could do by a call of
// talus.h, and no more. It calls nothing of libc and uses no thread-local variable, because the
// background thread runs it. Called on: that thread, or one that ends a slow path; without locks.
// Must not know: how a command came here.
#ifndef TALUS_THREADS_COMMANDS_HPP
#define TALUS_THREADS_COMMANDS_HPP

#include "base/base.hpp"
#include "settings/commands.hpp"
#include "settings/options.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/allocated.hpp"
#include "heap/instance.hpp"
#include "regions/region_words.hpp"
#include "reclaim/purge_now.hpp"
#include "reclaim/sources.hpp"
#include "inspect/totals.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/options_text.hpp"
#include "modes/allocated.hpp"
#include "modes/chain.hpp"
#include "modes/counting.hpp"
#include "modes/profile.hpp"
#include "modes/sample_distances.hpp"
#include "configuration/change_option.hpp"
#include "configuration/option_target.hpp"
#include "threads/mailbox.hpp"

namespace talus::core {

// From here on peaks are those of the time after this.
TALUS_APART void reset_peaks() noexcept {
  {
    Held held{space.lock()};
    space.ledger(held).reset_peaks();
  }
  counting::reset_peak();
  for_each_instance_slot([](InstanceSlot& slot) noexcept {
    Held held{slot.lock};
    slot.heap->peak_bytes = slot.heap->footprint_bytes();
    if (slot.region != nullptr) slot.region->peak_bytes = slot.region->committed_bytes;
  });
}

// Counts all calls from here on. Blocks that live now count as live.
TALUS_APART CommandResult start_counting_now() noexcept {
  if (is_on(counting::mode)) return CommandResult::done;
  if (!allocated::ask(AllocatedAskers::command) || !switch_on(counting::mode)) {
    allocated::end_asking(AllocatedAskers::command);
    return CommandResult::no_room;
  }
  HeapTotals totals;
  collect_totals(totals);
  counting::start_from(totals.live());
  counting::shared.shared_is_on.store_release(1);
  return CommandResult::done;
}

// The text is the name, a zero and the value. Answers the value before, a zero and the new value.
TALUS_APART CommandResult change_by_command(const Command& command, char* answer) noexcept {
  char text[command_text_bytes + 1];
  for (size_t i = 0; i < command_text_bytes; i++) text[i] = command.text[i];
  text[command_text_bytes] = '\0';
  const size_t length = option_length(text);
  const char* const value = length < command_text_bytes ? text + length + 1 : text + length;
  const OptionRow* row = find_option(text, length);
  char before[answer_text_bytes / 2] = {};
  OptionLine old{before, sizeof before};
  if (row != nullptr && row->reload == OptionReload::while_running) {
    Held held{space.lock()};
    add_option_value(old, options, *row);
  }
  const CommandResult result = change_option(row, value);
  if (result != CommandResult::done) return result;
  OptionLine line{answer, answer_text_bytes / 2};
  line.add(before);
  OptionLine now{answer + line.length() + 1, answer_text_bytes / 2};
  Held held{space.lock()};
  add_option_value(now, options, *row);
  return result;
}

TALUS_APART CommandResult profile_by_command(uint64_t mean_bytes) noexcept {
  if (mean_bytes > mean_bytes_max) return CommandResult::out_of_range;
  if (mean_bytes == 0) {
    profile::stop();
  } else if (!profile::start(mean_bytes)) {
    return CommandResult::no_room;
  }
  return CommandResult::done;
}

TALUS_APART CommandResult obey(const Command& command, char* answer) noexcept {
  switch (command.id) {
    case CommandId::set_option:
      return change_by_command(command, answer);
    case CommandId::count_calls:
      if (command.number != 0) return start_counting_now();
      counting::shared.shared_is_on.store_release(0);
      switch_off(counting::mode);
      allocated::end_asking(AllocatedAskers::command);
      return CommandResult::done;
    case CommandId::reset_peaks:
      reset_peaks();
      return CommandResult::done;
    case CommandId::profile:
      return profile_by_command(command.number);
    default:
      return CommandResult::unknown;
  }
}

// Bytes purged by this call, for release and trim.
template <void (*Purge)(size_t keep_bytes) noexcept>
TALUS_APART size_t purge_by_command(const Command& command) noexcept {
  const PurgeReason reason{space.purge_causes(), PurgeCause::command};
  const size_t before = purged_bytes_so_far();
  const bool is_part = command.id == CommandId::release && command.number != 0;
  if (is_part) {
    Held held{space.lock()};
    const size_t dirty = space.dirty_bytes();
    space.purge_beyond(held, dirty > command.number ? dirty - command.number : 0);
    const size_t purged = space.counters().purged_bytes - before;
    if (purged >= command.number) return purged;
  }
  Purge(is_part ? 0 : command.number);
  return purged_bytes_so_far() - before;
}

// Takes the command, if there is one, and executes it. Purge is for the thread that this is:
// purge_on_command, or purge_on_request where it may have a cache.
template <void (*Purge)(size_t keep_bytes) noexcept>
TALUS_APART void answer_mailbox(Mailbox& mailbox) noexcept {
  Command command;
  if (!mailbox.take(command)) return;
  mailbox.value = 0;
  mailbox.answer[0] = mailbox.answer[1] = '\0';
  if (!mailbox.is_whole(command)) return mailbox.tell(command, CommandResult::damaged);
  if (options.observers == Observers::none) {
    return mailbox.tell(command, CommandResult::refused);
  }
  if (command.id == CommandId::release || command.id == CommandId::trim) {
    mailbox.value = purge_by_command<Purge>(command);
    return mailbox.tell(command, CommandResult::done);
  }
  const CommandResult result = obey(command, mailbox.answer);
  if (command.id == CommandId::profile) mailbox.value = profile::profile.mean_bytes;
  mailbox.tell(command, result);
}

}  // namespace talus::core

#endif  // TALUS_THREADS_COMMANDS_HPP
