// SPDX-License-Identifier: MIT
// base/attributes: every compiler attribute that Talus uses, under a name that gives its purpose.
//
// Owns: the macros TALUS_*. Invariant: no other file spells a compiler attribute or asks which
// compiler it is. Called on: everywhere, no state. Must not know: the allocator.
#ifndef TALUS_BASE_ATTRIBUTES_HPP
#define TALUS_BASE_ATTRIBUTES_HPP

#include <cstddef>  // each C++ library finds out which C library there is: __GLIBC__

// A function on the path of every malloc and free: always inlined.
#define TALUS_FAST [[gnu::always_inline]] inline
// A function that nearly every process runs, at its start or now and then. The library keeps these
// together, so that a process maps few pages of it; entry/layout.ld names the first ones.
#define TALUS_USUAL [[gnu::hot]] inline
// A function that runs only at the start and the end of a process. The library keeps these
// together, before the usual ones, and compiles them for size. A process that does nothing else
// maps few pages.
#define TALUS_START [[gnu::cold]] inline
// A function that begins at a cache line. A malloc and free that lie 32 bytes further cost 7 % of a
// program that does little else (B16).
#define TALUS_AT_LINE __attribute__((aligned(64)))
// The same two for functions that are not inline.
#define TALUS_USUAL_ENTRY __attribute__((hot)) TALUS_AT_LINE
#define TALUS_START_ENTRY __attribute__((section(".text.startup")))
// A function that must stay out of line, so that its caller keeps its registers and its size. Most
// of these are usual ones, and lie with them.
#define TALUS_SLOW [[gnu::noinline, gnu::hot]] inline
// A slow function to which the fast paths jump.
#define TALUS_NEXT [[gnu::noinline, gnu::hot, gnu::aligned(64)]] inline
// A slow function that hardly ever runs: also laid out far from the hot code.
#define TALUS_COLD [[gnu::noinline, gnu::cold]] inline
// A slow function of a process that switched something on, or that runs out of memory: laid out
// behind all usual code. Cold functions lie with the code of the start, which each process maps.
#define TALUS_APART [[gnu::noinline]] inline

// A function that a lower floor declares and calls, and a higher floor defines; src/README.md lists
// all of them.
#define TALUS_HOOK [[gnu::cold]] inline

// Clang's thread safety analysis: which data a lock guards, and which functions lock it or need it.
// Its build of the library fails where the code and these disagree; gcc does not see them. They
// stand behind a declaration, or in front of the name of a class.
#if defined(__clang__)
#define TALUS_LOCK_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define TALUS_LOCK_ATTRIBUTE(attribute)
#endif
// A class whose objects are locks, and one whose objects hold a lock while they live.
#define TALUS_CAPABILITY(name) TALUS_LOCK_ATTRIBUTE(capability(name))
#define TALUS_SCOPED_CAPABILITY TALUS_LOCK_ATTRIBUTE(scoped_lockable)
// Data that is read and written under this lock.
#define TALUS_GUARDED_BY(lock) TALUS_LOCK_ATTRIBUTE(guarded_by(lock))
// Functions: the caller holds the lock; it is locked; it is unlocked; it is locked if they return
// true; they return this lock. Without a name the lock is the object itself.
#define TALUS_REQUIRES(...) TALUS_LOCK_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define TALUS_ACQUIRE(...) TALUS_LOCK_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TALUS_RELEASE(...) TALUS_LOCK_ATTRIBUTE(__release_capability__(__VA_ARGS__))
#define TALUS_TRY_ACQUIRE(...) TALUS_LOCK_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define TALUS_LOCK_RETURNED(lock) TALUS_LOCK_ATTRIBUTE(lock_returned(lock))
// A function that the analysis cannot follow. A comment beside it says why.
#define TALUS_NO_THREAD_SAFETY_ANALYSIS TALUS_LOCK_ATTRIBUTE(no_thread_safety_analysis)

#define TALUS_LIKELY(condition) (__builtin_expect(!!(condition), 1))
#define TALUS_UNLIKELY(condition) (__builtin_expect(!!(condition), 0))

// Thread-local storage that is one load away. `__thread` promises constant initialisation, so no
// compiler adds a guard or a call. When the library is loaded late, initial-exec costs 8 bytes of
// the static TLS surplus. musl has no surplus: there a header-only plugin finds its storage by a
// call. A linker turns the call into the load for what is linked into the program.
#if defined(TALUS_HEADER_ONLY) && defined(__PIC__) && !defined(__PIE__) && !defined(__GLIBC__)
#define TALUS_THREAD_LOCAL __attribute__((tls_model("local-dynamic"))) __thread
#else
#define TALUS_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) __thread
#endif

// Interface functions; everything else is hidden by -fvisibility=hidden.
#define TALUS_EXPORT __attribute__((visibility("default")))
#define TALUS_HIDDEN __attribute__((visibility("hidden")))

#if defined(__cpp_constinit)
#define TALUS_CONSTINIT constinit
#elif defined(__clang__)
#define TALUS_CONSTINIT [[clang::require_constant_initialization]]
#else
#define TALUS_CONSTINIT
#endif

// Under ThreadSanitizer and AddressSanitizer plain code replaces some fast tricks.
#if defined(__SANITIZE_THREAD__)
#define TALUS_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TALUS_UNDER_TSAN 1
#endif
#endif
#ifndef TALUS_UNDER_TSAN
#define TALUS_UNDER_TSAN 0
#endif

// For the few reads and writes whose order ThreadSanitizer cannot know (cache/idle_caches.hpp).
#if TALUS_UNDER_TSAN
#define TALUS_NO_RACE_CHECK __attribute__((no_sanitize("thread"), noinline))
#else
#define TALUS_NO_RACE_CHECK
#endif
// For reads of memory that belongs to no object of ours (unwind/).
#if defined(__SANITIZE_ADDRESS__)
#define TALUS_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TALUS_UNDER_ASAN 1
#endif
#endif
#if defined(TALUS_UNDER_ASAN)
#define TALUS_NO_ADDRESS_CHECK __attribute__((no_sanitize("address"), noinline))
#else
#define TALUS_NO_ADDRESS_CHECK
#endif
// For an order that follows from time: writes before TELL_RELEASE are visible after TELL_ACQUIRE of
// the same address. These functions are the sanitizer's, so they must not be hidden like the other
// declarations of the header-only entry point.
#if TALUS_UNDER_TSAN
extern "C" __attribute__((visibility("default"))) void __tsan_release(void* address);
extern "C" __attribute__((visibility("default"))) void __tsan_acquire(void* address);
#define TALUS_TELL_RELEASE(address) __tsan_release(address)
#define TALUS_TELL_ACQUIRE(address) __tsan_acquire(address)
#else
#define TALUS_TELL_RELEASE(address) static_cast<void>(0)
#define TALUS_TELL_ACQUIRE(address) static_cast<void>(0)
#endif

// Tests build the library on an operating system that fails on request (os/faulty_os.hpp).
#ifndef TALUS_FAKE_OS
#define TALUS_FAKE_OS 0
#endif

// For emulators that unmap the source when pages are moved (qemu-user up to 7.2 does not know
// MREMAP_DONTUNMAP): blocks are copied instead.
#ifndef TALUS_COPY_ONLY
#define TALUS_COPY_ONLY 0
#endif

// State transitions check the whole invariant of what they changed (-DTALUS_AUDIT=1).
#ifndef TALUS_AUDIT
#define TALUS_AUDIT 0
#endif

#endif  // TALUS_BASE_ATTRIBUTES_HPP
