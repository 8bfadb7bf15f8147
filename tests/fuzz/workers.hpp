// SPDX-License-Identifier: MIT
// fuzz/workers: the threads that take steps, and signals that interrupt them.
//
// Owns: threads that live for a while and are followed by others, and the pauses in which all of
// them stand still. Owns late destructors, which use the heap, too, and a thread that sends
// signals. The signal handler allocates where no lock of the library can be held.
// Called on: the main thread, or the only one of a child.
#ifndef TALUS_TESTS_FUZZ_WORKERS_HPP
#define TALUS_TESTS_FUZZ_WORKERS_HPP

#include "thread.hpp"

namespace fuzz {

extern std::atomic<uint64_t> worker_total;

void prepare_workers();
void start_signals();
void stop_signals();

// New ones in the places of ended threads.
void revive_workers();
// None of them is in the library from here to resume_workers().
void pause_workers();
void resume_workers();
void end_workers();

// In the child of a fork, where there are none.
void forget_workers();
void start_child_threads(int count);
void join_child_threads();

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_WORKERS_HPP
