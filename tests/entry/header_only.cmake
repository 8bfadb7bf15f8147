# SPDX-License-Identifier: MIT
#
# C++ programs as their users would compile them, with Talus linked or header-only: by this
# compiler, and by the other one where there is one. The header-only entry point itself: a program
# of two units in each standard, and plugins that carry a copy each. Part of tests/entry.

# As a user with strict warnings would compile it.
set(header_warnings -Wall -Wextra -Werror)
# Where a program does without these.
set(bare_flags -fno-exceptions -fno-rtti)
# A third of the compiler's time for a program that contains the core. What the optimizers make of
# the core there is tested by header_17, header_20 and header_other_compiler.
set(quick_flags -O0)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_program(TALUS_OTHER_CXX clang++)
else()
  find_program(TALUS_OTHER_CXX g++)
endif()

# A test entry.<name> of a program: by itself, or looked at from outside.
function(cxx_entry_test name program looked_at)
  if(looked_at)
    entry_test(${name} ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/entry_test.py
      ${program})
  else()
    entry_test(${name} ${program})
  endif()
endfunction()

# cxx_entry(name standard library SOURCES source... [FLAGS flag...] [LOOKED_AT]): a program
# entry_<name>, and its test.
function(cxx_entry name standard library)
  cmake_parse_arguments(PARSE_ARGV 3 with "LOOKED_AT" "" "SOURCES;FLAGS")
  set(program entry_${name})
  add_executable(${program} ${with_SOURCES})
  set_target_properties(${program} PROPERTIES CXX_STANDARD ${standard} CXX_EXTENSIONS OFF)
  target_compile_options(${program} PRIVATE ${header_warnings} ${with_FLAGS})
  target_link_libraries(${program} PRIVATE ${library} Threads::Threads)
  cxx_entry_test(${name} $<TARGET_FILE:${program}> ${with_LOOKED_AT})
endfunction()

# other_cxx_entry(...): the same by the other compiler. The library is talus_header_only or one
# whose file is linked.
function(other_cxx_entry name standard library)
  if(NOT TALUS_OTHER_CXX)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 3 with "LOOKED_AT" "" "SOURCES;FLAGS")
  file(GLOB headers ${PROJECT_SOURCE_DIR}/include/talus/*.h* ${CMAKE_CURRENT_SOURCE_DIR}/*.h*)
  if(library STREQUAL "talus_header_only")
    set(words -DTALUS_HEADER_ONLY -I ${CMAKE_BINARY_DIR}/include)
    set(needed talus_one_header ${CMAKE_BINARY_DIR}/include/talus/talus.hpp)
  else()
    set(words -I ${PROJECT_SOURCE_DIR}/include $<TARGET_FILE:${library}>)
    set(needed ${library})
  endif()
  set(program ${CMAKE_CURRENT_BINARY_DIR}/entry_${name})
  list(TRANSFORM with_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(OUTPUT ${program}
    COMMAND ${TALUS_OTHER_CXX} -std=c++${standard} -O1 ${header_warnings} ${with_FLAGS}
            ${with_SOURCES} ${words} -pthread -o ${program}
    DEPENDS ${with_SOURCES} ${headers} ${needed}
    VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(build_entry_${name} ALL DEPENDS ${program})
  cxx_entry_test(${name} ${program} ${with_LOOKED_AT})
endfunction()

set(header_sources header_main.cpp header_other.cpp)
cxx_entry(header_17 17 talus_header_only SOURCES ${header_sources} FLAGS -O3 LOOKED_AT)
# As a user would optimise it.
# malloc, new and delete by their usual names, on request (override.hpp, new_delete.hpp).
cxx_entry(header_replaced 17 talus_header_only SOURCES replaced_main.cpp replaced_other.cpp
  FLAGS ${quick_flags})
cxx_entry(header_20 20 talus_header_only SOURCES ${header_sources} LOOKED_AT)
other_cxx_entry(header_other_compiler 17 talus_header_only SOURCES ${header_sources} LOOKED_AT)

# Under ThreadSanitizer, which is told what it cannot know, in its own names.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
check_cxx_source_compiles("int main() {}" TALUS_HAS_TSAN)
unset(CMAKE_REQUIRED_FLAGS)
if(TALUS_HAS_TSAN)
  cxx_entry(header_tsan 17 talus_header_only SOURCES heaps_main.cpp FLAGS -fsanitize=thread)
  target_link_options(entry_header_tsan PRIVATE -fsanitize=thread)
endif()

# By a linker that gives weak names an address where no object defines them.
find_program(TALUS_GOLD ld.gold)
if(TALUS_GOLD AND NOT CMAKE_CROSSCOMPILING)
  cxx_entry(archive_gold 17 talus_static SOURCES heaps_main.cpp)
  target_compile_options(entry_archive_gold PRIVATE -fPIE)
  target_link_options(entry_archive_gold PRIVATE -fuse-ld=gold -pie)
endif()

foreach(name first second)
  add_library(entry_plugin_${name} MODULE plugin.cpp)
  target_compile_options(entry_plugin_${name} PRIVATE ${header_warnings} ${quick_flags})
  target_link_libraries(entry_plugin_${name} PRIVATE talus_header_only Threads::Threads)
  target_link_options(entry_plugin_${name} PRIVATE -Wl,-z,defs)
endforeach()
add_executable(entry_plugins plugins_main.cpp)
target_compile_options(entry_plugins PRIVATE ${header_warnings} ${quick_flags})
target_link_libraries(entry_plugins PRIVATE talus_header_only Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(entry_plugins entry_plugin_first entry_plugin_second)
entry_test(plugins entry_plugins
  $<TARGET_FILE:entry_plugin_first> $<TARGET_FILE:entry_plugin_second>)

# Types with containers of Talus in them, of the same name in both: nothing is inlined.
add_executable(entry_levels level.cpp)
foreach(name first second)
  add_library(entry_level_${name} SHARED level.cpp)
  target_compile_definitions(entry_level_${name} PRIVATE LEVEL_NAME=${name}_level)
  target_compile_options(entry_level_${name} PRIVATE ${header_warnings} ${quick_flags}
    -fvisibility=hidden)
  target_link_libraries(entry_level_${name} PRIVATE talus_header_only Threads::Threads)
  target_link_libraries(entry_levels PRIVATE entry_level_${name})
endforeach()
entry_test(levels entry_levels)
