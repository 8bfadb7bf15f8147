// SPDX-License-Identifier: MIT
// model/idle-cache reclaim: the shipped src/cache/idle_caches.hpp and take_back.hpp under every
// schedule.
//
// A thread pops, pushes, refills, flushes and leaves by the shipped fast and slow paths, while
// others ask for it, wait and take back what it holds. The checks are in idle_caches_world.hpp, the
// floors below in idle_caches_floors.hpp and idle_caches_heap.hpp. Here are the scenarios and how
// far each is searched. Each must be about something: in some schedules blocks are taken back, and
// the owner finds that when it comes back.
#include "idle_caches_world.hpp"
#include "verdict.hpp"

namespace {

using namespace model::idle_caches;

constexpr Action pops = Action::pops, pushes = Action::pushes, leaves = Action::leaves;
constexpr Action pops_large = Action::pops_large, pushes_large = Action::pushes_large;
constexpr Action trims = Action::trims, decay_passes = Action::decay_passes, rests = Action::rests;

World pops_once({2, 2, 0, {{pops}, {trims}}});
World only_pops({2, 4, 0, {{pops, pops, pops}, {trims}}});
World only_pushes({2, 2, 2, {{pushes, pushes}, {trims}}});
World pops_and_pushes({2, 3, 1, {{pops, pushes, pushes, pops}, {trims}}});
World refills({2, 1, 0, {{pops, pops, pushes, pops}, {trims}}});
World flushes({2, 4, 1, {{pushes}, {trims}}});
World flushes_and_goes_on({2, 4, 2, {{pushes, pushes, pops}, {trims}}});
// The list runs empty as if it had been full before, and goes on in its wide place.
World grows({2, 0, 0, {{pops, pushes, pops, pops}, {trims}}, 0, true});
World grows_and_leaves({2, 0, 0, {{pops, pushes, leaves}, {trims}}, 0, true});
World large_blocks({2, 0, 0, {{pops_large, pushes_large, pops_large}, {trims}}, 2});
World taken_back_twice({2, 4, 0, {{pops, pops, pops}, {trims, trims}}});
World leaves_for_ever({2, 3, 1, {{pops, leaves}, {trims, trims}}});
World swept({2, 4, 0, {{pops, pops}, {decay_passes, rests, decay_passes}}});
// No time passes: what orders is the barrier.
World swept_with_barrier({2, 4, 0, {{pops, pops}, {decay_passes, decay_passes}}, 0, false, true});
World swept_at_once(
    {2, 4, 0, {{pops, pops}, {decay_passes, decay_passes}}});  // and without one: nothing goes
World pushes_with_barrier(
    {2, 2, 2, {{pushes, pops}, {decay_passes, decay_passes}}, 0, false, true});
// The barrier comes between, but not after what the other asked.
World trimmed_beside_barrier(
    {3, 4, 0, {{pops, pops}, {trims}, {decay_passes, decay_passes}}, 0, false, true});
// Each of the two waits, but not for what the other asked.
World trimmed_and_swept({3, 4, 0, {{pops, pops}, {trims}, {decay_passes}}});
World trimmed_by_two({3, 4, 0, {{pops, pops, pops}, {trims}, {trims}}});

struct Expected {
  const char* name;
  const World& world;
};
const Expected expected[] = {
    {"pops", only_pops},
    {"pops and pushes", pops_and_pushes},
    {"refills", refills},
    {"large blocks", large_blocks},
    {"leaves", leaves_for_ever},
    {"taken back twice", taken_back_twice},
    {"swept", swept},
    {"grows", grows},
    {"swept with a barrier", swept_with_barrier},
};

// False: nothing of what a scenario is for came to pass.
bool has_come_to_pass(const Expected& one) {
  printf("%-34s taken back in %" PRIu64 " schedules, then missed in %" PRIu64 "\n", one.name,
         one.world.runs_taken_back(), one.world.runs_missed());
  return one.world.runs_taken_back() != 0 && one.world.runs_missed() != 0;
}

}  // namespace

int main(int argc, char** argv) {
  const model::Case cases[] = {
      {"pops", &only_pops, {2, 3, 0}},
      {"pushes", &only_pushes, {2, 3, 0}},
      {"pops and pushes", &pops_and_pushes, {2, 3, 0}},
      {"refills", &refills, {2, 3, 0}},
      {"flushes", &flushes, {2, 3, 0}},
      {"grows", &grows, {2, 3, 0}},
      {"grows and leaves", &grows_and_leaves, {2, 3, 0}},
      {"flushes and goes on", &flushes_and_goes_on, {2, 3, 0}},
      {"large blocks", &large_blocks, {2, 3, 0}},
      {"taken back twice", &taken_back_twice, {2, 3, 0}},
      {"leaves", &leaves_for_ever, {2, 3, 0}},
      {"swept", &swept, {2, 3, 0}},
      {"swept with a barrier", &swept_with_barrier, {2, 3, 0}},
      {"pushes with a barrier", &pushes_with_barrier, {2, 3, 0}},
      {"swept at once", &swept_at_once, {2, 3, 0}},
      {"trimmed beside a barrier", &trimmed_beside_barrier, {1, 2, 0}},
      {"trimmed and swept", &trimmed_and_swept, {1, 2, 0}},
      {"trimmed by two", &trimmed_by_two, {1, 2, 0}},
      {"one pop", &pops_once, {4, 2, 0}},
      {"pops, more switches", &only_pops, {3, 1, 0}},
      {"refills, more switches", &refills, {3, 1, 0}},
      {"flushes, more switches", &flushes, {3, 1, 0}},
  };
  const int status = model::verdict(cases, argc, argv);
  if (status != 0 || argc != 1) return status;
  bool are_about_something = true;
  for (const Expected& one : expected) are_about_something &= has_come_to_pass(one);
  are_about_something &= grows.runs_grown() != 0;
  return are_about_something ? 0 : 1;
}
