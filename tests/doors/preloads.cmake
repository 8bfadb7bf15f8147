# SPDX-License-Identifier: MIT
#
# The preloaded library among others that stand between a program and its C library: audit
# libraries, wrappers, libraries opened with RTLD_DEEPBIND, and such as watch forks. Part of
# tests/doors.

function(preload_companion name source)
  add_library(door_${name} MODULE ${source})
  target_compile_options(door_${name} PRIVATE -Wall -Wextra -fno-builtin)
  target_compile_definitions(door_${name} PRIVATE ${ARGN})
  target_link_libraries(door_${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

preload_companion(audit preload_audit.c)
preload_companion(wrapper preload_wrapper.c)
preload_companion(clock preload_wrapper.c WRAPS_CLOCK)
preload_companion(deepbind_plugin deepbind_plugin.c)
foreach(program preload_work deepbind_main)
  add_executable(door_${program} ${program}.c)
  target_compile_options(door_${program} PRIVATE -Wall -Wextra -fno-builtin)
  target_link_libraries(door_${program} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(door_${program} talus_shared)
endforeach()

set(preload_test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/preload_test.py
  --talus $<TARGET_FILE:talus_shared> --program $<TARGET_FILE:door_preload_work>
  --wrapper $<TARGET_FILE:door_wrapper> --clock $<TARGET_FILE:door_clock>
  --audit $<TARGET_FILE:door_audit>)
foreach(group wrapper clock audited installed)
  door_test(preload_${group} ${preload_test} --group ${group})
endforeach()
set_tests_properties(doors.preload_installed PROPERTIES SKIP_RETURN_CODE 77)

door_test(deepbind ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/deepbind_test.py
  --talus $<TARGET_FILE:talus_shared> --program $<TARGET_FILE:door_deepbind_main>
  --plugin $<TARGET_FILE:door_deepbind_plugin>)

# A library whose constructor runs before Talus' own: preloaded, and linked on either side.
add_library(door_fork_handlers SHARED fork_handlers.c)
target_compile_options(door_fork_handlers PRIVATE -Wall -Wextra -fno-builtin)
target_link_libraries(door_fork_handlers PRIVATE Threads::Threads)
function(fork_order_test name)
  add_executable(door_fork_order_${name} fork_order.c)
  target_compile_options(door_fork_order_${name} PRIVATE -Wall -Wextra -fno-builtin)
  target_link_libraries(door_fork_order_${name} PRIVATE ${ARGN} Threads::Threads)
  door_test(fork_order_${name} door_fork_order_${name})
endfunction()
fork_order_test(preloaded door_fork_handlers)
fork_order_test(linked_first talus_shared door_fork_handlers)
fork_order_test(linked_last door_fork_handlers talus_shared)
set_tests_properties(doors.fork_order_preloaded PROPERTIES
  ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:talus_shared>)

add_executable(door_fork_alone fork_alone.c)
target_compile_options(door_fork_alone PRIVATE -Wall -Wextra -fno-builtin)
target_link_libraries(door_fork_alone PRIVATE Threads::Threads)
door_test(fork_alone door_fork_alone)
set_tests_properties(doors.fork_alone PROPERTIES
  ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:talus_shared>)

# A kernel whose answers are not true.
add_executable(door_kernel_answers kernel_answers.c)
target_compile_options(door_kernel_answers PRIVATE -Wall -Wextra -fno-builtin)
foreach(call advice moves)
  door_test(kernel_answers_${call} door_kernel_answers ${call})
  set_tests_properties(doors.kernel_answers_${call} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:talus_shared>;TALUS_HELPER=1;TALUS_DECAY_MS=200")
endforeach()
door_test(kernel_answers_mapped door_kernel_answers advice)
set_tests_properties(doors.kernel_answers_mapped PROPERTIES SKIP_RETURN_CODE 77
  ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:talus_shared>;TALUS_MODE=mapped")
# The user is told, by TALUS_VERBOSE and by `talus check`.
set(true_program ${CMAKE_COMMAND} -E true)
door_test(kernel_answers_verbose door_kernel_answers advice ${true_program})
set_tests_properties(doors.kernel_answers_verbose PROPERTIES
  ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:talus_shared>;TALUS_VERBOSE=1"
  PASS_REGULAR_EXPRESSION "MADV_DONTNEED is answered and clears nothing" SKIP_RETURN_CODE 77)
door_test(kernel_answers_check door_kernel_answers advice $<TARGET_FILE:talus>
  check --lib $<TARGET_FILE:talus_shared> -- ${true_program})
set_tests_properties(doors.kernel_answers_check PROPERTIES
  PASS_REGULAR_EXPRESSION "MADV_DONTNEED is answered and clears nothing" SKIP_RETURN_CODE 77)

add_executable(door_mapped_room mapped_room.c)
target_compile_options(door_mapped_room PRIVATE -Wall -Wextra -fno-builtin)
door_test(mapped_room door_mapped_room)
set_tests_properties(doors.mapped_room PROPERTIES
  ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:talus_shared>;TALUS_MODE=mapped")
