# SPDX-License-Identifier: MIT
# What the model of attendance must notice of src/heap/wide_lists.hpp; the form is that of
# remote_free_mutants.cmake.

# The list begins where it did, and ends in its wide place.
mutant(begins_where_it_did
[==[  cache.wide.words[index_of(id) / 64] |= class_bit(id);
]==] [==[]==])
# A fork finds the list between two places.
mutant(leaves_without_lock
[==[  Locked held{lock_of(cache)};
  cache.wide.words]==]
[==[  cache.wide.words]==])
