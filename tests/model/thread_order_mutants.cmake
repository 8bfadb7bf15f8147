# SPDX-License-Identifier: MIT
# What the model of idle-cache reclaim must notice of src/heap/thread_order.hpp; the form is as in
# remote_free_mutants.cmake.

# A number without a barrier.
mutant(no_barrier
[==[ || !os::System::order_threads()) return none;]==] [==[) return none;]==])
mutant(refusal_counts
[==[!os::System::order_threads()]==] [==[(os::System::order_threads(), false)]==])
