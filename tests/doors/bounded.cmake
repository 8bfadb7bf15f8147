# SPDX-License-Identifier: MIT
#
# Bounded instances by way of talus/bounded.h and talus/bounded.hpp: in C and C++, with the library
# linked and header-only, without exceptions and RTTI, and by the other compiler where there is
# one. Part of tests/doors.

linked_door(bounded_c uses_bounded.c talus_shared)
linked_door(bounded_c_static uses_bounded.c talus_static -static)

# bounded_door(name standard library flags...)
function(bounded_door name standard library)
  add_executable(door_bounded_${name} bounded_main.cpp)
  set_target_properties(door_bounded_${name} PROPERTIES
    CXX_STANDARD ${standard} CXX_EXTENSIONS OFF)
  target_compile_options(door_bounded_${name} PRIVATE ${header_warnings} ${ARGN})
  target_link_libraries(door_bounded_${name} PRIVATE ${library} Threads::Threads)
  door_test(bounded_${name} door_bounded_${name})
endfunction()

bounded_door(static 20 talus_static)
bounded_door(header 17 talus_header_only -fno-exceptions -fno-rtti)

if(TALUS_OTHER_CXX)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/door_bounded_other)
  add_custom_command(OUTPUT ${program}
    COMMAND ${TALUS_OTHER_CXX} -O1 -std=c++20 ${header_warnings} -DTALUS_HEADER_ONLY
            -I ${CMAKE_BINARY_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/bounded_main.cpp -pthread
            -o ${program}
    DEPENDS bounded_main.cpp expect.h talus_one_header
            ${CMAKE_BINARY_DIR}/include/talus/talus.hpp
            ${CMAKE_BINARY_DIR}/include/talus/bounded.hpp
    VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(bounded_other ALL DEPENDS ${program})
  door_test(bounded_other ${program})
endif()
