// A small container is enough (N48): 64 MiB, half a processor, one processor; nothing is killed.
//
// Runs three other programs, which lie beside this one, in a control group with those limits. The
// alternation of limits_memory_cgroup has 46 MiB live, three quarters less the process itself.
// memory_pure_free_thread has 32 MiB and 64 sleeping threads. memory_drift has 24 MiB: when half
// are replaced at random, small values leave no page free, so that its peak is near twice what
// lives whatever the allocator does. One that makes an arena for each processor of the host, or
// keeps what it should return, is ended by the kernel. Whether the programs' own bars are met is
// asked elsewhere.
// SPDX-License-Identifier: MIT
#include "../control_group.hpp"
#include "../form.hpp"
#include "../relaunch.hpp"

#include <fcntl.h>
#include <sched.h>

namespace {

constexpr std::size_t limit_bytes = 64 * probe::mib;
constexpr const char* controllers[] = {"memory", "cpu"};

struct Program {
  const char* name;
  const char* role;
  const char* seconds;
  const char* live_mib;  // memory_pure_free_thread has its own
};

constexpr Program programs[] = {
    {"limits_memory_cgroup", "alternate", "2", "46"},
    {"memory_pure_free_thread", "", "2", "32"},
    {"memory_drift", "", "5", "24"},
};

// The path of a program beside this one.
bool find_beside(const char* name, char (&path)[600]) {
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 100);
  if (length <= 0) return false;
  path[length] = 0;
  char* slash = std::strrchr(path, '/');
  std::snprintf(slash + 1, 90, "%s", name);
  return access(path, X_OK) == 0;
}

bool limit(probe::ControlGroup& group) {
  return group.is_made() && group.set_memory_limit(limit_bytes) &&
         (group.set("cpu", "cpu.cfs_quota_us", "cpu.max", "50000") ||
          group.set("cpu", nullptr, "cpu.max", "50000 100000"));
}

// The last of the processors that are allowed: an affinity mask is what a cpuset comes down to.
bool stay_on_one_processor() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return false;
  for (int i = CPU_SETSIZE - 1; i >= 0; --i) {
    if (!CPU_ISSET(i, &allowed)) continue;
    CPU_ZERO(&allowed);
    CPU_SET(i, &allowed);
    return sched_setaffinity(0, sizeof(allowed), &allowed) == 0;
  }
  return false;
}

// The programs' own findings are not this probe's.
bool be_silent() {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  return nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0;
}

std::size_t survived = 0;

bool run(const Program& program) {
  char path[600];
  if (!find_beside(program.name, path)) {
    probe::fail("no %s beside this program", program.name);
    return true;
  }
  probe::ControlGroup group(controllers);
  if (!limit(group)) return false;
  setenv("CONFORMANCE_SECONDS", program.seconds, 1);
  setenv("CONFORMANCE_LIVE_MIB", program.live_mib, 1);
  const double start = probe::now_seconds();
  const auto enter = [&] { return be_silent() && stay_on_one_processor() && group.join(); };
  const probe::Outcome outcome = probe::relaunch(program.role, 50, enter, environ, path);
  PROBE_EXPECT(group.killed() == 0, "%s: the kernel ended it at its limit", program.name);
  PROBE_EXPECT(outcome.code == 0 || outcome.code == 1, "%s: %s %d", program.name,
               outcome.timed_out ? "hangs" : "ended by signal", outcome.signal_number);
  probe::figure(program.name, probe::now_seconds() - start, "s");
  if (group.killed() == 0 && outcome.signal_number == 0) ++survived;
  return true;
}

}  // namespace

int main() {
  for (const Program& program : programs) {
    if (!run(program)) probe::skip("no control group with memory and processor limits can be made");
  }
  probe::figure("survived", static_cast<double>(survived), "of 3 programs");
  return probe::verdict();
}
