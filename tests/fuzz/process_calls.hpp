// SPDX-License-Identifier: MIT
// fuzz/process_calls: calls that concern the whole process and no block.
//
// Owns: options, limits and their handler, statistics, trims; and what the program does to its
// process from outside the library: limits of the kernel's, locked pages, descriptors, children.
// Called on: any thread.
#ifndef TALUS_TESTS_FUZZ_PROCESS_CALLS_HPP
#define TALUS_TESTS_FUZZ_PROCESS_CALLS_HPP

#include <stddef.h>

namespace fuzz {

// Descriptors and signals that these calls need.
void prepare_process_calls();

void change_options();
void change_limits();
void change_limit_handler();
void ask_statistics();
void trim();

void change_address_limit();
void change_file_limit();
void change_descriptors();
void lock_some_memory();
void spawn_program();

// As at the start, for what must not be disturbed.
void lift_address_limit();
void lift_all_limits();

}  // namespace fuzz

#endif  // TALUS_TESTS_FUZZ_PROCESS_CALLS_HPP
