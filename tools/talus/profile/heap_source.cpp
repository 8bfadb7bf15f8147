// SPDX-License-Identifier: MIT
//
// Owns: see heap_source.hpp.
// Invariant: see heap_source.hpp.
// Must not know: see heap_source.hpp.

#include "profile/heap_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <utility>

#include "command.hpp"
#include "control/mailbox.hpp"
#include "file_text.hpp"
#include "observe/core_file.hpp"
#include "observe/layout.hpp"
#include "observe/reach.hpp"
#include "proc_text.hpp"
#include "profile/code_names.hpp"
#include "profile/own_frames.hpp"
#include "profile/pins.hpp"
#include "profile/pprof.hpp"

namespace talus::tool {
namespace {

// Live bytes by age, in few steps.
std::vector<std::pair<double, double>> ages_of(const Samples& samples, uint64_t now) {
  constexpr size_t steps = 60;
  uint64_t first = ~uint64_t{0};
  for (const LiveSample& sample : samples.live) first = std::min(first, sample.made_ns);
  std::vector<double> sums(steps + 1);
  const double span = now > first ? static_cast<double>(now - first) : 1;
  for (const LiveSample& sample : samples.live) {
    const double weight = weight_of(samples, samples.sites[sample.site]);
    const double share = static_cast<double>(now - sample.made_ns) / span;
    sums[static_cast<size_t>(share * steps)] += weight * static_cast<double>(sample.bytes);
  }
  std::vector<std::pair<double, double>> ages;
  for (size_t i = 0; i <= steps; i++) {
    const double age_s = static_cast<double>(i) / steps * span / 1e9;
    if (sums[i] > 0) ages.emplace_back(age_s, sums[i]);
  }
  return ages;
}

// "thread 12 worker", for each that allocated what lives.
std::map<uint32_t, std::string> thread_names(const Samples& samples, const Target& target) {
  std::map<uint32_t, std::string> names;
  for (const LiveSample& sample : samples.live) {
    const auto [place, is_new] = names.try_emplace(sample.thread);
    if (!is_new) continue;
    const std::string task = fmt::format("{}/task/{}", target.pid, sample.thread);
    const std::string name = target.is_process ? process_name(task) : "";
    const bool has_ended = target.is_process && name.empty();
    place->second = fmt::format("thread {}{}{}", sample.thread, name.empty() ? "" : " ",
                                has_ended ? " (ended)" : name);
  }
  return names;
}

}  // namespace

uint64_t monotonic_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

std::unique_ptr<HeapSource> HeapSource::reach(const Target& target, const DebugFiles& debug,
                                              std::string& why, int& code) {
  std::unique_ptr<HeapSource> source(new HeapSource());
  source->target_ = target;
  source->debug_ = debug;
  if (target.is_process) {
    auto memory = std::make_unique<ProcessMemory>(target.pid);
    Reached reached = reach_process(target.pid, *memory);
    if (reached.result != ObserveResult::good) {
      why = reached.message;
      code = exit_code_of(reached.result);
      return nullptr;
    }
    source->title_ = fmt::format("process {}", target.pid);
    source->copy_ = std::move(reached.found.copies.front());
    source->mappings_ = std::move(reached.mappings);
    source->memory_ = std::move(memory);
    return source;
  }
  auto memory = std::make_unique<CoreFile>(target.path);
  FoundCopies found = find_copies(*memory, memory->mappings());
  if (found.copies.empty()) {
    why = fmt::format("{}: no Talus in it", target.path);
    code = exit_no;
    return nullptr;
  }
  source->title_ = target.path;
  source->copy_ = std::move(found.copies.front());
  source->mappings_ = memory->mappings();
  source->memory_ = std::move(memory);
  return source;
}

// Libraries may have been opened since the first look.
std::vector<Mapping> HeapSource::mappings() const {
  if (!target_.is_process) return mappings_;
  const std::optional<std::string> maps = text_of_file(memory_folder(target_.pid) + "/maps");
  return maps && !maps->empty() ? read_mappings(*maps) : mappings_;
}

// A core file has no clock: its youngest block is new.
uint64_t HeapSource::now_ns(const Samples& samples) const {
  uint64_t now = target_.is_process ? monotonic_ns() : samples.peak_ns;
  for (const LiveSample& sample : samples.live) now = std::max(now, sample.made_ns);
  return now;
}

NamedProfile HeapSource::named_of(Samples samples, uint64_t span_ns, ProfileView view,
                                  std::string* pprof) const {
  const std::string root = target_.is_process ? memory_folder(target_.pid) + "/root" : "";
  CodeNames names(*memory_, mappings(), {root, debug_});
  const uint64_t now = now_ns(samples);
  add_ages(samples, now);
  if (view == ProfileView::pins && !samples.has_pins) {
    const Observation seen = observe(target_, Detail::pieces);
    if (!seen.numbers.empty()) add_pins(samples, seen.numbers.front().notes.pieces);
  }
  std::vector<Place> places = view == ProfileView::threads
                                  ? estimate_by_thread(samples, thread_names(samples, target_))
                                  : estimate(samples);
  drop_own_frames(places, copy_.object, names);
  const auto at_ns = static_cast<uint64_t>(std::time(nullptr)) * 1000000000;
  if (pprof != nullptr)
    *pprof = pprof_of(places, samples.mean_bytes, names, {at_ns, span_ns, view});
  NamedProfile profile = named(places, names);
  profile.title = title_;
  profile.mean_bytes = samples.mean_bytes;
  profile.has_pins = samples.has_pins;
  profile.at_ns = at_ns;
  profile.span_ns = span_ns;
  profile.ages = ages_of(samples, now);
  return profile;
}

CountsBySize HeapSource::counts(const Samples& samples) const {
  const Observation seen = observe(target_, Detail::numbers);
  return seen.numbers.empty() ? CountsBySize{} : counts_by_size(seen.numbers.front(), samples);
}

// A small block that was sampled may lie on pages of its own: in older versions, and between guard
// pages. It begins a slice then. One in 128 of those that share slices does, too.
std::optional<uint64_t> HeapSource::live_bytes(const Samples& samples) const {
  Observation seen = observe(target_, Detail::numbers);
  if (seen.numbers.empty()) return {};
  uint64_t more = 0;
  for (const LiveSample& sample : samples.live) {
    const uint64_t block_bytes = samples.sites[sample.site].block_bytes;
    const uint64_t pages = core::round_up(sample.bytes, sampled_page_bytes);
    const bool may_be_alone =
        sample.address % core::slice_bytes == 0 && block_bytes <= core::medium_bytes_max;
    if (may_be_alone && pages > block_bytes) more += pages - block_bytes;
  }
  const std::optional<uint64_t> live = seen.numbers.front()[core::StatisticId::heap_live_bytes];
  if (!live) return {};
  return *live - std::min(*live, more);
}

}  // namespace talus::tool
