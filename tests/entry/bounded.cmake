# SPDX-License-Identifier: MIT
#
# Bounded instances by way of talus/bounded.h and talus/bounded.hpp, in C and C++, with the library
# linked and header-only. The programs use no exceptions and no RTTI. The other compiler builds
# them, too, where there is one. Part of tests/entry.

linked_entry(bounded_c uses_bounded.c talus_shared)
linked_entry(bounded_c_static uses_bounded.c talus_static -static)

cxx_entry(bounded_static 20 talus_static SOURCES bounded_main.cpp)
cxx_entry(bounded_header 17 talus_header_only SOURCES bounded_main.cpp FLAGS ${bare_flags})
other_cxx_entry(bounded_other 20 talus_header_only SOURCES bounded_main.cpp
  FLAGS ${quick_flags})
