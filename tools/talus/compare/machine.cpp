// SPDX-License-Identifier: MIT
//
// Owns: the queries to the kernel about the machine, see machine.hpp.
// Invariant: a query without an answer leaves its field empty.
// Must not know: the samples.

#include "machine.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

namespace talus::tool {

Machine this_machine() {
  Machine machine;
  utsname name;
  if (::uname(&name) == 0)
    machine.kernel = std::string(name.sysname) + " " + name.release + " " + name.machine;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; machine.processor.empty() && std::getline(file, line);) {
    const size_t value = line.find(": ");
    if (line.rfind("model name", 0) == 0 && value != std::string::npos)
      machine.processor = line.substr(value + 2);
  }
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) machine.processors = CPU_COUNT(&usable);
  machine.memory_kib = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                       (static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024);
  return machine;
}

}  // namespace talus::tool
