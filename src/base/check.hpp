// SPDX-License-Identifier: MIT
// base/check: how Talus notices its own bugs.
//
// Owns: TALUS_CHECK (always on, for slow paths), TALUS_ASSERT (audit builds) and TALUS_AUDIT_SOUND
// (audit builds: the whole invariant at a state transition). The latter two are always compiled, so
// that names cannot rot, and cost other builds nothing. NDEBUG does not matter: programs that
// include the core (entry/header_only.hpp) often do not define it. TALUS_AUDIT_ONLY is a
// declaration or statement that other builds do not have. All are for bugs of Talus;
// os/report.hpp has one function for each fault of the program.
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

#if TALUS_AUDIT
#define TALUS_ASSERT(condition) TALUS_CHECK(condition)
#define TALUS_AUDIT_SOUND(object) TALUS_CHECK((object).is_sound())
#define TALUS_AUDIT_ONLY(...) __VA_ARGS__
#else
#define TALUS_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#define TALUS_AUDIT_SOUND(object) ((void)sizeof((object).is_sound()))
#define TALUS_AUDIT_ONLY(...)
#endif

#endif  // TALUS_BASE_CHECK_HPP
