// SPDX-License-Identifier: MIT
// entry/credentials: the functions of libc that change what a thread may do or see.
//
// libc makes such a change in all its threads. The helper is not one of them, and would keep rights
// that the program gave up. Some calls need a process of one thread (unshare, setns), and the
// helper would be the second. So a guarded call ends the helper, waits until it is gone from the
// kernel's list, and keeps it away. Then the call goes to the next definition of its name.
//
// Talus does not see programs that call the kernel without libc. It does see those that use
// syscall() (system_call.cpp). prctl can give up new privileges or set a filter of system calls.
// The program then allows itself few calls, often without clone, and a filter for the calling
// thread would not bind the helper. From there on this process has no helper, and Talus does not
// ask the kernel what is resident.
//
// Owns: these names in libtalus.so, which alone interposes libc. Invariants: errno is the next
// function's; nothing is looked up before its first call. Called on: any thread, also in the child
// of a vfork, whose memory and helper are its parent's.
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.hpp"
#include "arch/arch.hpp"
#include "api/libc_names.hpp"
#include "entry/without_helper.hpp"

extern "C" {
[[gnu::weak]] void* dlsym(void* library, const char* name) noexcept;
}

namespace {

// The next definition of a name, after it was looked up.
struct Next {
  const char* name;
  talus::core::Atomic<uintptr_t> shared_function;

  // Null: the loader does not help, or no definition exists.
  template <typename Function>
  Function* find() noexcept {
    uintptr_t found = shared_function.load_init();  // all threads find the same
    if (found == 0 && &dlsym != nullptr) {
      const int error = errno;
      void* const after_this = reinterpret_cast<void*>(-1l);  // RTLD_NEXT
      found = reinterpret_cast<uintptr_t>(dlsym(after_this, name));
      shared_function.store_init(found);
      errno = error;
    }
    return reinterpret_cast<Function*>(found);
  }
};

long to_long(const void* value) noexcept { return reinterpret_cast<long>(value); }
long to_long(size_t value) noexcept { return static_cast<long>(value); }

// The kernel's answer in libc's form. It acts on one thread, where libc would act on all.
template <typename... Arguments>
int ask_kernel(long number, Arguments... arguments) noexcept {
  const long all[6] = {to_long(arguments)...};
  return static_cast<int>(talus::core::answer_of_kernel(
      talus::core::arch::system_call(number, all[0], all[1], all[2], all[3], all[4], all[5])));
}

template <typename Last, typename... Parameters>
int call_without_helper(Next& next, Last last_resort, Parameters... with) {
  talus::core::WithoutHelper without;
  auto* function = next.find<int(Parameters...)>();
  return function != nullptr ? function(with...) : last_resort();
}

constexpr unsigned as_it_is = ~0u;  // an id that stays unchanged

}  // namespace

// One function of libc: its exception specification, name, parameters, the kernel's call if no next
// definition exists, and the arguments.
#define TALUS_GUARDED(throws, name, parameters, last_resort, ...)          \
  static Next next_##name{#name, {}};                                      \
  extern "C" TALUS_EXPORT int name parameters throws {                     \
    return call_without_helper(                                            \
        next_##name, [=] { return ask_kernel last_resort; }, __VA_ARGS__); \
  }

TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, setuid, (uid_t id), (SYS_setuid, id), id)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, setgid, (gid_t id), (SYS_setgid, id), id)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, seteuid, (uid_t id), (SYS_setresuid, as_it_is, id, as_it_is), id)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, setegid, (gid_t id), (SYS_setresgid, as_it_is, id, as_it_is), id)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, setreuid, (uid_t real, uid_t effective),
              (SYS_setreuid, real, effective), real, effective)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, setregid, (gid_t real, gid_t effective),
              (SYS_setregid, real, effective), real, effective)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, setresuid, (uid_t real, uid_t effective, uid_t saved),
              (SYS_setresuid, real, effective, saved), real, effective, saved)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, setresgid, (gid_t real, gid_t effective, gid_t saved),
              (SYS_setresgid, real, effective, saved), real, effective, saved)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, setgroups, (size_t count, const gid_t* groups),
              (SYS_setgroups, count, groups), count, groups)
TALUS_GUARDED(, initgroups, (const char* user, gid_t group), (-1, group), user, group)
TALUS_GUARDED(noexcept, capset, (void* header, const void* data), (SYS_capset, header, data),
              header, data)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, unshare, (int flags), (SYS_unshare, static_cast<size_t>(flags)),
              flags)
TALUS_GUARDED(TALUS_LIBC_NOEXCEPT, setns, (int file, int kind),
              (SYS_setns, static_cast<size_t>(file), static_cast<size_t>(kind)), file, kind)

TALUS_CONSTINIT static Next next_prctl{"prctl", {}};
extern "C" TALUS_EXPORT int prctl(int option, ...) TALUS_LIBC_NOEXCEPT {
  size_t values[4];
  va_list rest;
  va_start(rest, option);
  for (size_t& value : values) value = va_arg(rest, size_t);  // registers that may hold anything
  va_end(rest);
  if (talus::core::enters_sandbox(option, values[0])) talus::core::end_helper_before_filter();
  if (auto* function = next_prctl.find<int(int, size_t, size_t, size_t, size_t)>()) {
    return function(option, values[0], values[1], values[2], values[3]);
  }
  return ask_kernel(SYS_prctl, static_cast<size_t>(option), values[0], values[1], values[2],
                    values[3]);
}
