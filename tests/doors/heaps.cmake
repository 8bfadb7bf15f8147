# SPDX-License-Identifier: MIT
#
# Heaps of one's own by way of talus/heap.hpp: with the library linked and header-only, without
# exceptions and RTTI, and by the other compiler where there is one. Part of tests/doors.

# heaps_door(name standard library flags...)
function(heaps_door name standard library)
  add_executable(door_heaps_${name} heaps_main.cpp)
  set_target_properties(door_heaps_${name} PROPERTIES
    CXX_STANDARD ${standard} CXX_EXTENSIONS OFF)
  target_compile_options(door_heaps_${name} PRIVATE ${header_warnings} ${ARGN})
  target_link_libraries(door_heaps_${name} PRIVATE ${library} Threads::Threads)
  door_test(heaps_${name} door_heaps_${name})
endfunction()

heaps_door(shared 17 talus_shared)
heaps_door(static 20 talus_static -fno-exceptions -fno-rtti)
heaps_door(header 17 talus_header_only)

if(TALUS_OTHER_CXX)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/door_heaps_other)
  add_custom_command(OUTPUT ${program}
    COMMAND ${TALUS_OTHER_CXX} -O1 -std=c++20 ${header_warnings} -DTALUS_HEADER_ONLY
            -I ${CMAKE_BINARY_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/heaps_main.cpp -pthread
            -o ${program}
    DEPENDS heaps_main.cpp expect.h talus_one_header ${CMAKE_BINARY_DIR}/include/talus/talus.hpp
            ${CMAKE_BINARY_DIR}/include/talus/heap.hpp
    VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(heaps_other ALL DEPENDS ${program})
  door_test(heaps_other ${program})
endif()
