# SPDX-License-Identifier: MIT
#
# What TALUS_PROVIDER does, by way of the doors through which an environment reaches Talus:
# preloaded, by `talus run`, and linked without shared libraries. Part of tests/doors.

set(providers_test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/providers_test.py)
foreach(kind plain archive_static)
  add_executable(door_providers_${kind} providers_work.c)
  target_compile_options(door_providers_${kind} PRIVATE -Wall -Wextra -fno-builtin)
endforeach()
target_link_libraries(door_providers_plain PRIVATE Threads::Threads)
target_link_libraries(door_providers_archive_static PRIVATE talus_static Threads::Threads -static)
add_dependencies(door_providers_plain talus_shared)

door_test(providers_preload ${providers_test} --preload $<TARGET_FILE:talus_shared>
  $<TARGET_FILE:door_providers_plain>)
door_test(providers_archive_static ${providers_test} $<TARGET_FILE:door_providers_archive_static>
  Providers.test_file Providers.test_fork_is_no_sharing)
if(TARGET talus)
  door_test(providers_run ${providers_test} --preload $<TARGET_FILE:talus_shared>
    --run $<TARGET_FILE:talus> $<TARGET_FILE:door_providers_plain>
    Providers.test_bounds Providers.test_nonsense)
endif()
