# SPDX-License-Identifier: MIT
#
# The helper thread: its life in libtalus.so, and what must go on working beside it: filters of
# system calls, changes of credentials, plugins that are closed, debuggers. Part of tests/entry.

# helper_program(name source [libraries...]): a program entry_<name> that looks at its threads.
function(helper_program name source)
  add_executable(entry_${name} ${source})
  target_compile_options(entry_${name} PRIVATE -Wall -Wextra -fno-builtin)
  target_link_libraries(entry_${name} PRIVATE ${ARGN} Threads::Threads)
endfunction()

# helper_test(name program [arguments]): what is free goes back soon, so that helpers end soon.
function(helper_test name)
  entry_test(${name} ${ARGN})
  set_tests_properties(entry.${name} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "TALUS_HELPER=1;TALUS_DECAY_MS=200")
endfunction()

helper_program(helper_life helper_life.cpp talus_shared)
foreach(case starts_late blocks_signals libc_knows_one_thread ends_and_starts_again is_one
        helpers_of_children thousand_forks raw_children copies copies_of_copies
        first_frees_go_by_call reuse_calls_helper ends_of_process late_frees is_ordinary
        is_not_bound outlives_its_maker)
  helper_test(helper_${case} entry_helper_life ${case})
endforeach()
helper_test(helper_is_off entry_helper_life is_off)
set_tests_properties(entry.helper_is_off PROPERTIES ENVIRONMENT "TALUS_HELPER=0")

helper_program(helper_rights helper_rights.cpp talus_shared)
foreach(case single_threaded threaded capabilities refusals namespaces child_of_vfork at_once
        no_new_privileges refused_thread few_threads raw_namespaces own_instruction raw_rights
        raw_filters)
  helper_test(rights_${case} entry_helper_rights ${case})
endforeach()

add_library(entry_next_syscall SHARED next_syscall.c)
target_link_libraries(entry_next_syscall PRIVATE ${CMAKE_DL_LIBS})
helper_program(system_calls system_calls.c talus_shared entry_next_syscall)
helper_test(system_calls entry_system_calls)

# Which programs are told that pages go. The program's own munmap and the like stand before the C
# library's.
helper_program(page_listener page_listener.c talus_shared)
foreach(case listener hooks silent)
  helper_test(pages_${case} entry_page_listener ${case})
endforeach()
set_tests_properties(entry.pages_hooks PROPERTIES ENVIRONMENT "TALUS_LIBC_CALLS=1")

helper_program(helper_filters helper_filters.cpp talus_header_only)
target_compile_options(entry_helper_filters PRIVATE ${quick_flags})
foreach(case filter_first helper_first)
  helper_test(filters_${case} entry_helper_filters ${case})
endforeach()

helper_program(helper_plugin helper_plugin.cpp ${CMAKE_DL_LIBS})
add_dependencies(entry_helper_plugin entry_plugin_first)
helper_test(helper_plugin entry_helper_plugin $<TARGET_FILE:entry_plugin_first>)

helper_program(helper_idle helper_idle.c)
foreach(group debugger valgrind sandbox)
  helper_test(helper_${group} ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/helper_tools_test.py --group ${group}
    --talus $<TARGET_FILE:talus_shared> --program $<TARGET_FILE:entry_helper_idle>)
endforeach()

add_executable(entry_fork_in_handler fork_in_handler.c)
target_compile_options(entry_fork_in_handler PRIVATE -Wall -Wextra -fno-builtin)
target_link_libraries(entry_fork_in_handler PRIVATE talus_shared)
foreach(case timer locked awaited)
  helper_test(fork_in_handler_${case} entry_fork_in_handler ${case})
endforeach()

# The same program with libtalus.so, which hears of filters, and with the archive, which does not.
foreach(kind shared static)
  add_executable(entry_filtered_end_${kind} filtered_end.c)
  target_compile_options(entry_filtered_end_${kind} PRIVATE -Wall -Wextra -fno-builtin)
  target_link_libraries(entry_filtered_end_${kind} PRIVATE talus_${kind})
  foreach(case prctl twice raw)
    entry_test(filtered_end_${kind}_${case} entry_filtered_end_${kind} ${case})
    set_tests_properties(entry.filtered_end_${kind}_${case} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endforeach()

# A crash reporter, beside a background thread and, with the archive, without.
foreach(kind shared static)
  add_executable(entry_report_handler_${kind} report_handler.c)
  target_compile_options(entry_report_handler_${kind} PRIVATE -Wall -Wextra -fno-builtin)
  target_link_libraries(entry_report_handler_${kind} PRIVATE talus_${kind})
  foreach(case interior foreign)
    entry_test(report_handler_${kind}_${case} entry_report_handler_${kind} ${case})
  endforeach()
endforeach()
