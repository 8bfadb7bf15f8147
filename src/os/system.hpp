// SPDX-License-Identifier: MIT
// os/system: picks the operating system.
//
// Owns: the name System, which all floors above call. A port replaces this file, or adds its own
// operating system here (docs/porting.md); tests put another file of this name before it.
// Called on: not a call. Must not know: the calls.
#ifndef TALUS_OS_SYSTEM_HPP
#define TALUS_OS_SYSTEM_HPP

#include "base/base.hpp"
#include "os/complete.hpp"
// The alias names what these define; the floors above need the whole.
#include "os/linux/linux_os.hpp"  // IWYU pragma: keep
#if TALUS_FAKE_OS
#include "os/faulty_os.hpp"  // IWYU pragma: keep
#endif

namespace talus::core::os {

#if TALUS_FAKE_OS
using System = FaultyOs<Complete<LinuxOs>>;
static_assert(sizeof(AllCalls<System>) != 0, "checks each call");
#else
using System = Complete<LinuxOs>;
#endif

}  // namespace talus::core::os

#endif  // TALUS_OS_SYSTEM_HPP
