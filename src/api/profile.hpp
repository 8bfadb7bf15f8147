// SPDX-License-Identifier: MIT
// api/profile: the bodies of profile.h.
//
// Owns: their error numbers. Called on: any thread, not within a call of Talus. Must not know: the
// samples.
#ifndef TALUS_API_PROFILE_HPP
#define TALUS_API_PROFILE_HPP

#include <errno.h>
#include <unistd.h>

#include "modes/profile.hpp"
#include "modes/sample_distances.hpp"
#include "modes/tags.hpp"
#include "configuration/own_configuration.hpp"

namespace talus::core::api {

inline int profile_start(size_t mean_bytes) noexcept {
  if (mean_bytes == 0 || mean_bytes > mean_bytes_max) return EINVAL;
  if (environ != nullptr) configure_process();
  return profile::start(mean_bytes) ? 0 : ENOMEM;
}
inline void profile_stop() noexcept { profile::stop(); }

inline int tag_push(const char* tag) noexcept {
  return tags::push(tag != nullptr ? tag : "") ? 0 : ENOMEM;
}
inline void tag_pop() noexcept { tags::pop(); }

}  // namespace talus::core::api

#endif  // TALUS_API_PROFILE_HPP
