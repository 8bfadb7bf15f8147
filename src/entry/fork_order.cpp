// SPDX-License-Identifier: MIT
// entry/fork_order: registers Talus' fork handlers before all others of a program.
//
// Handlers registered later run earlier before a fork, and later after it. So other handlers
// allocate while nothing is locked. A lock that they take comes before Talus' own, as in a program
// that allocates inside it. Constructors of libraries that start earlier would register first. They
// register by this name, which interposes libc's.
//
// Owns: the name in libtalus.so, and the next function of that name, looked up once in each
// process. Other entry points, and C libraries without that name, register at start. Called on: any
// thread; first on the thread that runs constructors.
#include <errno.h>

#include "base/base.hpp"
#include "threads/library_parts.hpp"
#include "process/fork.hpp"
#include "entry/next_definition.hpp"

extern "C" {
[[gnu::weak]] void* dlsym(void* library, const char* name) noexcept;
}

namespace {

using talus::core::RegisterForks;

constexpr char register_name[] = "__register_atfork";
talus::core::Atomic<RegisterForks*> shared_next_register;  // null: not looked up yet

// libc comes before a library that was opened late. Null: the loader knows of none.
TALUS_START_ENTRY RegisterForks* find_register() noexcept {
  uintptr_t found = talus::core::next_definition(register_name, register_name);
  if (found == 0) found = talus::core::first_definition(register_name);
  auto* function = reinterpret_cast<RegisterForks*>(found);
  if (function != nullptr && function != __register_atfork) return function;
  void* const after_this = reinterpret_cast<void*>(-1l);  // RTLD_NEXT
  if (&dlsym == nullptr) return nullptr;
  return reinterpret_cast<RegisterForks*>(dlsym(after_this, register_name));
}

}  // namespace

extern "C" TALUS_START_ENTRY int talus_register_forks(void (*before)(), void (*in_parent)(),
                                                      void (*in_child)(), void* object) {
  RegisterForks* next = shared_next_register.load_init();  // all threads find the same
  if (next == nullptr) {
    next = find_register();
    shared_next_register.store_init(next);
  }
  return next == nullptr ? ENOMEM : next(before, in_parent, in_child, object);
}

extern "C" TALUS_EXPORT TALUS_START_ENTRY int __register_atfork(void (*before)(),
                                                                void (*in_parent)(),
                                                                void (*in_child)(),
                                                                void* object) noexcept {
  talus::core::watch_forks();
  return talus_register_forks(before, in_parent, in_child, object);
}
