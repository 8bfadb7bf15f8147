# SPDX-License-Identifier: MIT
# What it owns: the table of planted mistakes. Each is one statement of the core that counts or
# links wrongly, the equation that must notice it, and the tests under which it must.
#
# `near` is a line of the same file: the statement is the first one behind it. A statement that
# occurs once needs no `near`. `new` may be empty: the statement is forgotten.
"""The planted mistakes of tests/mistakes."""

from typing import NamedTuple


class Mistake(NamedTuple):
    """One wrong statement."""
    file: str       # under src/
    near: str       # text before the statement; empty: it occurs once
    old: str        # the statement, or several of them
    new: str        # what stands in its place
    equation: str   # a part of the message of the check that must fail
    tests: tuple    # files of unit programs, in the order in which they are tried


HEAP = "(heap).is_sound()"
KEPT = "(kept).is_sound()"
POOL = "(pool).is_sound()"
REGION = "(region).is_sound()"
BOUNDED = "(*this).is_sound()"
LISTS = ("heap heap/lists_test.cpp", "heap paths/random_model_test.cpp")
DECAY = ("heap reclaim/decay_test.cpp", "heap reclaim/gather_test.cpp")
ADOPTION = ("heap heap/adoption_test.cpp",)
LARGE = ("heap store/large_test.cpp", "heap paths/random_model_test.cpp")
REMOTE = ("heap store/remote_test.cpp",)
INSTANCE = ("instances instances/instance_test.cpp", "instances instances/instance_life_test.cpp")
INSTANCE_LARGE = ("instances instances/instance_large_test.cpp",)
REGIONS = ("instances regions/region_test.cpp", "instances regions/providers_test.cpp",
           "instances regions/own_pages_test.cpp")
POOLS = ("instances pools/pool_test.cpp", "instances bounded/caches_test.cpp")
BOUNDED_LIFE = ("instances bounded/life_test.cpp", "instances bounded/caches_test.cpp")

