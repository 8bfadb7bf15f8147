# SPDX-License-Identifier: MIT
#
# What TALUS_MODE and TALUS_FILL do, by way of the entry points through which an environment reaches
# Talus: preloaded, by `talus run`, linked, linked without shared libraries, and included. Part of
# tests/entry.

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

set(fill_test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/fill_test.py)
foreach(kind plain archive archive_static header)
  add_executable(entry_fill_${kind} fill_work.cpp)
  target_compile_options(entry_fill_${kind} PRIVATE -Wall -Wextra -fno-builtin -Wno-use-after-free)
endforeach()
target_link_libraries(entry_fill_plain PRIVATE Threads::Threads)
target_link_libraries(entry_fill_archive PRIVATE talus_static Threads::Threads)
target_link_libraries(entry_fill_archive_static PRIVATE talus_static Threads::Threads -static)
target_link_libraries(entry_fill_header PRIVATE talus_header_only Threads::Threads)
target_compile_options(entry_fill_header PRIVATE ${quick_flags})
target_compile_definitions(entry_fill_header PRIVATE FILL_BY_HEADER)
add_dependencies(entry_fill_plain talus_shared)
foreach(kind archive archive_static header)
  entry_test(fill_${kind} ${fill_test} $<TARGET_FILE:entry_fill_${kind}>)
endforeach()
entry_test(fill_preload ${fill_test} --preload $<TARGET_FILE:talus_shared>
  $<TARGET_FILE:entry_fill_plain>)

# started_entry(name script program source): the program preloaded, with the archive, and wholly
# static; the script looks at it. Tests entry.<name>_<kind>.
function(started_entry name script program source)
  set(look ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  foreach(kind plain archive archive_static)
    add_executable(entry_${program}_${kind} ${source})
    target_compile_options(entry_${program}_${kind} PRIVATE -Wall -Wextra -fno-builtin)
  endforeach()
  target_link_libraries(entry_${program}_archive PRIVATE talus_static Threads::Threads)
  target_link_libraries(entry_${program}_archive_static PRIVATE talus_static Threads::Threads
    -static)
  add_dependencies(entry_${program}_plain talus_shared)
  foreach(kind archive archive_static)
    entry_test(${name}_${kind} ${look} $<TARGET_FILE:entry_${program}_${kind}>)
  endforeach()
  entry_test(${name}_preload ${look} --preload $<TARGET_FILE:talus_shared>
    $<TARGET_FILE:entry_${program}_plain>)
endfunction()

started_entry(checked checked_test.py checked checked_work.c)
# At which addresses a program begins.
started_entry(random random_test.py first_blocks first_blocks.c)
