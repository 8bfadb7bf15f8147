// SPDX-License-Identifier: MIT
// fuzz/settings.cpp: the names of the settings, and how they are read.
#include "settings.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace fuzz {

Settings settings;

namespace {

struct Row {
  const char* name;
  uint64_t* value;
};
const Row rows[] = {
    {"seed", &settings.seed},
    {"seconds", &settings.seconds},
    {"steps", &settings.steps},
    {"threads", &settings.threads},
    {"places", &settings.places},
    {"live_mib", &settings.live_mib},
    {"heaps", &settings.heaps},
    {"providers", &settings.providers},
    {"files", &settings.files},
    {"bounded", &settings.bounded},
    {"containers", &settings.containers},
    {"forks", &settings.forks},
    {"options", &settings.options},
    {"trims", &settings.trims},
    {"large", &settings.large},
    {"limits", &settings.limits},
    {"address_limit", &settings.address_limit},
    {"descriptors", &settings.descriptors},
    {"file_size", &settings.file_size},
    {"locked_memory", &settings.locked_memory},
    {"huge", &settings.huge},
    {"spawns", &settings.spawns},
    {"child_threads", &settings.child_threads},
    {"refusals", &settings.refusals},
    {"refused_calls", &settings.refused_calls},
    {"may_fail", &settings.may_fail},
    {"mapped", &settings.mapped},
    {"hardened", &settings.hardened},
    {"guarded", &settings.guarded},
    {"resident", &settings.resident},
    {"backtraces", &settings.backtraces},
};

bool read_setting(const char* word) {
  const char* value = strchr(word, '=');
  if (value == nullptr) return false;
  const size_t length = static_cast<size_t>(value - word);
  value++;
  if (length == strlen("directory") && strncmp(word, "directory", length) == 0) {
    settings.directory = value;
    return true;
  }
  for (const Row& row : rows) {
    if (strlen(row.name) != length || strncmp(word, row.name, length) != 0) continue;
    char* end = nullptr;
    *row.value = strtoull(value, &end, 10);
    return end != value && *end == 0;
  }
  return false;
}

}  // namespace

bool read_settings(int count, char** words) {
  for (int i = 1; i < count; i++) {
    if (read_setting(words[i])) continue;
    fprintf(stderr, "%s: not understood; name=NUMBER, of:", words[i]);
    for (const Row& row : rows) fprintf(stderr, " %s", row.name);
    fprintf(stderr, "; or directory=PATH\n");
    return false;
  }
  Settings& all = settings;
  if (all.threads > worker_count_max) all.threads = worker_count_max;
  if (all.places > place_count_max) all.places = place_count_max;
  if (all.places == 0) all.places = 1;
  if (all.limits || all.address_limit || all.refusals || all.descriptors || all.file_size) {
    all.may_fail = 1;
  }
  return true;
}

}  // namespace fuzz
