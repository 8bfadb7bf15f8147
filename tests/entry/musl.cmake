# SPDX-License-Identifier: MIT
#
# The static library and the single object, as they are, in C programs of another C library: musl,
# where its compiler wrapper is installed. Part of tests/entry.

find_program(TALUS_MUSL_CC musl-gcc)
if(NOT TALUS_MUSL_CC)
  return()
endif()

# musl_entry(name source library flags...): a test entry.musl_<name>, which is looked at from
# outside as linked_entry's tests are.
function(musl_entry name source library)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/musl_${name})
  add_custom_command(OUTPUT ${program}
    COMMAND ${TALUS_MUSL_CC} -std=c11 -O1 -Wall -Wextra -fno-builtin ${ARGN}
            -I ${PROJECT_SOURCE_DIR}/include -o ${program}
            ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${library}
    DEPENDS ${source} expect.h talus_static talus_single_object ${library}
    VERBATIM)
  add_custom_target(entry_musl_${name} ALL DEPENDS ${program})
  entry_test(musl_${name} ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/entry_test.py
    ${program})
endfunction()

set(single_object ${CMAKE_BINARY_DIR}/talus.o)
musl_entry(archive_static uses_c.c $<TARGET_FILE:talus_static> -static -D_GNU_SOURCE)
musl_entry(object uses_c.c ${single_object} -D_GNU_SOURCE)
musl_entry(work_archive plain_work.c $<TARGET_FILE:talus_static>)
musl_entry(work_object_static plain_work.c ${single_object} -static)
