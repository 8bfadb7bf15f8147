# SPDX-License-Identifier: MIT
#
# The C++ types: a program of two units with the library linked and header-only, in both standards,
# without exceptions and RTTI, and by the other compiler where there is one. Part of tests/doors.

set(types_sources types_main.cpp types_other.cpp)
set(types_bare -fno-exceptions -fno-rtti)

# types_door(name standard library flags...)
function(types_door name standard library)
  add_executable(door_types_${name} ${types_sources})
  set_target_properties(door_types_${name} PROPERTIES
    CXX_STANDARD ${standard} CXX_EXTENSIONS OFF)
  target_compile_options(door_types_${name} PRIVATE ${header_warnings} ${ARGN})
  target_link_libraries(door_types_${name} PRIVATE ${library} Threads::Threads)
  door_test(types_${name} door_types_${name})
endfunction()

types_door(linked_17 17 talus_shared)
types_door(linked_20 20 talus_static)
types_door(linked_bare 17 talus_static ${types_bare})
types_door(header_17 17 talus_header_only)
types_door(header_bare 20 talus_header_only ${types_bare} -O1)

# types_other_door(name dependency words...)
function(types_other_door name dependency)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/door_types_${name})
  list(TRANSFORM types_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(OUTPUT ${program}
    COMMAND ${TALUS_OTHER_CXX} -O1 ${header_warnings} ${types_sources} ${ARGN} -pthread
            -o ${program}
    DEPENDS ${types_sources} types.hpp expect.h ${dependency}
            ${CMAKE_BINARY_DIR}/include/talus/talus.hpp
    VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(types_${name} ALL DEPENDS ${program})
  door_test(types_${name} ${program})
endfunction()

if(TALUS_OTHER_CXX)
  set(one_header -DTALUS_HEADER_ONLY -I ${CMAKE_BINARY_DIR}/include)
  types_other_door(other_linked talus_static -std=c++17 -I ${PROJECT_SOURCE_DIR}/include
    $<TARGET_FILE:talus_static>)
  types_other_door(other_linked_bare talus_static -std=c++20 ${types_bare}
    -I ${PROJECT_SOURCE_DIR}/include $<TARGET_FILE:talus_static>)
  types_other_door(other_header talus_one_header -std=c++20 ${one_header})
  types_other_door(other_header_bare talus_one_header -std=c++17 ${types_bare} ${one_header})
endif()
