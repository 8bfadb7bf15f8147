# SPDX-License-Identifier: MIT
#
# Options from every place, in every entry. Part of tests/entry.

foreach(kind shared static)
  add_executable(options_${kind} options_linked.c)
  target_include_directories(options_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(options_${kind} PRIVATE talus_${kind} Threads::Threads)
endforeach()
add_executable(options_whole options_linked.c)
target_include_directories(options_whole PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(options_whole PRIVATE talus_static Threads::Threads -static)
add_executable(options_header options_header.cpp)
target_link_libraries(options_header PRIVATE talus_header_only Threads::Threads)
target_compile_options(options_header PRIVATE ${quick_flags})
set(linked)
foreach(kind shared static whole header)
  target_compile_options(options_${kind} PRIVATE -Wall -Wextra -Werror)
  list(APPEND linked $<TARGET_FILE:options_${kind}>)
endforeach()

foreach(kind exporting hiding)
  add_executable(options_${kind} options_preloaded.c)
  target_compile_options(options_${kind} PRIVATE -Wall -Wextra -fno-builtin)
endforeach()
target_link_options(options_exporting PRIVATE -rdynamic)
target_link_libraries(options_hiding PRIVATE -Wl,--no-as-needed stdc++)

entry_test(options ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/options_test.py
  --library $<TARGET_FILE:talus_shared> --exporting $<TARGET_FILE:options_exporting>
  --hiding $<TARGET_FILE:options_hiding> --linked ${linked})
