// SPDX-License-Identifier: MIT
// observe/observed_fields: where each number lies that statistics are made of.
//
// Owns: the table, all of it constant. Invariants: offsets are the compiler's, so the table cannot
// disagree with the structures. It touches no page of a process that is not observed.
// Must not know: its readers (tools/talus/observe).
#ifndef TALUS_OBSERVE_OBSERVED_FIELDS_HPP
#define TALUS_OBSERVE_OBSERVED_FIELDS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/commands.hpp"
#include "settings/machine.hpp"
#include "settings/options.hpp"
#include "os/guards.hpp"
#include "sync/ranked_lock.hpp"
#include "retention/retention.hpp"
#include "space/space.hpp"
#include "slab/remote_free.hpp"
#include "slab/slab.hpp"
#include "heap/allocated.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/large_state.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/sample_areas.hpp"
#include "heap/sides.hpp"
#include "heap/special.hpp"
#include "regions/region_words.hpp"
#include "store/large.hpp"
#include "modes/counting.hpp"
#include "modes/guarded_pool.hpp"
#include "modes/profile.hpp"
#include "modes/profile_sites.hpp"
#include "modes/tags.hpp"
#include "threads/helper.hpp"
#include "threads/helper_thread.hpp"
#include "threads/mailbox.hpp"
#include "observe/observed_table.hpp"

