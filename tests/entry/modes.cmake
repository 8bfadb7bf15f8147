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

set(checked_test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/checked_test.py)
foreach(kind plain archive archive_static)
  add_executable(entry_checked_${kind} checked_work.c)
  target_compile_options(entry_checked_${kind} PRIVATE -Wall -Wextra -fno-builtin)
endforeach()
target_link_libraries(entry_checked_archive PRIVATE talus_static Threads::Threads)
target_link_libraries(entry_checked_archive_static PRIVATE talus_static Threads::Threads -static)
add_dependencies(entry_checked_plain talus_shared)
foreach(kind archive archive_static)
  entry_test(checked_${kind} ${checked_test} $<TARGET_FILE:entry_checked_${kind}>)
endforeach()
entry_test(checked_preload ${checked_test} --preload $<TARGET_FILE:talus_shared>
  $<TARGET_FILE:entry_checked_plain>)

# At which addresses a program begins.
set(random_test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/random_test.py)
foreach(kind plain archive archive_static)
  add_executable(entry_first_blocks_${kind} first_blocks.c)
  target_compile_options(entry_first_blocks_${kind} PRIVATE -Wall -Wextra -fno-builtin)
endforeach()
target_link_libraries(entry_first_blocks_archive PRIVATE talus_static Threads::Threads)
target_link_libraries(entry_first_blocks_archive_static PRIVATE talus_static Threads::Threads
  -static)
add_dependencies(entry_first_blocks_plain talus_shared)
foreach(kind archive archive_static)
  entry_test(random_${kind} ${random_test} $<TARGET_FILE:entry_first_blocks_${kind}>)
endforeach()
entry_test(random_preload ${random_test} --preload $<TARGET_FILE:talus_shared>
  $<TARGET_FILE:entry_first_blocks_plain>)
