# SPDX-License-Identifier: MIT
#
# Programs that define some of the names themselves and leave the others to Talus, preloaded and
# linked. One program opens the library and looks up names that other libraries have. Part of
# tests/entry.

# replaced_entry(name source [definitions]): tests entry.NAME_preload, entry.NAME_shared and so on.
function(replaced_entry name source)
  foreach(kind preload shared archive object)
    set(program entry_${name}_${kind})
    add_executable(${program} ${source})
    target_compile_options(${program} PRIVATE -Wall -Wextra -fno-builtin
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-sized-deallocation>)
    target_compile_definitions(${program} PRIVATE ${ARGN})
    target_link_libraries(${program} PRIVATE ${CMAKE_DL_LIBS})
    entry_test(${name}_${kind} ${program})
  endforeach()
  target_link_libraries(entry_${name}_shared PRIVATE -Wl,--no-as-needed talus_shared)
  target_link_libraries(entry_${name}_archive PRIVATE talus_static)
  target_link_libraries(entry_${name}_object PRIVATE ${CMAKE_BINARY_DIR}/talus.o)
  add_dependencies(entry_${name}_object talus_single_object)
  # What is found by its name has to be linked, and known to the loader.
  foreach(kind archive object)
    target_link_options(entry_${name}_${kind} PRIVATE LINKER:-u,reallocarray)
    set_target_properties(entry_${name}_${kind} PROPERTIES ENABLE_EXPORTS ON)
  endforeach()
  add_dependencies(entry_${name}_preload talus_shared)
  set_tests_properties(entry.${name}_preload PROPERTIES
    ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:talus_shared>)
endfunction()

replaced_entry(replaced_operators replaced_operators.cpp)
replaced_entry(replaced_arrays replaced_operators.cpp REPLACES_ARRAYS)
replaced_entry(replaced_malloc replaced_malloc.c)

add_executable(entry_opens_operators opens_operators.cpp)
target_compile_options(entry_opens_operators PRIVATE -Wall -Wextra -fno-builtin)
target_link_libraries(entry_opens_operators PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(entry_opens_operators talus_shared)
entry_test(opens_operators entry_opens_operators $<TARGET_FILE:talus_shared>)
