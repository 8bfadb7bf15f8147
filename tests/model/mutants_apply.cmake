# SPDX-License-Identifier: MIT
# Is the text of each mutant in the header that it is made of? So a change of a header that leaves
# mutants behind is noticed where they are not built.
#
# INPUT: the header, or the copy that the model is made of. MUTANTS: the file that lists them.
cmake_minimum_required(VERSION 3.22)
file(READ "${INPUT}" text)

set(missing "")
set(count 0)
function(mutant name from to)
  math(EXPR next "${count} + 1")
  set(count ${next} PARENT_SCOPE)
  string(FIND "${text}" "${from}" at)
  if(at EQUAL -1)
    set(missing "${missing} ${name}" PARENT_SCOPE)
  endif()
endfunction()
include("${MUTANTS}")

if(NOT missing STREQUAL "")
  message(FATAL_ERROR "${INPUT} does not have the text of these mutants:${missing}")
endif()
if(count EQUAL 0)
  message(FATAL_ERROR "${MUTANTS} lists none")
endif()
message(STATUS "${count} mutants can be made")
