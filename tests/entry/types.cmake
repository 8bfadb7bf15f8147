# SPDX-License-Identifier: MIT
#
# The C++ types: a program of two units with the library linked and header-only, in both standards,
# without exceptions and RTTI, and by the other compiler where there is one. Part of tests/entry.

set(types SOURCES types_main.cpp types_other.cpp)
cxx_entry(types_linked_17 17 talus_shared ${types})
cxx_entry(types_linked_20 20 talus_static ${types})
cxx_entry(types_linked_bare 17 talus_static ${types} FLAGS ${bare_flags})
# A program and a library that hide what they do not export, and share one heap.
add_library(entry_types_other SHARED types_other.cpp)
target_compile_options(entry_types_other PRIVATE ${header_warnings} -fvisibility=hidden)
target_link_libraries(entry_types_other PRIVATE talus_shared)
cxx_entry(types_hidden 17 talus_shared SOURCES types_main.cpp FLAGS -fvisibility=hidden)
target_link_libraries(entry_types_hidden PRIVATE entry_types_other)
cxx_entry(types_header_17 17 talus_header_only ${types})
cxx_entry(types_header_bare 20 talus_header_only ${types} FLAGS ${bare_flags} ${quick_flags})
other_cxx_entry(types_other_linked 17 talus_static ${types})
other_cxx_entry(types_other_linked_bare 20 talus_static ${types} FLAGS ${bare_flags})
other_cxx_entry(types_other_header 20 talus_header_only ${types} FLAGS ${quick_flags})
other_cxx_entry(types_other_header_bare 17 talus_header_only ${types}
  FLAGS ${bare_flags} ${quick_flags})
