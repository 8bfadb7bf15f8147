# SPDX-License-Identifier: MIT
#
# The preloaded library among others that stand between a program and its C library: audit
# libraries, wrappers, libraries opened with RTLD_DEEPBIND, and such as watch forks. Part of
# tests/entry.

function(preload_companion name source)
  add_library(entry_${name} MODULE ${source})
  target_compile_options(entry_${name} PRIVATE -Wall -Wextra -fno-builtin)
  target_compile_definitions(entry_${name} PRIVATE ${ARGN})
  target_link_libraries(entry_${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

preload_companion(audit preload_audit.c)
preload_companion(wrapper preload_wrapper.c)
preload_companion(clock preload_wrapper.c WRAPS_CLOCK)
preload_companion(deepbind_plugin deepbind_plugin.c)
foreach(program preload_work deepbind_main)
  add_executable(entry_${program} ${program}.c)
  target_compile_options(entry_${program} PRIVATE -Wall -Wextra -fno-builtin)
  target_link_libraries(entry_${program} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(entry_${program} talus_shared)
endforeach()

set(preload_test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/preload_test.py
  --talus $<TARGET_FILE:talus_shared> --program $<TARGET_FILE:entry_preload_work>
  --wrapper $<TARGET_FILE:entry_wrapper> --clock $<TARGET_FILE:entry_clock>
  --audit $<TARGET_FILE:entry_audit>)
foreach(group wrapper clock audited installed)
  entry_test(preload_${group} ${preload_test} --group ${group})
endforeach()
set_tests_properties(entry.preload_installed PROPERTIES SKIP_RETURN_CODE 77)

# A heap tool before Talus. The second program is not position independent.
preload_companion(heap_tool heap_tool.c)
preload_companion(own_heap heap_tool.c OWN_HEAP)
foreach(kind pie fixed)
  add_executable(entry_heap_tool_${kind} heap_tool_work.cpp)
  target_compile_options(entry_heap_tool_${kind} PRIVATE -Wall -Wextra -fno-builtin
    $<$<STREQUAL:${kind},fixed>:-fno-pie>)
  target_link_libraries(entry_heap_tool_${kind} PRIVATE Threads::Threads ${CMAKE_DL_LIBS}
    $<$<STREQUAL:${kind},fixed>:-no-pie>)
  add_dependencies(entry_heap_tool_${kind} talus_shared)
endforeach()
foreach(group preloaded patched address installed)
  entry_test(heap_tools_${group} ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/heap_tools_test.py --talus $<TARGET_FILE:talus_shared>
    --tool $<TARGET_FILE:entry_heap_tool> --heap $<TARGET_FILE:entry_own_heap>
    --work $<TARGET_FILE:entry_heap_tool_pie> --fixed $<TARGET_FILE:entry_heap_tool_fixed>
    --group ${group})
endforeach()
set_tests_properties(entry.heap_tools_installed PROPERTIES SKIP_RETURN_CODE 77)

entry_test(deepbind ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/deepbind_test.py
  --talus $<TARGET_FILE:talus_shared> --program $<TARGET_FILE:entry_deepbind_main>
  --plugin $<TARGET_FILE:entry_deepbind_plugin>)

# A library whose constructor runs before Talus' own: preloaded, and linked on either side.
add_library(entry_fork_handlers SHARED fork_handlers.c)
target_compile_options(entry_fork_handlers PRIVATE -Wall -Wextra -fno-builtin)
target_link_libraries(entry_fork_handlers PRIVATE Threads::Threads)
function(fork_order_test name)
  add_executable(entry_fork_order_${name} fork_order.c)
  target_compile_options(entry_fork_order_${name} PRIVATE -Wall -Wextra -fno-builtin)
  target_link_libraries(entry_fork_order_${name} PRIVATE ${ARGN} Threads::Threads)
  entry_test(fork_order_${name} entry_fork_order_${name})
endfunction()
fork_order_test(preloaded entry_fork_handlers)
fork_order_test(linked_first talus_shared entry_fork_handlers)
fork_order_test(linked_last entry_fork_handlers talus_shared)
set_tests_properties(entry.fork_order_preloaded PROPERTIES
  ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:talus_shared>)

add_executable(entry_fork_alone fork_alone.c)
target_compile_options(entry_fork_alone PRIVATE -Wall -Wextra -fno-builtin)
target_link_libraries(entry_fork_alone PRIVATE Threads::Threads)
entry_test(fork_alone entry_fork_alone)
set_tests_properties(entry.fork_alone PROPERTIES
  ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:talus_shared>)

# A kernel whose answers are not true.
add_executable(entry_kernel_answers kernel_answers.c)
target_compile_options(entry_kernel_answers PRIVATE -Wall -Wextra -fno-builtin)
foreach(call advice moves)
  entry_test(kernel_answers_${call} entry_kernel_answers ${call})
  set_tests_properties(entry.kernel_answers_${call} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:talus_shared>;TALUS_HELPER=1;TALUS_DECAY_MS=200")
endforeach()
entry_test(kernel_answers_mapped entry_kernel_answers advice)
set_tests_properties(entry.kernel_answers_mapped PROPERTIES SKIP_RETURN_CODE 77
  ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:talus_shared>;TALUS_MODE=mapped")
# The user is told, by TALUS_VERBOSE and by `talus check`.
set(true_program ${CMAKE_COMMAND} -E true)
entry_test(kernel_answers_verbose entry_kernel_answers advice ${true_program})
set_tests_properties(entry.kernel_answers_verbose PROPERTIES
  ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:talus_shared>;TALUS_VERBOSE=1"
  PASS_REGULAR_EXPRESSION "MADV_DONTNEED is answered and clears nothing" SKIP_RETURN_CODE 77)
entry_test(kernel_answers_check entry_kernel_answers advice $<TARGET_FILE:talus>
  check --lib $<TARGET_FILE:talus_shared> -- ${true_program})
set_tests_properties(entry.kernel_answers_check PROPERTIES
  PASS_REGULAR_EXPRESSION "MADV_DONTNEED succeeds but clears nothing" SKIP_RETURN_CODE 77)

add_executable(entry_mapped_room mapped_room.c)
target_compile_options(entry_mapped_room PRIVATE -Wall -Wextra -fno-builtin)
entry_test(mapped_room entry_mapped_room)
set_tests_properties(entry.mapped_room PROPERTIES
  ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:talus_shared>;TALUS_MODE=mapped")
