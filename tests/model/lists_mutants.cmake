# SPDX-License-Identifier: MIT
# What the model of idle-cache reclaim must notice of src/heap/lists.hpp; the form is as in
# remote_free_mutants.cmake.

# The list begins where it did, and ends in its other place.
mutant(begins_where_it_did
[==[  cache.bottoms[index_of(id)] = bottom;
]==] [==[]==])
# The blocks of the other place are not in the list.
mutant(ends_where_it_did
[==[  list.top.store_own(bottom);  // in the lock
  list.limit = bottom + capacity;
]==] [==[  list.limit = bottom + capacity;
]==])
