# SPDX-License-Identifier: MIT
#
# What TALUS_MODE does, by way of the entry points through which an environment reaches Talus:
# preloaded, by `talus run`, linked, and linked without shared libraries. Part of tests/entry.

set(mapped_test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/mapped_test.py)
foreach(kind plain archive archive_static)
  add_executable(entry_mapped_${kind} mapped_work.c)
  target_compile_options(entry_mapped_${kind} PRIVATE -Wall -Wextra -fno-builtin)
endforeach()
target_link_libraries(entry_mapped_plain PRIVATE Threads::Threads)
target_link_libraries(entry_mapped_archive PRIVATE talus_static Threads::Threads)
target_link_libraries(entry_mapped_archive_static PRIVATE talus_static Threads::Threads -static)
add_dependencies(entry_mapped_plain talus_shared)

entry_test(mapped_archive ${mapped_test} $<TARGET_FILE:entry_mapped_archive>)
entry_test(mapped_archive_static ${mapped_test} $<TARGET_FILE:entry_mapped_archive_static>)
entry_test(mapped_preload ${mapped_test} --preload $<TARGET_FILE:talus_shared>
  $<TARGET_FILE:entry_mapped_plain>)
if(TARGET talus)
  entry_test(mapped_run ${mapped_test} --preload $<TARGET_FILE:talus_shared>
    --run $<TARGET_FILE:talus> $<TARGET_FILE:entry_mapped_plain>)
endif()
