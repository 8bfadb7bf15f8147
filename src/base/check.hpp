// SPDX-License-Identifier: MIT
// base/check: how Talus notices its own bugs.
//
// Owns: TALUS_CHECK (always on, for slow paths), TALUS_ASSERT (debug builds; always compiled, so
// that names cannot rot) and TALUS_AUDIT_SOUND (audit builds: the whole invariant at a state
// transition). These are for bugs of Talus; os/report.hpp has one function for each fault of the
// program.
// The single upward hook of floor 1 is fatal(), defined on floor 3.
#ifndef TALUS_BASE_CHECK_HPP
#define TALUS_BASE_CHECK_HPP

#include "base/attributes.hpp"

namespace talus::core {

// Writes the text to standard error and aborts; never returns, allocates nothing.
[[noreturn]] TALUS_HOOK void fatal(const char* expression, const char* file, int line) noexcept;

}  // namespace talus::core

#define TALUS_CHECK(condition) \
  (TALUS_LIKELY(condition) ? (void)0 : ::talus::core::fatal(#condition, __FILE__, __LINE__))

#if defined(NDEBUG) && !TALUS_AUDIT
#define TALUS_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#else
#define TALUS_ASSERT(condition) TALUS_CHECK(condition)
#endif

#if TALUS_AUDIT
#define TALUS_AUDIT_SOUND(object) TALUS_CHECK((object).is_sound())
#else
#define TALUS_AUDIT_SOUND(object) ((void)sizeof((object).is_sound()))
#endif

#endif  // TALUS_BASE_CHECK_HPP
