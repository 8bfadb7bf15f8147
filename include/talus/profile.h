/* SPDX-License-Identifier: MIT
 *
 * profile.h: the heap profile of this process, from inside: its start and stop, and tags.
 *
 * A profile samples about one block in a number of bytes, with its stack. `talus profile PID`, a
 * reader outside, shows which functions hold memory. The process itself never writes a profile and
 * looks up no name, so there is no call that dumps one: a fork that runs `talus profile` does it.
 * All functions are thread-safe, and keep errno unless they say more. More: docs/profile.md. */
#ifndef TALUS_PROFILE_H
#define TALUS_PROFILE_H

#if defined(TALUS_HEADER_ONLY) && !defined(__cplusplus)
#error "TALUS_HEADER_ONLY is for C++: a C program links the library"
#elif defined(TALUS_HEADER_ONLY) && !defined(TALUS_ONE_HEADER)
#include "talus/talus.hpp" /* the one header, which has all that is declared here */
#else

#include "talus/talus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Samples blocks of all threads from here on, one in `mean_bytes` bytes of allocations, 1 to 2^32 -
 * 1; 524288 is usual. The mean of the first profile stays for later ones. Returns 0, or an error
 * number: EINVAL, or ENOMEM if there is no memory or too many modes are on. A profile that is on
 * goes on. Not from a handler of signals, nor from talus_set_limit_handler's. */
TALUS_API int talus_profile_start(size_t mean_bytes) TALUS_NOEXCEPT;

/* No more blocks are sampled. What was sampled can still be read. */
TALUS_API void talus_profile_stop(void) TALUS_NOEXCEPT;

enum {
  TALUS_TAGS_MAX = 256,     /* of a process, that differ */
  TALUS_TAG_BYTES_MAX = 31, /* of a tag's text; more are cut off */
  TALUS_TAG_DEPTH_MAX = 16  /* of a thread; deeper ones count as the outer one */
};

/* The calling thread allocates for this purpose until talus_tag_pop(), such as "request". A block
 * belongs to the innermost tag. pprof shows it as the label `tag` (`-tagfocus`, `-tagroot`). The
 * text is copied. Costs a search in a table. Returns 0, or ENOMEM where the process has too many
 * tags; then blocks have the tag before. Each push needs a pop, also one that failed. */
TALUS_API int talus_tag_push(const char* tag) TALUS_NOEXCEPT;

/* Ends the tag that this thread pushed last. Without one it does nothing. */
TALUS_API void talus_tag_pop(void) TALUS_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif /* not by way of the one header */
#endif /* TALUS_PROFILE_H */