MISTAKES = [
    # The counters of a heap.
    Mistake("store/slabs.hpp", "", "heap.slab_count += static_cast<size_t>(sign);", "", HEAP,
            LISTS),
    Mistake("store/slabs.hpp", "",
            "heap.slab_bytes += static_cast<size_t>(sign * slices * ptrdiff_t{slice_bytes});",
            "if (sign > 0) heap.slab_bytes += static_cast<size_t>(slices) * slice_bytes;", HEAP,
            LISTS),
    Mistake("store/slabs.hpp", "",
            "heap.class_slabs[index_of(slab.class_id)] += static_cast<uint32_t>(sign);",
            "if (sign > 0) heap.class_slabs[index_of(slab.class_id)]++;", HEAP, LISTS),
    Mistake("store/slabs.hpp", "", "heap.free_bytes -= taken * size_class_row(id).block_bytes;",
            "heap.free_bytes -= taken * 16;", HEAP, LISTS),
    Mistake("store/slabs.hpp", "", "heap.taken_blocks[index_of(slab.class_id)] -= given;",
            "heap.taken_blocks[index_of(slab.class_id)] -= given - (given > 3 ? 1 : 0);", HEAP,
            LISTS),
    Mistake("store/slabs.hpp", "",
            "heap.partly_purged_free_bytes -= size_t{free_count} * slab.block_bytes;", "", HEAP,
            DECAY),
    Mistake("store/slabs.hpp", "",
            "heap.partly_purged_free_bytes += size_t{slab.free_count} * slab.block_bytes;", "",
            HEAP, DECAY),
    Mistake("store/slabs.hpp", "", "heap.purged_page_bytes += bytes - slab.purged_page_bytes;", "",
            HEAP, DECAY),
    Mistake("store/slabs.hpp", "", "giver.taken_blocks[index] -= taken;", "", HEAP, ADOPTION),
    Mistake("store/slabs.hpp", "taker.taken_blocks[index] += taken;",
            "count_slab(taker, slab, +1);", "", HEAP, ADOPTION),
    Mistake("store/slabs.hpp", "inline void slab_available_to_full",
            "slab.enter(SlabState::full);", "slab.notice_count = 0;", HEAP, LISTS),
    Mistake("store/drain.hpp", "", "heap.unused_message_count--;", "", HEAP, REMOTE),
    Mistake("heap/purge_request.hpp", "", "heap.told_free_bytes = bytes;",
            "if (is_more) heap.told_free_bytes = bytes;", "is_told_sound()", LISTS + DECAY),
    # The page map.
    Mistake("store/slabs.hpp", "",
            "page_map.set_all(range.base, row.slab_slices, PageEntry{heap.id, list_tag(id)},"
            " slab);",
            "page_map.set(range.base, PageEntry{heap.id, list_tag(id)}, slab);", HEAP, LISTS),
    Mistake("store/large.hpp", "large.slices += grown.slices;",
            "page_map.set_ends(large.base, large.slices, word, &large);",
            "page_map.set(large.base, word, &large);", "(large).is_sound()", LARGE),
    # What a cache keeps.
    Mistake("cache/large_cache.hpp", "", "kept.bytes.own_add(large.slices * slice_bytes);",
            "kept.bytes.own_add(large.usable_bytes);", KEPT, LARGE),
    Mistake("cache/large_cache.hpp", "head = kept.of_slices[large.slices - 1];",
            "head.store_release(&large);",
            "kept.of_slices[large.slices % large_kept_slices].store_release(&large);", KEPT,
            LARGE),
    # Descriptors and messages.
    Mistake("store/large.hpp", "", "large_pool.unused = large->next;",
            "large_pool.unused = nullptr;", POOL, LARGE),
    Mistake("store/slabs.hpp", "", "slab.block_count = slab.free_count = 0;", "", POOL, LISTS),
    Mistake("store/drain.hpp", "inline uint32_t move_messages", "to = message;",
            "if (moved == 0) to = message;", "is_sound()", REMOTE),
    # Instances.
    Mistake("store/instance_large.hpp", "inline void unlink_large",
            "heap.large_bytes -= large.usable_bytes;", "", HEAP, INSTANCE_LARGE),
    Mistake("store/instance_large.hpp", "inline void give_moved", "heap.large_count++;", "", HEAP,
            INSTANCE_LARGE),
    Mistake("paths/instance_blocks.hpp", "if (TALUS_UNLIKELY(heap.is_checked())) slab->be_exact();",
            "heap.note_peak();", "", HEAP, INSTANCE),
    Mistake("paths/instance_blocks.hpp", "", "heap.note_used(id);", "", HEAP, INSTANCE),
    Mistake("instances/instance_life.hpp", "inline void count_instance_dead",
            "instance_table.shared_live_count.own_add(~uint32_t{0});",
            "instance_table.shared_live_count.own_add(~uint32_t{1});", "(table).is_sound()",
            INSTANCE),
    # Regions.
    Mistake("regions/region.hpp", "inline void give_to_region", "region.live_units -= units;", "",
            REGION, REGIONS),
    Mistake("regions/region.hpp", "inline bool purge_slice", "region.spare_slices--;", "", REGION,
            REGIONS),
    Mistake("regions/region.hpp", "inline bool purge_slice", "region.committed_bytes -= bytes;",
            "", REGION, REGIONS),
    Mistake("regions/region.hpp", "", "slice.shortfall = slice.taken_units;", "", REGION, REGIONS),
    Mistake("regions/region.hpp", "",
            "if (index < region.lowest_open) region.lowest_open = index;", "", REGION, REGIONS),
    # Bounded pools.
    Mistake("pools/pool.hpp", "", "returned_count++;", "", BOUNDED, POOLS),
    Mistake("pools/pool.hpp", "", "returned_count -= taken;",
            "returned_count -= taken > 1 ? taken - 1 : taken;", BOUNDED, POOLS),
    Mistake("bounded/life.hpp", "", "instance.shared_orphan_count.own_add(1);", "",
            "(instance).is_sound()", BOUNDED_LIFE),
    # The registry.
    Mistake("heap/registry.hpp", "inline void remove_from_use", "registry.cache_count--;", "",
            "(all).is_sound()", ADOPTION + LISTS),
    Mistake("heap/registry.hpp", "", "heap->shared_thread_count.own_add(1);", "",
            "(all).is_sound()", ADOPTION + LISTS),
]
