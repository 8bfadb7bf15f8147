// SPDX-License-Identifier: MIT
//
// Owns: when a look is repeated, and when it is consistent. It is, if no thread was at work in the
// heap and if a second look finds every byte of the first one as it was.
// Invariant: a running process may tear any look, so only what several looks find is damage.
// Must not know: what is read.

#include "observe/observe.hpp"

#include <fmt/format.h>

#include <chrono>

#include "observe/copies.hpp"
#include "observe/core_file.hpp"
#include "observe/heap_numbers.hpp"
#include "observe/process_numbers.hpp"
#include "observe/reach.hpp"
#include "observe/resident_numbers.hpp"

namespace talus::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int looks_max = 40;    // a busy process has few quiet moments
constexpr int programs_max = 4;  // that a process began, one after another, during a look
// Where looks take long, this many suffice if nothing changed during them and they found the same.
constexpr int long_looks = 2;
constexpr std::chrono::seconds long_time{1};

// The damage that looks at one Talus found, one after another.
class Damage {
 public:
  // `is_still`: a second reading found every byte as the look did.
  void note(const char* what, bool is_still) {
    agreeing_ = !is_still ? 0 : what_ == what ? agreeing_ + 1 : 1;
    what_ = what;
    looks_++;
  }
  const std::string& what() const { return what_; }
  // After this number of looks, which took this long. What looks saw that found no damage counts.
  bool is_sure(int looks, Clock::duration time) const {
    if (looks_ < looks) return false;
    return looks >= Patience::looks || (agreeing_ >= long_looks && time >= long_time);
  }

 private:
  std::string what_;
  int looks_ = 0, agreeing_ = 0;
};

// Reads all that a look at one Talus tells.
void read_all(Look& look, const TalusCopy& copy, PagePresence* presence, Detail detail,
              Numbers& numbers) {
  PieceNotes* const notes = detail == Detail::pieces ? &numbers.notes : nullptr;
  begin_look(look, copy.layout);
  const SizeClasses classes = read_classes(look, copy.layout);
  PageMapView page_map(look, copy.layout, presence);
  std::string at_work = read_heap(look, copy.layout, classes, page_map, numbers, notes);
  if (presence != nullptr) {
    set_uptime(started_ns(look, copy.layout), numbers);
    read_resident(look, copy.layout, classes, page_map, *presence, numbers, notes);
  } else if (notes != nullptr) {
    PagePresence all;
    read_resident(look, copy.layout, classes, page_map, all, numbers, notes);
  }
  numbers.is_consistent = at_work.empty() && look.is_unchanged();
  if (numbers.is_consistent) return;
  numbers.why_not = at_work.empty() ? "numbers changed during the look" : at_work;
}

// One look. `numbers` has process.* already. False: it found damage.
bool look_once(const Memory& memory, const TalusCopy& copy, PagePresence* presence, Detail detail,
               Numbers& numbers, Damage& damage) {
  Look look(memory);
  try {
    read_all(look, copy, presence, detail, numbers);
    return true;
  } catch (const Implausible& error) {
    damage.note(error.what(), look.is_unchanged());
    return false;
  }
}

Numbers look_at_copy(const Memory& memory, const TalusCopy& copy, const Numbers& process,
                     PagePresence* presence, Detail detail, Patience patience) {
  Numbers last = process;
  Damage damage;
  const Clock::time_point begin = Clock::now(), end = begin + patience.time;
  int looks_min = patience.looks_min;
  for (int i = 0; i < looks_max && (i < looks_min || Clock::now() < end); i++) {
    Numbers numbers = process;
    numbers.object = copy.object;
    numbers.version = copy.version;
    if (look_once(memory, copy, presence, detail, numbers, damage)) {
      if (numbers.is_consistent) return numbers;
      last = numbers;
    } else {
      looks_min = Patience::looks;
      if (damage.is_sure(i + 1, Clock::now() - begin)) break;
    }
  }
  if (last.version.empty() && !damage.what().empty()) {
    last.object = copy.object;
    last.version = copy.version;
    last.is_damaged = true;
    last.why_not = fmt::format("the heap is damaged: {}", damage.what());
  }
  return last;
}

Observation failure(ObserveResult result, const std::string& message) {
  Observation found;
  found.result = result;
  found.message = message;
  return found;
}

// `name` is what people call the process.
void look_at_all(const Memory& memory, const FoundCopies& found, const Numbers& own,
                 PagePresence* presence, Detail detail, Patience patience, const std::string& name,
                 Observation& observation) {
  for (const TalusCopy& copy : found.copies) {
    try {
      observation.numbers.push_back(look_at_copy(memory, copy, own, presence, detail, patience));
    } catch (const NotUnderstood& problem) {
      observation.note = fmt::format("{}: {}", copy.object, problem.what());
      continue;
    }
    const Numbers& numbers = observation.numbers.back();
    if (!numbers.is_damaged) continue;
    observation.result = ObserveResult::damaged;
    observation.message = fmt::format("{}: {}: {}", name, copy.object, numbers.why_not);
  }
  if (!observation.numbers.empty()) return;
  observation = failure(ObserveResult::not_talus, fmt::format("{}: {}", name, observation.note));
}

Observation look_at_process(int pid, Detail detail, Patience patience) {
  const ProcessMemory memory(pid);
  const Reached reached = reach_process(pid, memory);
  if (reached.result != ObserveResult::good) return failure(reached.result, reached.message);
  const FoundCopies& found = reached.found;
  Observation observation;
  observation.note = found.note;
  if (const int other = shares_memory_with(pid, memory.thread()); other != 0) {
    observation.note = fmt::format(
        "process {} shares its memory with process {} (vfork): the heap is that one's", pid, other);
  }
  Numbers own;
  read_process(pid, memory.folder(), own);
  PagePresence presence(memory.folder());
  look_at_all(memory, found, own, &presence, detail, patience, fmt::format("process {}", pid),
              observation);
  return observation;
}

}  // namespace

Observation observe_process(int pid, Detail detail, Patience patience) {
  for (int i = 1;; i++) {
    try {
      return look_at_process(pid, detail, patience);
    } catch (const Lost& lost) {
      // It may run another program now; otherwise the next try finds nothing to read.
      if (i < programs_max) continue;
      return failure(ObserveResult::no_process, fmt::format("process {}: {}", pid, lost.what()));
    }
  }
}

Observation observe_core(const std::string& path, Detail detail) {
  try {
    const CoreFile memory(path);
    const FoundCopies found = find_copies(memory, memory.mappings());
    if (found.copies.empty()) {
      const std::string reason = found.note.empty() ? "no Talus in it" : found.note;
      return failure(ObserveResult::not_talus, fmt::format("{}: {}", path, reason));
    }
    Observation observation;
    observation.note = found.note;
    Numbers own;
    own[core::StatisticId::process_id] = memory.process_id();
    look_at_all(memory, found, own, nullptr, detail, Patience(), path, observation);
    return observation;
  } catch (const NoCoreFile& error) {
    return failure(ObserveResult::no_process, error.what());
  }
}

}  // namespace talus::tool
