/* SPDX-License-Identifier: MIT
 * mallctl.h: the few names of jemalloc's mallctl that programs ask most, answered by Talus.
 *
 * For programs that call mallctl and are to run on Talus unchanged: include this file in place of
 * <jemalloc/jemalloc.h>. It is a header alone; the library has no such symbol. C99 or C++.
 *
 *   read        epoch, version, stats.allocated, stats.active, stats.resident, stats.metadata,
 *               stats.mapped, stats.retained, thread.allocated, arenas.dirty_decay_ms
 *   write       epoch, arenas.dirty_decay_ms
 *   neither     arena.N.purge, arena.N.decay: the free memory of the process goes back, whatever N
 *
 * All other names are unknown here, prof.* among them: talus profile PID writes profiles.
 */
#ifndef TALUS_MALLCTL_H
#define TALUS_MALLCTL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "talus/talus.h"

/* For this file alone. */
static inline int talus_mallctl_read(const void* value, size_t bytes, void* old,
                                     size_t* old_bytes) {
  if (old == NULL || old_bytes == NULL) return 0;
  if (*old_bytes != bytes) {
    memcpy(old, value, *old_bytes < bytes ? *old_bytes : bytes);
    *old_bytes = bytes < *old_bytes ? bytes : *old_bytes;
    return EINVAL;
  }
  memcpy(old, value, bytes);
  return 0;
}

static inline int talus_mallctl_decay(void* old, size_t* old_bytes, const void* fresh,
                                      size_t fresh_bytes) {
  char text[32];
  ssize_t value = 0;
  if (talus_get_option("decay_ms", text, sizeof text) != 0) return EAGAIN;
  value = (ssize_t)strtoll(text, NULL, 10);
  if (fresh != NULL) {
    ssize_t wanted = 0;
    if (fresh_bytes != sizeof wanted) return EINVAL;
    memcpy(&wanted, fresh, sizeof wanted);
    if (wanted < 0) return EFAULT; /* never: Talus has no such value */
    snprintf(text, sizeof text, "%lld", (long long)wanted);
    if (talus_set_option("decay_ms", text) != 0) return EFAULT;
  }
  return talus_mallctl_read(&value, sizeof value, old, old_bytes);
}

/* As mallctl of jemalloc(3). Reads the value of `name` into `old`, of *old_bytes bytes, if neither
 * is null. Sets it from `fresh`, of `fresh_bytes` bytes, if that is not null. Sizes are size_t,
 * epoch and thread.allocated uint64_t, times ssize_t, version const char*. stats.resident asks the
 * kernel about each page. Returns 0 or an error. ENOENT: an unknown name; EPERM: it cannot be set;
 * EINVAL: another size of the value; EFAULT: a value that cannot be; EAGAIN: it is not known here.
 * Any thread may call it; not for signal handlers. */
static inline int talus_mallctl(const char* name, void* old, size_t* old_bytes, void* fresh,
                                size_t fresh_bytes) {
  static const char* const sizes[][2] = {
      {"stats.allocated", "heap.live_bytes"},     {"stats.active", "heap.total_bytes"},
      {"stats.mapped", "heap.total_bytes"},       {"stats.metadata", "space.metadata_bytes"},
      {"stats.resident", "resident.total_bytes"}, {"stats.retained", "space.clean_bytes"}};
  uint64_t number = 1; /* epoch: each call looks anew */
  size_t i = 0;
  if (strcmp(name, "epoch") == 0) {
    if (fresh != NULL && fresh_bytes != sizeof number) return EINVAL;
    return talus_mallctl_read(&number, sizeof number, old, old_bytes);
  }
  if (strcmp(name, "arenas.dirty_decay_ms") == 0) {
    return talus_mallctl_decay(old, old_bytes, fresh, fresh_bytes);
  }
  if (strncmp(name, "arena.", 6) == 0) {
    const char* const verb = name + 6 + strspn(name + 6, "0123456789");
    if (verb == name + 6) return ENOENT;
    if (strcmp(verb, ".purge") != 0 && strcmp(verb, ".decay") != 0) return ENOENT;
    if (old != NULL || old_bytes != NULL || fresh != NULL) return EPERM;
    (void)talus_release(SIZE_MAX);
    return 0;
  }
  if (strcmp(name, "version") == 0) {
    const char* const version = talus_version();
    if (fresh != NULL) return EPERM;
    return talus_mallctl_read(&version, sizeof version, old, old_bytes);
  }
  if (strcmp(name, "thread.allocated") == 0) {
    if (fresh != NULL) return EPERM;
    number = talus_thread_allocated();
    return talus_mallctl_read(&number, sizeof number, old, old_bytes);
  }
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    size_t value = 0;
    if (strcmp(name, sizes[i][0]) != 0) continue;
    if (fresh != NULL) return EPERM;
    if (talus_get(sizes[i][1], &number) != 0) return EAGAIN;
    value = (size_t)number;
    if (strcmp(name, "stats.mapped") == 0 && talus_get("space.retained_bytes", &number) == 0) {
      value += (size_t)number;
    }
    return talus_mallctl_read(&value, sizeof value, old, old_bytes);
  }
  return ENOENT;
}

#define mallctl(name, old, old_bytes, fresh, fresh_bytes) \
  talus_mallctl(name, old, old_bytes, fresh, fresh_bytes)

#endif /* TALUS_MALLCTL_H */
