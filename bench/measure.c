// measure: runs one program and writes the kernel's account of it.
//
// Owns: the measurement of every benchmark process. On Linux a child's peak RSS (ru_maxrss) starts
// at the resident memory of its parent at the fork. This is therefore a small static C program:
// under a Python runner every program would show a floor of 15 MiB or more. `talus compare` has a
// launcher of its own (tools/talus/compare/launch.cpp), which also handles jobs, sessions and
// terminals.
// Invariant: OUTFILE exists after a return, even if the program crashed. It is written under
// another name first, so a reader never sees half of it.
// mean_rss_kib is the mean RSS over time, read from /proc every ten milliseconds. It is 0 if the
// kernel has no pidfd_open or the program ends before the first reading.
// It has no preloaded library (it is static) and passes the environment on unchanged.
//
// usage: measure OUTFILE -- program arguments...
// exit:  the program's status, 128 + signal if it was killed, 125 if measuring itself failed,
//        127 if the program could not be started.
//
// SPDX-License-Identifier: MIT

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { exit_not_measured = 125, exit_not_started = 127, sample_ms = 10 };

static double seconds_of(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static double now_s(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int refuse(const char* what) {
  fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
  return exit_not_measured;
}

static long rss_kib_of(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
  FILE* file = fopen(path, "r");
  long pages = 0;
  if (file == NULL) return 0;
  if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// Waits for the end of the child. Returns its mean resident memory until then.
static double mean_rss_kib_until_end(pid_t child) {
  struct pollfd ended = {(int)syscall(SYS_pidfd_open, child, 0), POLLIN, 0};
  double sum_kib = 0;
  long samples = 0;
  if (ended.fd < 0) return 0;  // wait4 waits instead
  for (;;) {
    int ready = poll(&ended, 1, sample_ms);
    if (ready > 0 || (ready < 0 && errno != EINTR)) break;
    sum_kib += (double)rss_kib_of(child);
    samples++;
  }
  close(ended.fd);
  return samples > 0 ? sum_kib / (double)samples : 0;
}

static int write_result(const char* path, double wall_s, double mean_rss_kib,
                        const struct rusage* usage, int status) {
  char partial_path[4096];
  int length = snprintf(partial_path, sizeof partial_path, "%s.partial", path);
  if (length < 0 || (size_t)length >= sizeof partial_path) {
    errno = ENAMETOOLONG;
    return refuse(path);
  }
  FILE* file = fopen(partial_path, "w");
  if (file == NULL) return refuse(partial_path);
  fprintf(file,
          "{\"wall_s\": %.6f, \"user_s\": %.6f, \"sys_s\": %.6f, \"max_rss_kib\": %ld, "
          "\"mean_rss_kib\": %.0f, \"minor_faults\": %ld, \"major_faults\": %ld, "
          "\"voluntary_switches\": %ld, \"involuntary_switches\": %ld, \"exit_status\": %d, "
          "\"signal\": %d}\n",
          wall_s, seconds_of(usage->ru_utime), seconds_of(usage->ru_stime), usage->ru_maxrss,
          mean_rss_kib, usage->ru_minflt, usage->ru_majflt, usage->ru_nvcsw, usage->ru_nivcsw,
          WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  if (fclose(file) != 0) return refuse(partial_path);
  if (rename(partial_path, path) != 0) return refuse(path);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char** argv) {
  if (argc < 4 || strcmp(argv[2], "--") != 0) {
    fputs("usage: measure OUTFILE -- program arguments...\n", stderr);
    return exit_not_measured;
  }
  double start_s = now_s();
  pid_t child = fork();
  if (child < 0) return refuse("fork");
  if (child == 0) {
    execvp(argv[3], argv + 3);
    fprintf(stderr, "measure: %s: %s\n", argv[3], strerror(errno));
    _exit(exit_not_started);
  }
  double mean_rss_kib = mean_rss_kib_until_end(child);
  int status = 0;
  struct rusage usage;
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) return refuse("wait4");
  }
  return write_result(argv[1], now_s() - start_s, mean_rss_kib, &usage, status);
}
