// SPDX-License-Identifier: MIT
// modes/tags: for which purpose a thread allocates, as the program says.
//
// Owns: the names of tags, and the tags of each thread. Invariants: a tag keeps its number and its
// name for ever, so a reader outside may read them at any time. Depths beyond the bound are
// counted, so that each pop meets its push. Called on: any thread. Must not know: samples.
#ifndef TALUS_MODES_TAGS_HPP
#define TALUS_MODES_TAGS_HPP

#include "talus/profile.h"
#include "base/base.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"

namespace talus::core::tags {

struct Tag {
  char name[TALUS_TAG_BYTES_MAX + 1];  // ends in a zero
};

// All zero at first. Tag 0 is none.
struct Names {
  Atomic<uint32_t> shared_count;
  Tag tags[TALUS_TAGS_MAX + 1];
};
struct Tags {
  Atomic<Names*> shared_names;  // null: no tag was pushed yet
};
TALUS_CONSTINIT inline Tags all_tags;

inline constexpr uint32_t depth_max = TALUS_TAG_DEPTH_MAX, bytes_max = TALUS_TAG_BYTES_MAX;

struct OwnTags {
  uint32_t depth;
  uint16_t stack[TALUS_TAG_DEPTH_MAX];
};
TALUS_CONSTINIT inline TALUS_THREAD_LOCAL OwnTags own_tags = {};

// The calling thread's; 0: none.
inline uint32_t current() noexcept {
  const uint32_t depth = own_tags.depth;
  if (depth == 0) return 0;
  return own_tags.stack[(depth < depth_max ? depth : depth_max) - 1];
}

inline bool is_named(const Tag& tag, const char* name) noexcept {
  size_t i = 0;
  while (i < bytes_max && name[i] != '\0' && tag.name[i] == name[i]) i++;
  return tag.name[i] == '\0' && (i == bytes_max || name[i] == '\0');
}
// 0: it is not there.
inline uint32_t find(const Names& names, const char* name) noexcept {
  const uint32_t count = names.shared_count.load_acquire();
  for (uint32_t i = 1; i <= count; i++) {
    if (is_named(names.tags[i], name)) return i;
  }
  return 0;
}
// 0: there is no memory, or no room.
TALUS_APART uint32_t add(const char* name) noexcept {
  const size_t bytes = round_up(sizeof(Names), os::page_bytes());
  void* const memory =
      all_tags.shared_names.load_acquire() == nullptr ? os::map_pages(nullptr, bytes) : nullptr;
  Held held{space.lock()};
  Names* names = all_tags.shared_names.load_own();  // under the lock
  if (names == nullptr) {
    names = static_cast<Names*>(memory);
    if (names == nullptr) return 0;
    all_tags.shared_names.store_release(names);
  } else if (memory != nullptr) {
    os::unmap_or_purge(memory, bytes);
  }
  if (const uint32_t tag = find(*names, name)) return tag;
  const uint32_t tag = names->shared_count.load_own() + 1;
  if (tag > uint32_t{TALUS_TAGS_MAX}) return 0;
  for (size_t i = 0; i < bytes_max && name[i] != '\0'; i++) {
    names->tags[tag].name[i] = name[i];
  }
  names->shared_count.store_release(tag);  // last: a reader finds whole names
  return tag;
}

// False: there is no room, and the tag before stays.
TALUS_APART bool push(const char* name) noexcept {
  const Names* names = all_tags.shared_names.load_acquire();
  uint32_t tag = names == nullptr ? 0 : find(*names, name);
  if (tag == 0) tag = add(name);
  const uint32_t before = current();
  if (own_tags.depth < depth_max) {
    own_tags.stack[own_tags.depth] = static_cast<uint16_t>(tag != 0 ? tag : before);
  }
  own_tags.depth++;
  return tag != 0;
}
inline void pop() noexcept {
  if (own_tags.depth != 0) own_tags.depth--;
}

}  // namespace talus::core::tags

#endif  // TALUS_MODES_TAGS_HPP
