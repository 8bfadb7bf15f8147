// SPDX-License-Identifier: MIT
// model/remote_free: the shipped src/slab/remote_free.hpp under every schedule.
//
// Threads collect blocks of other heaps in messages and deliver them, drainers bring them home and
// reuse the messages, slabs change hands in between, a fork looks at any moment. What is checked
// stands in remote_free_world.hpp; here are the scenarios and how far each is searched.
#include "remote_free_world.hpp"
#include "verdict.hpp"

namespace {

using namespace model::remote_free;

World one_each({2, {1, 1, 1}, {{frees(0), sends()}, {drains(1)}}});
World collects({2, {1, 1, 1}, {{frees(0), frees(1), sends()}, {drains(1), drains(1)}}});
World two_deliverers({3,
                      {2, 2, 2},
                      {{has(0), sends()}, {has(1), sends()}, {drains(2), drains(2)}}});
World three_deliverers({4,
                        {3, 3, 3},
                        {{has(0), sends()}, {has(1), sends()}, {has(2), sends()}, {drains(3)}}});
World two_drainers({3,
                    {1, 1, 1},
                    {{has(0), sends(), frees(1), sends()}, {drains(1)}, {drains(1)}}});
// Each answers the other in the message that it got.
World crosswise({2,
                 {0, 1, 0},
                 {{sent(2), drains(0), frees(3), sends(), drains(0)},
                  {sent(0), drains(1), frees(1), sends(), drains(1)}}});
// Thread 0 pushes to heap 2, where a message lies. Thread 2 takes it and sends it to heap 1 with a
// block of that one, and thread 1 sends it to heap 2 again.
World recycled(
    {3,
     {2, 1, 2},
     {{sent(1), has(0), sends()}, {drains(1), frees(4), sends()}, {drains(2), frees(2), sends()}}});
// Threads 0 and 1 stand before one heap: what one of them drained there the other sends.
World same_heap({3,
                 {1, 0, 1},
                 {{sent(2), drains(0), frees(0), sends()},
                  {sent(3), drains(0), frees(1), sends()},
                  {drains(1)}},
                 {0, 0, 1}});
// The slab goes from heap 0 to heap 1: a block that was sent to heap 0 follows it.
World sent_on(
    {3,
     {0, 0, 1},
     {{drains(0), hands_over(0, 1), drains(0)}, {drains(1)}, {has(0), frees(1), sends()}}});
// It comes back too, so that the message is pushed to heap 0 a second time, while thread 2 pushes.
World sent_there_and_back({3,
                           {0, 0, 0},
                           {{hands_over(0, 1), drains(0), hands_over(0, 0), drains(1), drains(0)},
                            {has(0), sends()},
                            {has(2), sends()}}});
World forked({3, {1, 1, 1}, {{frees(0), frees(1), sends()}, {drains(1)}, {forks()}}});
World forked_beside_moved_blocks({3,
                                  {0, 1, 1},
                                  {{hands_over(0, 1), drains(0)}, {has(0), sends()}, {forks()}}});

}  // namespace

int main(int argc, char** argv) {
  const model::Case cases[] = {
      {"two deliverers", &two_deliverers, {3, 2, 1}},
      {"a fork in between", &forked, {3, 1, 0}},
      {"a fork beside moved_blocks", &forked_beside_moved_blocks, {3, 1, 0}},
      {"recycled through another heap", &recycled, {2, 2, 1}},
      {"collected in the run", &collects, {5, 1, 0}},
      {"two drainers", &two_drainers, {3, 2, 0}},
      {"crosswise", &crosswise, {3, 2, 0}},
      {"two threads of one heap", &same_heap, {3, 1, 0}},
      {"sent on", &sent_on, {3, 1, 0}},
      {"sent there and back", &sent_there_and_back, {3, 1, 0}},
      {"three deliverers", &three_deliverers, {3, 0, 0}},
      {"one deliverer, one drainer", &one_each, {model::unbounded, 2, 1}},
  };
  return model::verdict(cases, argc, argv);
}
