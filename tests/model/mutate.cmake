# SPDX-License-Identifier: MIT
# Writes a copy of a shipped header with one mutant in it, or with none.
#
# INPUT: the shipped header. OUTPUT: the copy. MUTANTS: the file that lists them. NAME: which of
# them, or `none`. A mutant whose text is not in the header leaves a macro that fails its test, so
# that a change of the shipped file never breaks a build.
cmake_minimum_required(VERSION 3.22)
file(READ "${INPUT}" text)

# A lock that spins often before it sleeps adds schedules, but no states.
string(REGEX REPLACE "spins_max = [0-9]+" "spins_max = 1" text "${text}")

function(mutant name from to)
  if(NOT name STREQUAL NAME)
    return()
  endif()
  string(FIND "${text}" "${from}" at)
  if(at EQUAL -1)
    set(text "#define TALUS_MUTANT_NOT_MADE \"${name}\"\n${text}" PARENT_SCOPE)
    return()
  endif()
  string(REPLACE "${from}" "${to}" changed "${text}")
  set(text "${changed}" PARENT_SCOPE)
endfunction()

if(NOT NAME STREQUAL "none")
  include("${MUTANTS}")
endif()
file(WRITE "${OUTPUT}" "${text}")
