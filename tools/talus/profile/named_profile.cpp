// SPDX-License-Identifier: MIT
//
// Owns: see named_profile.hpp.
// Invariant: see named_profile.hpp.
// Must not know: see named_profile.hpp.

#include "profile/named_profile.hpp"

#include <map>
#include <tuple>

#include "profile/own_frames.hpp"

namespace talus::tool {
namespace {

// Frames and stacks of several profiles, each once.
class Collection {
 public:
  explicit Collection(NamedProfile& profile) : profile_(profile) {}

  uint32_t frame(const CodeLine& line) {
    const auto key = std::tuple(line.function, line.file, line.line);
    const auto next = static_cast<uint32_t>(profile_.frames.size());
    const auto [place, is_new] = frames_.try_emplace(key, next);
    if (is_new) profile_.frames.push_back(line);
    return place->second;
  }
  // `other` has its frames in this profile.
  void add(const NamedStack& other, double factor) {
    const auto key = std::tuple(other.frames, other.block_bytes, other.tag);
    const auto [place, is_new] = stacks_.try_emplace(key, profile_.stacks.size());
    if (is_new) profile_.stacks.push_back({other.frames, other.block_bytes, other.tag, {}, {}});
    NamedStack& stack = profile_.stacks[place->second];
    for (size_t i = 0; i < measure_count; i++) stack.measures[i] += factor * other.measures[i];
    stack.lives.add(other.lives, factor);
  }
  void add(const NamedProfile& other, double factor) {
    for (const NamedStack& stack : other.stacks) {
      NamedStack known{{}, stack.block_bytes, stack.tag, stack.measures, {}};
      for (const uint32_t place : stack.frames) known.frames.push_back(frame(other.frames[place]));
      add(known, factor);
    }
  }

 private:
  NamedProfile& profile_;
  std::map<std::tuple<std::string, std::string, uint32_t>, uint32_t> frames_;
  std::map<std::tuple<std::vector<uint32_t>, uint64_t, std::string>, size_t> stacks_;
};

}  // namespace

NamedProfile named(const std::vector<Place>& places, CodeNames& names) {
  NamedProfile profile;
  Collection collection(profile);
  for (const Place& place : places) {
    NamedStack stack{{}, place.block_bytes, place.tag, place.measures, place.lives};
    for (const uint64_t address : place.frames) {
      for (const CodeLine& line : lines_of_frame(address, names)) {
        stack.frames.push_back(collection.frame(line));
      }
    }
    if (!place.thread.empty()) {
      CodeLine thread;
      thread.function = place.thread;
      stack.frames.push_back(collection.frame(thread));
    }
    collection.add(stack, 1);
  }
  return profile;
}

NamedProfile difference(const NamedProfile& before, const NamedProfile& after) {
  NamedProfile profile;
  profile.title = before.title + " -> " + after.title;
  profile.mean_bytes = after.mean_bytes;
  profile.at_ns = after.at_ns;
  profile.is_difference = true;
  profile.has_pins = before.has_pins && after.has_pins;
  if (after.at_ns > before.at_ns && before.at_ns != 0) {
    profile.span_ns = after.at_ns - before.at_ns;
  }
  Collection collection(profile);
  collection.add(after, 1);
  collection.add(before, -1);
  return profile;
}

Measures sum_of(const NamedProfile& profile) {
  Measures sums{};
  for (const NamedStack& stack : profile.stacks) {
    for (size_t i = 0; i < measure_count; i++) sums[i] += stack.measures[i];
  }
  return sums;
}

}  // namespace talus::tool
