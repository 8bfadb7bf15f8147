# SPDX-License-Identifier: MIT
#
# What TALUS_PROVIDER does, by way of the entry points through which an environment reaches Talus:
# preloaded, by `talus run`, and linked without shared libraries. Part of tests/entry.

set(providers_test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/providers_test.py)
foreach(kind plain archive_static)
  add_executable(entry_providers_${kind} providers_work.c)
  target_compile_options(entry_providers_${kind} PRIVATE -Wall -Wextra -fno-builtin)
endforeach()
target_link_libraries(entry_providers_plain PRIVATE Threads::Threads)
target_link_libraries(entry_providers_archive_static PRIVATE talus_static Threads::Threads -static)
add_dependencies(entry_providers_plain talus_shared)

entry_test(providers_preload ${providers_test} --preload $<TARGET_FILE:talus_shared>
  $<TARGET_FILE:entry_providers_plain>)
entry_test(providers_archive_static ${providers_test} $<TARGET_FILE:entry_providers_archive_static>
  Providers.test_file Providers.test_fork_is_no_sharing)
if(TARGET talus)
  entry_test(providers_run ${providers_test} --preload $<TARGET_FILE:talus_shared>
    --run $<TARGET_FILE:talus> $<TARGET_FILE:entry_providers_plain>
    Providers.test_bounds Providers.test_nonsense)
endif()
