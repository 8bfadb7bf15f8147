// SPDX-License-Identifier: MIT
// entry/profile_names: the bodies of profile.h, one line each.
//
// Owns: nothing. Part of talus_names.hpp, whose TALUS_ENTRY precedes each body.
#ifndef TALUS_ENTRY_PROFILE_NAMES_HPP
#define TALUS_ENTRY_PROFILE_NAMES_HPP

#include "talus/profile.h"
#include "base/base.hpp"
#include "api/profile.hpp"

TALUS_ENTRY int talus_profile_start(size_t mean_bytes) noexcept {
  return talus::core::api::profile_start(mean_bytes);
}
TALUS_ENTRY void talus_profile_stop(void) noexcept { talus::core::api::profile_stop(); }
TALUS_ENTRY int talus_tag_push(const char* tag) noexcept { return talus::core::api::tag_push(tag); }
TALUS_ENTRY void talus_tag_pop(void) noexcept { talus::core::api::tag_pop(); }

#endif  // TALUS_ENTRY_PROFILE_NAMES_HPP
