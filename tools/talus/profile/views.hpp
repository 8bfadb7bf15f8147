// SPDX-License-Identifier: MIT
//
// Owns: which views of a profile there are, and their words.
// Invariant: each view has a word, and one measure that comes first.
// Must not know: how a view is shown.

#ifndef TALUS_TOOLS_TALUS_PROFILE_VIEWS_HPP
#define TALUS_TOOLS_TALUS_PROFILE_VIEWS_HPP

#include <cstddef>
#include <map>
#include <string>

namespace talus::tool {

// In the order in which pprof has them.
enum Measure : size_t {
  allocations,
  allocated_bytes,
  live_blocks,
  live_bytes,
  peak_blocks,
  peak_bytes,
  pinned_bytes,     // free bytes that live blocks hold back
  purgeable_bytes,  // that a purge would give without these blocks, at least
  measure_count
};
constexpr size_t usual_measure_count = peak_bytes + 1;  // the others need a look at all pages

struct MeasureWords {
  const char* type;   // in files for pprof
  const char* title;  // for people
  bool is_bytes;
};
constexpr MeasureWords measure_words[measure_count] = {
    {"alloc_objects", "Allocated blocks", false}, {"alloc_space", "Allocated bytes", true},
    {"inuse_objects", "Live blocks", false},      {"inuse_space", "Live bytes", true},
    {"peak_objects", "Peak blocks", false},       {"peak_space", "Peak bytes", true},
    {"pinned_space", "Pinned bytes", true},       {"purgeable_space", "Purgeable bytes", true}};

enum class ProfileView {
  live,       // what is held now
  allocated,  // what was allocated
  peak,       // what was held when most was
  pins,       // which free memory live blocks hold back
  sizes,      // how many blocks of each size, counted and estimated
  lifetimes,  // how long blocks lived
  threads,    // what is held now, by the thread that allocated it
  tags        // what is held and was allocated, by the purpose that the program said
};

// What comes first.
constexpr Measure measure_of(ProfileView view) {
  if (view == ProfileView::allocated || view == ProfileView::lifetimes) return allocated_bytes;
  if (view == ProfileView::pins) return pinned_bytes;
  return view == ProfileView::peak ? peak_bytes : live_bytes;
}

inline const std::map<std::string, ProfileView> view_words = {
    {"live", ProfileView::live},       {"allocated", ProfileView::allocated},
    {"peak", ProfileView::peak},       {"pins", ProfileView::pins},
    {"sizes", ProfileView::sizes},     {"lifetimes", ProfileView::lifetimes},
    {"threads", ProfileView::threads}, {"tags", ProfileView::tags}};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_VIEWS_HPP
