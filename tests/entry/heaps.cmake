# SPDX-License-Identifier: MIT
#
# Heaps of one's own by way of talus/heap.hpp: with the library linked and header-only, without
# exceptions and RTTI, and by the other compiler where there is one. Part of tests/entry.

cxx_entry(heaps_shared 17 talus_shared SOURCES heaps_main.cpp)
cxx_entry(heaps_static 20 talus_static SOURCES heaps_main.cpp FLAGS ${bare_flags})
cxx_entry(heaps_header 17 talus_header_only SOURCES heaps_main.cpp)
other_cxx_entry(heaps_other 20 talus_header_only SOURCES heaps_main.cpp FLAGS ${quick_flags})
