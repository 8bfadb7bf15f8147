// SPDX-License-Identifier: MIT
// tests/entry/options_header: options_main with Talus included as a header.
#include <talus/talus.hpp>

#include "options_main.h"
