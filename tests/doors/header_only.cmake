# SPDX-License-Identifier: MIT
#
# The header-only door: a program of two units in each standard, the same with the other compiler
# where there is one, and plugins that carry a copy each. Part of tests/doors.

# As a user with strict warnings would compile it.
set(header_warnings -Wall -Wextra -Werror)

foreach(standard 17 20)
  add_executable(door_header_${standard} header_main.cpp header_other.cpp)
  set_target_properties(door_header_${standard} PROPERTIES
    CXX_STANDARD ${standard} CXX_EXTENSIONS OFF)
  target_compile_options(door_header_${standard} PRIVATE ${header_warnings})
  if(NOT standard EQUAL 17)  # one of them as a user would optimise it
    target_compile_options(door_header_${standard} PRIVATE -O1)
  endif()
  target_link_libraries(door_header_${standard} PRIVATE talus_header_only Threads::Threads)
  door_test(header_${standard} ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/door_test.py $<TARGET_FILE:door_header_${standard}>)
endforeach()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_program(TALUS_OTHER_CXX clang++)
else()
  find_program(TALUS_OTHER_CXX g++)
endif()
if(TALUS_OTHER_CXX)
  set(other ${CMAKE_CURRENT_BINARY_DIR}/door_header_other_compiler)
  add_custom_command(OUTPUT ${other}
    COMMAND ${TALUS_OTHER_CXX} -std=c++17 -O1 ${header_warnings} -DTALUS_HEADER_ONLY
            -I ${CMAKE_BINARY_DIR}/include -pthread -o ${other}
            ${CMAKE_CURRENT_SOURCE_DIR}/header_main.cpp
            ${CMAKE_CURRENT_SOURCE_DIR}/header_other.cpp
    DEPENDS header_main.cpp header_other.cpp header_units.hpp expect.h
            talus_one_header ${CMAKE_BINARY_DIR}/include/talus/talus.hpp
    VERBATIM)
  add_custom_target(door_header_other ALL DEPENDS ${other})
  door_test(header_other_compiler ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/door_test.py ${other})
endif()

foreach(name first second)
  add_library(door_plugin_${name} MODULE plugin.cpp)
  target_compile_options(door_plugin_${name} PRIVATE ${header_warnings})
  target_link_libraries(door_plugin_${name} PRIVATE talus_header_only Threads::Threads)
  target_link_options(door_plugin_${name} PRIVATE -Wl,-z,defs)
endforeach()
add_executable(door_plugins plugins_main.cpp)
target_compile_options(door_plugins PRIVATE ${header_warnings})
target_link_libraries(door_plugins PRIVATE talus_header_only Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(door_plugins door_plugin_first door_plugin_second)
door_test(plugins door_plugins
  $<TARGET_FILE:door_plugin_first> $<TARGET_FILE:door_plugin_second>)
