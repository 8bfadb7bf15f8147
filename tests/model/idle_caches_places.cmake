# SPDX-License-Identifier: MIT
# Writes a copy of a shipped header of src/heap in which what the model of idle-cache reclaim must
# see is visible: places of lists are steps of the model, every fiber has a context of its own.
#
# INPUT: the shipped header. OUTPUT: the copy. FUNCTIONS: what the copy consists of; empty: of all.
# Where the text that is to change is no longer there, the copy does not compile.
cmake_minimum_required(VERSION 3.22)
file(READ "${INPUT}" text)

# The rest of such a file is about other things, and would need more to stand on.
if(FUNCTIONS)
  set(kept "// Functions of ${INPUT}.\n#pragma once\nnamespace talus::core {\n")
  foreach(name IN LISTS FUNCTIONS)
    string(REGEX MATCH "(inline|TALUS_USUAL) [a-z0-9_]+ ${name}\\(" head "${text}")
    if(NOT head)
      message(FATAL_ERROR "no function ${name} in ${INPUT}")
    endif()
    string(FIND "${text}" "${head}" start)
    string(SUBSTRING "${text}" ${start} -1 rest)
    string(FIND "${rest}" "\n}\n" end)
    string(SUBSTRING "${rest}" 0 ${end} body)
    string(APPEND kept "\n${body}\n}\n")
  endforeach()
  set(text "${kept}\n}  // namespace talus::core\n")
endif()

# Arrays of blocks that are lists.
string(REPLACE "void**" "Place*" text "${text}")
string(REPLACE "void* storage[" "Place storage[" text "${text}")
string(REPLACE "void* no_blocks[" "Place no_blocks[" text "${text}")
# Where take_back collects what it takes is an array of its own.
string(REPLACE "Place* taken" "void** taken" text "${text}")

# A thread-local is one for each fiber, and one for set_up and check_end.
string(REPLACE "inline TALUS_THREAD_LOCAL Atomic<ThreadContext*> this_context{&first_context};"
[==[inline Atomic<ThreadContext*> contexts_of_threads[model::threads_max + 1];
#define this_context (contexts_of_threads[model::explorer.current() + 1])]==] text "${text}")
string(REPLACE "TALUS_CONSTINIT inline TALUS_THREAD_LOCAL ThreadCache* this_cache = nullptr;"
[==[inline ThreadCache* caches_of_threads[model::threads_max + 1];
#define this_cache (caches_of_threads[model::explorer.current() + 1])]==] text "${text}")

file(WRITE "${OUTPUT}" "${text}")
