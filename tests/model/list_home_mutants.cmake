# SPDX-License-Identifier: MIT
# What the model of idle-cache reclaim must notice of src/cache/list_home.hpp; the form is as in
# remote_free_mutants.cmake.

# Blocks of large classes go home and stay in their lists, or go home beside a refill.
mutant(lists_not_emptied
[==[      list_of(cache, id).top.store_own(bottom + length - part);  // in the lock
]==] [==[]==])
mutant(sent_without_lock
[==[      Held held{lock_of(cache)};
]==]
[==[      HeapLock another;
      Held held{another};
]==])
