// SPDX-License-Identifier: MIT
// retention/decay_clock: the number of decay passes so far, by which the age of slabs is measured.
//
// Owns: the number, which wraps. Called on: the background thread advances it, any thread reads it.
#ifndef TALUS_RETENTION_DECAY_CLOCK_HPP
#define TALUS_RETENTION_DECAY_CLOCK_HPP

#include "base/base.hpp"

namespace talus::core {

TALUS_CONSTINIT inline Atomic<uint16_t> decay_clock;

}  // namespace talus::core

#endif  // TALUS_RETENTION_DECAY_CLOCK_HPP
