// SPDX-License-Identifier: MIT
// os/linux/linux_os: Linux as an operating system of the contract.
//
// Owns: the list of what Linux provides: the core calls and all groups. Contract: os/contract.hpp.
// No function touches errno, and each may be called on any thread at any time, before libc is
// ready, unless its clause says otherwise.
#ifndef TALUS_OS_LINUX_LINUX_OS_HPP
#define TALUS_OS_LINUX_LINUX_OS_HPP

#include "os/linux/barrier.hpp"
#include "os/linux/file_memory.hpp"
#include "os/linux/files.hpp"
#include "os/linux/frames.hpp"
#include "os/linux/mappings.hpp"
#include "os/linux/memory.hpp"
#include "os/linux/threads.hpp"

namespace talus::core::os {

struct LinuxOs : LinuxMemory,
                 LinuxMappings,
                 LinuxThreads,
                 LinuxFiles,
                 LinuxFileMemory,
                 LinuxBarrier,
                 LinuxFrames {};

}  // namespace talus::core::os

#endif  // TALUS_OS_LINUX_LINUX_OS_HPP
