# SPDX-License-Identifier: MIT
#
# Programs that define some of the names themselves and leave the others to Talus, preloaded and
# linked; and one that opens the library and asks it for names that others have. Part of
# tests/doors.

# replaced_door(name source [definitions]): tests doors.NAME_preload, doors.NAME_shared and so on.
function(replaced_door name source)
  foreach(kind preload shared archive object)
    set(program door_${name}_${kind})
    add_executable(${program} ${source})
    target_compile_options(${program} PRIVATE -Wall -Wextra -fno-builtin
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-sized-deallocation>)
    target_compile_definitions(${program} PRIVATE ${ARGN})
    target_link_libraries(${program} PRIVATE ${CMAKE_DL_LIBS})
    door_test(${name}_${kind} ${program})
  endforeach()
  target_link_libraries(door_${name}_shared PRIVATE -Wl,--no-as-needed talus_shared)
  target_link_libraries(door_${name}_archive PRIVATE talus_static)
  target_link_libraries(door_${name}_object PRIVATE ${CMAKE_BINARY_DIR}/talus.o)
  add_dependencies(door_${name}_object talus_single_object)
  # What is found by its name has to be linked, and known to the loader.
  foreach(kind archive object)
    target_link_options(door_${name}_${kind} PRIVATE LINKER:-u,reallocarray)
    set_target_properties(door_${name}_${kind} PROPERTIES ENABLE_EXPORTS ON)
  endforeach()
  add_dependencies(door_${name}_preload talus_shared)
  set_tests_properties(doors.${name}_preload PROPERTIES
    ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:talus_shared>)
endfunction()

replaced_door(replaced_operators replaced_operators.cpp)
replaced_door(replaced_arrays replaced_operators.cpp REPLACES_ARRAYS)
replaced_door(replaced_malloc replaced_malloc.c)

add_executable(door_opens_operators opens_operators.cpp)
target_compile_options(door_opens_operators PRIVATE -Wall -Wextra -fno-builtin)
target_link_libraries(door_opens_operators PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(door_opens_operators talus_shared)
door_test(opens_operators door_opens_operators $<TARGET_FILE:talus_shared>)
