# SPDX-License-Identifier: MIT
#
# Statistics of the built library: what they say beside what the kernel knows, their forms read by
# other readers, and when they are printed. Part of tests/entry.

add_executable(entry_statistics_truth statistics_truth.c)
target_include_directories(entry_statistics_truth PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_options(entry_statistics_truth PRIVATE -Wall -Wextra -fno-builtin)
target_link_libraries(entry_statistics_truth PRIVATE talus_shared Threads::Threads)
entry_test(statistics_truth entry_statistics_truth)
set_tests_properties(entry.statistics_truth PROPERTIES SKIP_RETURN_CODE 77)

# The same work in each entry point; the static one has no helper where the test runs as root.
foreach(kind shared static)
  add_executable(entry_statistics_${kind} statistics_work.c)
  target_include_directories(entry_statistics_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(entry_statistics_${kind} PRIVATE -Wall -Wextra -fno-builtin)
  target_link_libraries(entry_statistics_${kind} PRIVATE talus_${kind} Threads::Threads)
endforeach()
foreach(group forms moments)
  entry_test(statistics_${group} ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/statistics_test.py --group ${group}
    --shared $<TARGET_FILE:entry_statistics_shared> --static $<TARGET_FILE:entry_statistics_static>)
endforeach()
