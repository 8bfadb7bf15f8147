# SPDX-License-Identifier: MIT
# What the model of idle-cache reclaim must notice of src/cache/wide_lists.hpp; the form is as in
# remote_free_mutants.cmake.

# A fork finds the list between two places.
mutant(goes_back_without_lock
[==[  Held held{lock_of(cache)};
  move_list(held, cache, id, first, 0);]==]
[==[  HeapLock none;
  Held held{none};
  move_list(held, cache, id, first, 0);]==])
