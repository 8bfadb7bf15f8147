// SPDX-License-Identifier: MIT
//
// Owns: the heap profile of another process as its samples, and what they say of all blocks.
// Invariant: only reads. A record that changed between two reads is left out.
// Must not know: names of functions, forms of output.

#ifndef TALUS_TOOLS_TALUS_PROFILE_SAMPLES_HPP
#define TALUS_TOOLS_TALUS_PROFILE_SAMPLES_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "observe/copies.hpp"
#include "observe/memory.hpp"
#include "profile/lives.hpp"
#include "profile/views.hpp"

namespace talus::tool {

using Measures = std::array<double, measure_count>;

// Sampled blocks of one size at one place of the program.
struct SampledSite {
  uint64_t block_bytes = 0;
  std::vector<uint64_t> frames;  // return addresses, the innermost first
  std::string tag;               // for which purpose, as the program said; empty: it did not
  uint64_t allocations = 0, allocated_bytes = 0;
  uint64_t live = 0, live_bytes = 0;
  double pinned_bytes = 0, purgeable_bytes = 0;  // of the sampled blocks; profile/pins.hpp
  uint64_t peak = 0, peak_bytes = 0;             // at the moment with the most live bytes
  LivesAndAges lives;
};

// A sampled block that lives.
struct LiveSample {
  size_t site = 0;  // its place in Samples::sites
  uint64_t address = 0, bytes = 0;
  uint64_t made_ns = 0;  // by the monotonic clock
  uint32_t thread = 0;   // its id
  uint64_t place = 0;    // in a slab, where it would lie without a sample; 0: not known
};

struct Samples {
  bool is_on = false;
  uint64_t mean_bytes = 0;  // between samples; 0: there never was a profile
  uint64_t lost = 0;
  bool has_pins = false;
  uint64_t peak_ns = 0;  // when most bytes lived, by the monotonic clock; 0: not known
  std::vector<SampledSite> sites;
  std::vector<LiveSample> live;
  uint64_t records_begin = 0, records_end = 0;  // where the process keeps them
};

// Throws NotUnderstood if this Talus has no profile, and Implausible.
Samples read_samples(const Memory& memory, const TalusCopy& copy);

// Ages of blocks that live, up to a moment by the monotonic clock.
void add_ages(Samples& samples, uint64_t now_ns);

// Allocations and frees since an earlier moment.
void subtract_allocations(Samples& now, const Samples& before);

// Pages as estimates count them.
constexpr uint64_t sampled_page_bytes = 4096;

// How many blocks each sample of this site stands for.
double weight_of(const Samples& samples, const SampledSite& site);

// Estimates for one place of the program, of all sizes.
struct Place {
  std::vector<uint64_t> frames;
  std::string tag;
  uint64_t block_bytes = 0;
  Measures measures{};
  LivesAndAges lives;
  std::string thread;  // that allocated the blocks; empty: any
};
std::vector<Place> estimate(const Samples& samples);

// What lives, with the name of each thread.
std::vector<Place> estimate_by_thread(const Samples& samples,
                                      const std::map<uint32_t, std::string>& thread_names);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_SAMPLES_HPP
