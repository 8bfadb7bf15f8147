// SPDX-License-Identifier: MIT
// fuzz/surroundings.cpp: what the program does to its process around the library.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "at_rest.hpp"
#include "places.hpp"
#include "process_calls.hpp"

namespace fuzz {
namespace {

void set_limit(int which, size_t bytes) {
  rlimit limit;
  getrlimit(static_cast<__rlimit_resource>(which), &limit);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

}  // namespace

void change_address_limit() {
  self().doing = "changing the limit of addresses";
  const size_t now = read_memory().address_bytes;
  if (now == 0 || one_in(3)) return lift_address_limit();
  const size_t bytes = now + (one_in(3) ? 0 : draw(24 * mib));
  set_limit(RLIMIT_AS, bytes);
  note("RLIMIT_AS", nullptr, bytes, 0, nullptr);
}

void lift_address_limit() { set_limit(RLIMIT_AS, SIZE_MAX); }

void lift_all_limits() {
  for (const int which : {RLIMIT_AS, RLIMIT_FSIZE, RLIMIT_NOFILE}) set_limit(which, SIZE_MAX);
  if (settings.locked_memory) munlockall();
}

void change_file_limit() {
  self().doing = "changing the limit of files";
  set_limit(RLIMIT_FSIZE, one_in(2) ? SIZE_MAX : draw(40 * mib));
}

void change_descriptors() {
  self().doing = "changing descriptors";
  // The library has its descriptors far from the ones that programs count on.
  const int descriptor = 1000 + static_cast<int>(draw(12));
  switch (draw(4)) {
    case 0:
      close(descriptor);
      break;
    case 1: {
      const int other = open("/dev/null", O_WRONLY | O_CLOEXEC);
      if (other < 0) break;
      dup2(other, descriptor);
      close(other);
      break;
    }
    case 2:
      set_limit(RLIMIT_NOFILE, one_in(2) ? SIZE_MAX : 3 + draw(60));
      break;
    default:
      break;
  }
}

void lock_some_memory() {
  self().doing = "locking memory";
  Place& place = any_place();
  if (!place.try_lock()) return;
  if (place.owner.load() == Owner::process && place.usable > 0) {
    if (one_in(3)) {
      munlock(place.block, place.usable);
    } else {
      mlock(place.block, place.usable);
    }
  }
  place.unlock();
}

void spawn_program() {
  if (!one_in(3)) return;
  self().doing = "spawning a program";
  char name[] = "true";
  char setting[] = "TALUS_CONFIG=none";
  char* words[] = {name, nullptr};
  char* environment[] = {setting, nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, "/bin/true", nullptr, nullptr, words, environment) != 0) return;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
}

}  // namespace fuzz
