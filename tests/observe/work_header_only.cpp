// SPDX-License-Identifier: MIT
// tests/observe/work_header_only: the same process with Talus as a header.
#include <talus/talus.hpp>

#include "work.c"
