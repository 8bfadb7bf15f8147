// SPDX-License-Identifier: MIT
// base: the face of floor 1, the language and nothing else. Other floors include this file, not its
// parts. It owns no state and does not know memory, threads or the operating system.
#ifndef TALUS_BASE_BASE_HPP
#define TALUS_BASE_BASE_HPP

#include "base/atomic.hpp"
#include "base/attributes.hpp"
#include "base/audit.hpp"
#include "base/bit_row.hpp"
#include "base/bits.hpp"
#include "base/check.hpp"
#include "base/config.hpp"
#include "base/high_mark.hpp"
#include "base/low_mark.hpp"
#include "base/pool_text.hpp"
#include "base/turn_mark.hpp"
#include "base/units.hpp"

#endif  // TALUS_BASE_BASE_HPP