namespace talus::core {

// What a reader starts from. Writable, so that core files have it.
struct ObservedState {
  char magic[sizeof(observed_magic)];
  uint32_t version;
  uint32_t bytes;
  const void* classes;
  const void* registry;
  const void* instance_table;
  const void* space;
  const void* page_map;
  const void* large_pool;
  const void* special_pool;
  const void* limits;
  const void* guards;
  const void* counting;
  const void* started_ns;
  const void* helper;
  const void* purge_request;
  const void* options;
  const void* decay_clock;
  const void* allocated;
  const void* profile;
  const void* guarded;
  const void* all_tags;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // gcc and clang define it for derived classes

// Types that keep their members private name this one as a friend.
struct ObservedLayout {
// Arguments are types and members. NOLINTBEGIN(bugprone-macro-parentheses)
// A member; an array, element by element; one member of each element of an array.
#define TALUS_OBSERVED_BYTES(type, member) sizeof(static_cast<type*>(nullptr)->member)
#define TALUS_OBSERVED(name, type, member)                          \
  observed_field(name, ObservedKind::field, offsetof(type, member), \
                 TALUS_OBSERVED_BYTES(type, member), 1, 0)
#define TALUS_OBSERVED_ALL(name, type, member)                                               \
  observed_field(name, ObservedKind::field, offsetof(type, member),                          \
                 TALUS_OBSERVED_BYTES(type, member[0]),                                      \
                 TALUS_OBSERVED_BYTES(type, member) / TALUS_OBSERVED_BYTES(type, member[0]), \
                 TALUS_OBSERVED_BYTES(type, member[0]))
#define TALUS_OBSERVED_EACH(name, type, array, member)                                     \
  observed_field(name, ObservedKind::field, offsetof(type, array[0].member),               \
                 TALUS_OBSERVED_BYTES(type, array[0].member),                              \
                 TALUS_OBSERVED_BYTES(type, array) / TALUS_OBSERVED_BYTES(type, array[0]), \
                 TALUS_OBSERVED_BYTES(type, array[0]))
#define TALUS_OBSERVED_ROOT(member) \
  observed_field(#member, ObservedKind::root, offsetof(ObservedState, member), sizeof(void*), 1, 0)
#define TALUS_OBSERVED_CONSTANT(name, value) \
  observed_field(name, ObservedKind::constant, value, sizeof(uint32_t), 1, 0)
  // NOLINTEND(bugprone-macro-parentheses)

  static constexpr ObservedField fields[] = {
      TALUS_OBSERVED_ROOT(classes),
      TALUS_OBSERVED_ROOT(registry),
      TALUS_OBSERVED_ROOT(instance_table),
      TALUS_OBSERVED_ROOT(space),
      TALUS_OBSERVED_ROOT(page_map),
      TALUS_OBSERVED_ROOT(large_pool),
      TALUS_OBSERVED_ROOT(special_pool),
      TALUS_OBSERVED_ROOT(limits),
      TALUS_OBSERVED_ROOT(guards),
      TALUS_OBSERVED_ROOT(counting),
      TALUS_OBSERVED_ROOT(started_ns),
      TALUS_OBSERVED_ROOT(helper),
      TALUS_OBSERVED_ROOT(purge_request),
      TALUS_OBSERVED_ROOT(options),
      TALUS_OBSERVED_ROOT(decay_clock),
      TALUS_OBSERVED_ROOT(allocated),
      TALUS_OBSERVED_ROOT(profile),
      TALUS_OBSERVED_ROOT(guarded),
      TALUS_OBSERVED_ROOT(all_tags),

      TALUS_OBSERVED_CONSTANT("slice.bytes", slice_bytes),
      TALUS_OBSERVED_CONSTANT("unit.bytes", unit_bytes),
      TALUS_OBSERVED_CONSTANT("list.nulls", list_nulls),
      TALUS_OBSERVED_CONSTANT("owner.idle", OwnerState::idle),
      TALUS_OBSERVED_CONSTANT("heap.count_max", heap_count_max),
      TALUS_OBSERVED_CONSTANT("entry.special", special_word.bits()),
      TALUS_OBSERVED_CONSTANT("entry.large", PageEntry::large().bits()),
      TALUS_OBSERVED_CONSTANT("large.kept", static_cast<size_t>(LargeState::kept)),

      TALUS_OBSERVED_EACH("classes.block_bytes", SizeClassRows, rows, block_bytes),
      TALUS_OBSERVED_EACH("classes.block_count", SizeClassRows, rows, block_count),
      TALUS_OBSERVED_EACH("classes.slab_slices", SizeClassRows, rows, slab_slices),
      TALUS_OBSERVED_EACH("classes.bitmap_words", SizeClassRows, rows, bitmap_words),

      TALUS_OBSERVED("registry.lock", Registry, lock.shared_state_),
      TALUS_OBSERVED("registry.caches", Registry, caches),
      TALUS_OBSERVED("registry.orphaned", Registry, orphaned),
      TALUS_OBSERVED("registry.cache_count", Registry, cache_count),
      TALUS_OBSERVED("registry.heap_count", Registry, shared_count),
      TALUS_OBSERVED_ALL("registry.heaps", Registry, shared_heaps),
      TALUS_OBSERVED_EACH("registry.heap_locks", Registry, locks, lock.shared_state_),

      TALUS_OBSERVED_ALL("cache.tops", ThreadCache, tops),
      TALUS_OBSERVED("cache.id", ThreadCache, id),
      TALUS_OBSERVED("cache.busy", ThreadCache, shared_busy),
      TALUS_OBSERVED("cache.state", ThreadCache, shared_state),
      TALUS_OBSERVED("cache.heap", ThreadCache, heap),
      TALUS_OBSERVED_ALL("cache.slow_tops", ThreadCache, slow_tops),
      TALUS_OBSERVED_ALL("cache.bottoms", ThreadCache, bottoms),
      TALUS_OBSERVED_EACH("cache.batches", ThreadCache, batches, message),
      TALUS_OBSERVED("cache.kept_bytes", ThreadCache, kept.bytes),
      TALUS_OBSERVED("cache.kept_live_bytes_less", ThreadCache, kept.live_bytes_less),
      TALUS_OBSERVED("cache.kept_live_count_less", ThreadCache, kept.live_count_less),
      TALUS_OBSERVED("cache.sides", ThreadCache, shared_sides),
      TALUS_OBSERVED("cache.told_bytes", ThreadCache, shared_told_bytes),
      TALUS_OBSERVED("cache.next", ThreadCache, next),
      TALUS_OBSERVED_CONSTANT("cache.fast_classes", fast_class_count),

      TALUS_OBSERVED_ALL("sides.tops", SidedContext, tops),
      TALUS_OBSERVED_ALL("sides.free_bottoms", SidedContext, free_bottoms),
      TALUS_OBSERVED_ALL("sides.allocation_bottoms", SidedContext, allocation_bottoms),
      TALUS_OBSERVED_ALL("sides.moved", SidedContext, moved),
      TALUS_OBSERVED_ALL("sides.begun", SidedContext, begun),
      TALUS_OBSERVED_CONSTANT("sides.first_allocation_top", class_count),
      TALUS_OBSERVED("allocated.askers", AllocatedCount, shared_askers),

      TALUS_OBSERVED("message.next", RemoteMessage, next),
      TALUS_OBSERVED("message.bytes", RemoteMessage, bytes),
      TALUS_OBSERVED("message.count", RemoteMessage, count),
      TALUS_OBSERVED_ALL("message.blocks", RemoteMessage, blocks),
      TALUS_OBSERVED_CONSTANT("message.blocks_max", RemoteMessage::blocks_max),

      TALUS_OBSERVED("heap.id", Heap, id),
      TALUS_OBSERVED_ALL("heap.taken_blocks", Heap, taken_blocks),
      TALUS_OBSERVED_ALL("heap.class_slabs", Heap, class_slabs),
      TALUS_OBSERVED("heap.slab_count", Heap, slab_count),
      TALUS_OBSERVED("heap.slab_bytes", Heap, slab_bytes),
      TALUS_OBSERVED("heap.refills", Heap, refills),
      TALUS_OBSERVED("heap.partly_purged_bytes", Heap, partly_purged_free_bytes),
      TALUS_OBSERVED("heap.remote_queue", Heap, remote_queue.shared_head_),
      TALUS_OBSERVED("heap.thread_count", Heap, shared_thread_count),

      TALUS_OBSERVED_ALL("instance_table.parts", InstanceTable, shared_parts),
      TALUS_OBSERVED("instance_table.count", InstanceTable, shared_count),
      TALUS_OBSERVED_CONSTANT("instance_table.part_slots", InstanceTable::part_slots),
      TALUS_OBSERVED_CONSTANT("slot.bytes", sizeof(InstanceSlot)),
      TALUS_OBSERVED("slot.lock", InstanceSlot, lock.shared_state_),
      TALUS_OBSERVED("slot.handle", InstanceSlot, shared_handle),
      TALUS_OBSERVED("slot.heap", InstanceSlot, heap),
      TALUS_OBSERVED("slot.region", InstanceSlot, region),
      TALUS_OBSERVED_EACH("instance.ready", Instance, ready, count),
      TALUS_OBSERVED_ALL("instance.used_classes", Instance, used_classes),
      TALUS_OBSERVED("instance.large_count", Instance, large_count),
      TALUS_OBSERVED("instance.large_bytes", Instance, large_bytes),
      TALUS_OBSERVED("instance.peak_bytes", Instance, peak_bytes),
      TALUS_OBSERVED("instance.limit_bytes", Instance, limit_bytes),
      TALUS_OBSERVED_ALL("instance.name", Instance, name),
      TALUS_OBSERVED("region.live_units", RegionHeap, live_units),
      TALUS_OBSERVED("region.live_count", RegionHeap, live_count),
      TALUS_OBSERVED("region.committed_bytes", RegionHeap, committed_bytes),
      TALUS_OBSERVED("region.peak_bytes", RegionHeap, peak_bytes),

#define TALUS_OBSERVED_COUNTER(member) \
  TALUS_OBSERVED("space." #member, Space, stages_.ledger.counters_.member)
      TALUS_OBSERVED("space.lock", Space, lock_.shared_state_),
      TALUS_OBSERVED_COUNTER(change_count),
      TALUS_OBSERVED_COUNTER(reserved_bytes),
      TALUS_OBSERVED_COUNTER(reserved_peak_bytes),
      TALUS_OBSERVED_COUNTER(given_bytes),
      TALUS_OBSERVED_COUNTER(given_peak_bytes),
      TALUS_OBSERVED_COUNTER(purged_bytes),
      TALUS_OBSERVED_COUNTER(purge_count),
      TALUS_OBSERVED_COUNTER(arena_count),
      TALUS_OBSERVED_ALL("space.purged_by", Space, stages_.ledger.causes_.bytes_),
      TALUS_OBSERVED_ALL("space.purges_by", Space, stages_.ledger.causes_.calls_),
      TALUS_OBSERVED("space.dirty_slices", Space, stages_.ranges.dirty_.slices_),
      TALUS_OBSERVED("space.clean_slices", Space, stages_.ranges.clean_.slices_),
      TALUS_OBSERVED("space.purging_bytes", Space, purger_.purging_bytes_),
      TALUS_OBSERVED("space.burst_bytes", Space, stages_.retention.burst_bytes_),
      TALUS_OBSERVED("space.metadata_bytes", Space, stages_.metadata.used_bytes_),
      TALUS_OBSERVED("space.arenas", Space, stages_.arenas.shared_listed_),
      TALUS_OBSERVED("space.chunks", Space, stages_.metadata.chunks_),
      TALUS_OBSERVED("arena.base", ListedArena, arena.base),
      TALUS_OBSERVED("arena.bytes", ListedArena, arena.bytes),
      TALUS_OBSERVED("arena.next", ListedArena, next),
      TALUS_OBSERVED("chunk.next", MetadataChunk, next),
      TALUS_OBSERVED("chunk.bytes", MetadataChunk, bytes),
      TALUS_OBSERVED("chunk.is_in_arena", MetadataChunk, is_in_arena),
#undef TALUS_OBSERVED_COUNTER

      TALUS_OBSERVED("page_map.window_bias", PageMap, window_bias_),
      TALUS_OBSERVED("page_map.window_words_end", PageMap, window_words_end_),
      TALUS_OBSERVED_ALL("page_map.root", PageMap, root_),
      TALUS_OBSERVED_ALL("page_map.zero_words", PageMap, zero_words_),
      TALUS_OBSERVED_CONSTANT("page_map.window_slices", PageMap::window_slices),
      TALUS_OBSERVED_CONSTANT("page_map.leaf_slices", PageMap::leaf_slices),
      TALUS_OBSERVED_CONSTANT("page_map.bytes", sizeof(PageMap)),
      TALUS_OBSERVED_CONSTANT("registry.bytes", sizeof(Registry)),
      TALUS_OBSERVED("slab.base", Slab, base),
      TALUS_OBSERVED("slab.class_id", Slab, class_id),
      TALUS_OBSERVED("slab.state", Slab, state),
      TALUS_OBSERVED("slab.free_count", Slab, free_count),
      TALUS_OBSERVED("slab.served_at", Slab, served_at),
      TALUS_OBSERVED("options.decay_ms", Options, decay_ms),
      TALUS_OBSERVED_CONSTANT("decay.turns", LowMark::turns_kept),
      TALUS_OBSERVED_CONSTANT("decay.ms_min", decay_ms_min),
      TALUS_OBSERVED_ALL("slab.free_bits", Slab, first_bits),
      TALUS_OBSERVED("large.base", LargeBlock, base),
      TALUS_OBSERVED("large.slices", LargeBlock, slices),
      TALUS_OBSERVED("large.usable_bytes", LargeBlock, usable_bytes),
      TALUS_OBSERVED("large.state", LargeBlock, state),
      TALUS_OBSERVED("large.front_bytes", LargeBlock, front_bytes),
      TALUS_OBSERVED("range.base", FreeRange, base),
      TALUS_OBSERVED("range.slices", FreeRange, slices),
      TALUS_OBSERVED("range.state", FreeRange, state),
      TALUS_OBSERVED_CONSTANT("range.clean", static_cast<uint32_t>(RangeState::clean)),

      TALUS_OBSERVED("large_pool.live_bytes", LargePool, live_bytes),
      TALUS_OBSERVED("large_pool.live_count", LargePool, live_count),
      TALUS_OBSERVED("special_pool.live_bytes", SpecialPool, live_bytes),
      TALUS_OBSERVED("special_pool.live_count", SpecialPool, live_count),
      TALUS_OBSERVED("special_pool.in_space_bytes", SpecialPool, in_space_bytes),
      TALUS_OBSERVED("special_pool.in_space_count", SpecialPool, in_space_count),
      TALUS_OBSERVED("special_pool.area_bytes", SpecialPool, area_bytes),
      TALUS_OBSERVED("special.operations", SpecialBlock, shared_operations),
      TALUS_OBSERVED("area.base", sample_areas::Area, base),
      TALUS_OBSERVED("area.slices", sample_areas::Area, slices),
      TALUS_OBSERVED_ALL("area.marks", sample_areas::Area, marks),
      TALUS_OBSERVED_CONSTANT("area.unit_bytes", sample_areas::unit_bytes),
      TALUS_OBSERVED_CONSTANT("area.freed_mark", sample_areas::UnitMark::freed_bit),
      TALUS_OBSERVED("limits.soft_bytes", EffectiveLimits, soft_bytes),
      TALUS_OBSERVED("limits.hard_bytes", EffectiveLimits, hard_bytes),

      TALUS_OBSERVED("guards.count", Guards, shared_count_),
      TALUS_OBSERVED("guards.missing", Guards, shared_missing_),

      TALUS_OBSERVED("helper.life", Helper, shared_life),
      TALUS_OBSERVED("helper.alarm", Helper, shared_alarm),
      TALUS_OBSERVED("helper.is_allowed", Helper, shared_is_allowed),
      TALUS_OBSERVED("life.id", HelperLife, shared_id),
      TALUS_OBSERVED("purge_request.is_much", PurgeRequest, is_much),
      TALUS_OBSERVED("helper.command", Helper, mailbox.shared_command),
      TALUS_OBSERVED("helper.check", Helper, mailbox.shared_check),
      TALUS_OBSERVED("helper.number", Helper, mailbox.shared_number),
      TALUS_OBSERVED_ALL("helper.text", Helper, mailbox.shared_text),
      TALUS_OBSERVED("helper.request", Helper, mailbox.shared_request),
      TALUS_OBSERVED("helper.taken", Helper, mailbox.shared_taken),
      TALUS_OBSERVED("helper.answered", Helper, mailbox.shared_answered),
      TALUS_OBSERVED("helper.result", Helper, mailbox.result),
      TALUS_OBSERVED("helper.value", Helper, mailbox.value),
      TALUS_OBSERVED_ALL("helper.answer", Helper, mailbox.answer),

      TALUS_OBSERVED("counting.is_on", counting::Shared, shared_is_on),
      TALUS_OBSERVED("counting.all", counting::Shared, all),
      TALUS_OBSERVED("counting.live_bytes", counting::Shared, live_bytes),
      TALUS_OBSERVED("counting.peak_bytes", counting::Shared, peak_bytes),
      TALUS_OBSERVED("counters.next", counting::Counters, next),
      TALUS_OBSERVED_ALL("counters.allocations", counting::Counters, allocations),
      TALUS_OBSERVED("counters.frees", counting::Counters, frees),
      TALUS_OBSERVED("counters.requested_bytes", counting::Counters, requested_bytes),
      TALUS_OBSERVED("counters.provided_bytes", counting::Counters, provided_bytes),
      TALUS_OBSERVED("counters.live_bytes", counting::Counters, live_bytes),

      TALUS_OBSERVED("profile.mean_bytes", profile::Profile, mean_bytes),
      TALUS_OBSERVED("profile.sites", profile::Profile, sites),
      TALUS_OBSERVED("profile.area_operations", profile::Profile, area_operations),
      TALUS_OBSERVED("profile.is_on", profile::Profile, shared_is_on),
      TALUS_OBSERVED("sites.lost", profile::Sites, shared_lost),
      TALUS_OBSERVED("sites.count", profile::Sites, shared_site_count),
      TALUS_OBSERVED("sites.frame_count", profile::Sites, frame_count),
      TALUS_OBSERVED("sites.record_count", profile::Sites, record_count),
      TALUS_OBSERVED("sites.peak_bytes", profile::Sites, peak_weighted),
      TALUS_OBSERVED("sites.peak_ns", profile::Sites, peak_ns),
      TALUS_OBSERVED("sites.peak_turn", profile::Sites, peak_turn),
      TALUS_OBSERVED_CONSTANT("sites.first_site", offsetof(profile::Sites, sites[1])),
      TALUS_OBSERVED_CONSTANT("sites.first_record", offsetof(profile::Sites, records[1])),
      TALUS_OBSERVED_CONSTANT("sites.first_frame", offsetof(profile::Sites, frames)),
      TALUS_OBSERVED_CONSTANT("site.size", sizeof(profile::Site)),
      TALUS_OBSERVED("site.block_bytes", profile::Site, block_bytes),
      TALUS_OBSERVED("site.first_frame", profile::Site, first_frame),
      TALUS_OBSERVED("site.frame_count", profile::Site, frame_count),
      TALUS_OBSERVED("site.tag", profile::Site, tag),
      TALUS_OBSERVED("all_tags.names", tags::Tags, shared_names),
      TALUS_OBSERVED("tags.count", tags::Names, shared_count),
      TALUS_OBSERVED_CONSTANT("tags.first_tag", offsetof(tags::Names, tags[1])),
      TALUS_OBSERVED_CONSTANT("tag.size", sizeof(tags::Tag)),
      TALUS_OBSERVED("site.allocations", profile::Site, shared_allocations),
      TALUS_OBSERVED("site.allocated_bytes", profile::Site, shared_allocated_bytes),
      TALUS_OBSERVED("site.freed_bytes", profile::Site, shared_freed_bytes),
      TALUS_OBSERVED("site.live_blocks", profile::Site, live.blocks),
      TALUS_OBSERVED("site.live_bytes", profile::Site, live.bytes),
      TALUS_OBSERVED("site.peak_blocks", profile::Site, live_at_peak.blocks),
      TALUS_OBSERVED("site.peak_bytes", profile::Site, live_at_peak.bytes),
      TALUS_OBSERVED("site.peak_turn", profile::Site, peak_turn),
      TALUS_OBSERVED_ALL("site.lives", profile::Site, lives.counts),
      TALUS_OBSERVED_ALL("site.lives_ns", profile::Site, lives.sum_ns),
      TALUS_OBSERVED_CONSTANT("record.size", sizeof(profile::Record)),
      TALUS_OBSERVED("record.block", profile::Record, block),
      TALUS_OBSERVED("record.bytes", profile::Record, bytes),
      TALUS_OBSERVED("record.site", profile::Record, site),
      TALUS_OBSERVED("record.made_ns", profile::Record, made_ns),
      TALUS_OBSERVED("record.place", profile::Record, place),
      TALUS_OBSERVED("record.thread", profile::Record, thread),

      TALUS_OBSERVED("guarded.mean_bytes", guarded::Guarded, mean_bytes),
      TALUS_OBSERVED("guarded.pool", guarded::Guarded, pool),
      TALUS_OBSERVED("guarded_pool.base", guarded::Pool, base),
      TALUS_OBSERVED("guarded_pool.page_bytes", guarded::Pool, page_bytes),
      TALUS_OBSERVED("guarded_pool.live", guarded::Pool, shared_live),
      TALUS_OBSERVED("guarded_pool.made", guarded::Pool, shared_made),
      TALUS_OBSERVED("guarded_pool.missed", guarded::Pool, shared_missed),
      TALUS_OBSERVED("guarded_pool.event_kind", guarded::Pool, event.shared_kind),
      TALUS_OBSERVED("guarded_pool.event_address", guarded::Pool, event.address),
      TALUS_OBSERVED_CONSTANT("guarded_pool.event_trace", offsetof(guarded::Pool, event.trace)),
      TALUS_OBSERVED_CONSTANT("guarded_pool.first_slot", offsetof(guarded::Pool, slots)),
      TALUS_OBSERVED_CONSTANT("guarded_slot.count", guarded::slot_count),
      TALUS_OBSERVED_CONSTANT("guarded_slot.size", sizeof(guarded::Slot)),
      TALUS_OBSERVED("guarded_slot.start", guarded::Slot, start),
      TALUS_OBSERVED("guarded_slot.bytes", guarded::Slot, bytes),
      TALUS_OBSERVED("guarded_slot.state", guarded::Slot, state),
      TALUS_OBSERVED_CONSTANT("guarded_slot.made", offsetof(guarded::Slot, made)),
      TALUS_OBSERVED_CONSTANT("guarded_slot.freed", offsetof(guarded::Slot, freed)),
      TALUS_OBSERVED("trace.at_ns", guarded::Trace, at_ns),
      TALUS_OBSERVED("trace.thread", guarded::Trace, thread),
      TALUS_OBSERVED("trace.frame_count", guarded::Trace, frame_count),
      TALUS_OBSERVED_ALL("trace.frames", guarded::Trace, frames),
  };
#undef TALUS_OBSERVED
#undef TALUS_OBSERVED_ALL
#undef TALUS_OBSERVED_EACH
#undef TALUS_OBSERVED_BYTES
#undef TALUS_OBSERVED_ROOT
#undef TALUS_OBSERVED_CONSTANT

  static constexpr size_t count = sizeof(fields) / sizeof(fields[0]);
  static constexpr ObservedTable<count> make_table() noexcept {
    ObservedTable<count> table{observed_version, sizeof(ObservedField), count, 0, {}};
    for (size_t i = 0; i < count; i++) table.fields[i] = fields[i];
    return table;
  }
};

#pragma GCC diagnostic pop

}  // namespace talus::core

#endif  // TALUS_OBSERVE_OBSERVED_FIELDS_HPP
