// SPDX-License-Identifier: MIT
// settings/version: which Talus this is, readable from outside the process.
//
// Owns: the version text, and an ELF note with it (section .note.talus, owner "Talus", type 1).
// With the note, `talus check` finds Talus in any mapped file. The text comes from <talus/talus.h>,
// its only source. No state; must not know anything else.
#ifndef TALUS_SETTINGS_VERSION_HPP
#define TALUS_SETTINGS_VERSION_HPP

#include "talus/talus.h"

namespace talus::core {

inline constexpr char version_text[] = TALUS_VERSION;

struct VersionNote {
  uint32_t name_bytes;
  uint32_t text_bytes;
  uint32_t type;
  char name[8];
  char text[(sizeof(version_text) + 3) / 4 * 4];
};

[[gnu::section(".note.talus"), gnu::used,
  gnu::aligned(4)]] static const VersionNote version_note = {6, sizeof(version_text), 1, "Talus",
                                                             TALUS_VERSION};

}  // namespace talus::core

#endif  // TALUS_SETTINGS_VERSION_HPP
