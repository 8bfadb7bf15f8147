/* SPDX-License-Identifier: MIT
 * tests/entry/options_linked: options_main with the library linked, shared or static.
 */
#include <talus/talus.h>

#include "options_main.h"
