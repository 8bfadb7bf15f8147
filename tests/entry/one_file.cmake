# SPDX-License-Identifier: MIT
#
# The one file to copy, in programs that have nothing else of Talus: by this compiler, and by the
# other one where there is one. Part of tests/entry.

set(one_file_folder ${CMAKE_CURRENT_BINARY_DIR}/one_file)
set(one_file ${one_file_folder}/talus.hpp)
file(GLOB_RECURSE one_file_parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.hpp
  ${PROJECT_SOURCE_DIR}/include/talus/*.h*)
add_custom_command(OUTPUT ${one_file}
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/amalgamate.py --alone ${one_file}
  DEPENDS ${one_file_parts} ${PROJECT_SOURCE_DIR}/tools/amalgamate.py ${PROJECT_SOURCE_DIR}/LICENSE)

set(one_file_sources one_file_main.cpp one_file_other.cpp)
add_executable(entry_one_file ${one_file_sources} ${one_file})
set_target_properties(entry_one_file PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)
target_include_directories(entry_one_file PRIVATE ${one_file_folder})
target_compile_options(entry_one_file PRIVATE ${header_warnings} ${quick_flags})
target_link_libraries(entry_one_file PRIVATE Threads::Threads)
entry_test(one_file entry_one_file)

if(TALUS_OTHER_CXX)
  list(TRANSFORM one_file_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/entry_one_file_other)
  add_custom_command(OUTPUT ${program}
    COMMAND ${TALUS_OTHER_CXX} -std=c++17 ${header_warnings} ${quick_flags} -I ${one_file_folder}
            ${one_file_sources} -pthread -o ${program}
    DEPENDS ${one_file_sources} expect.h ${one_file}
    VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(build_entry_one_file_other ALL DEPENDS ${program})
  entry_test(one_file_other ${program})
endif()
