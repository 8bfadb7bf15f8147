// SPDX-License-Identifier: MIT
// api/libc_extras: the part of glibc's malloc that inspects the heap and tunes it.
//
// Owns: the mapping of Talus' numbers to glibc's fields. Invariant: all numbers describe the heap
// of Talus and none is invented. Fields without a meaning here are zero. Called on: any thread.
// Source: glibc manual, 3.2.3.11 (mallinfo2) and the manual pages malloc_info(3), mallopt(3).
#ifndef TALUS_API_LIBC_EXTRAS_HPP
#define TALUS_API_LIBC_EXTRAS_HPP

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/base.hpp"
#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "os/text.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"
#include "heap/registry.hpp"
#include "reclaim/purge_now.hpp"
#include "inspect/totals.hpp"
#include "inspect/instance_totals.hpp"
#include "statistics/print_statistics.hpp"
#include "statistics/escaped.hpp"
#include "statistics/statistics_forms.hpp"
#include "api/libc_names.hpp"

namespace talus::core::api {

// Purges free memory of the process. 1: some was purged, as in glibc.
inline int malloc_trim(size_t keep_bytes) noexcept { return purge_beyond(keep_bytes) != 0 ? 1 : 0; }

// Large live blocks count as mmapped, small ones as used. The rest of the heaps and retained memory
// count as free. So arena and mmapped together are heap.total_bytes and space.retained_bytes.
struct MallocNumbers {
  size_t arena, ordinary_blocks, large_count, large_bytes, peak, used, free, trimmable;
};

inline MallocNumbers malloc_numbers() noexcept {
  const HeapTotals totals = collect_totals();
  MallocNumbers numbers{};
  numbers.large_count = totals.live_large_count;
  numbers.large_bytes = totals.live_large;
  numbers.used = totals.live_small;
  numbers.free = totals.total_bytes - totals.live() + totals.dirty;
  numbers.arena = numbers.used + numbers.free;
  numbers.ordinary_blocks = totals.slab_count;
  numbers.peak = totals.space.given_peak_bytes;
  numbers.trimmable = totals.dirty;
  return numbers;
}

inline struct mallinfo2 mallinfo2() noexcept {
  const MallocNumbers numbers = malloc_numbers();
  struct mallinfo2 info {};
  info.arena = numbers.arena;
  info.ordblks = numbers.ordinary_blocks;
  info.hblks = numbers.large_count;
  info.hblkhd = numbers.large_bytes;
  info.usmblks = numbers.peak;
  info.uordblks = numbers.used;
  info.fordblks = numbers.free;
  info.keepcost = numbers.trimmable;
  return info;
}

inline int clamp_to_int(size_t number) noexcept {
  return number > INT_MAX ? INT_MAX : static_cast<int>(number);
}

// The old interface with int fields: a larger number reads as INT_MAX, never as negative.
inline struct mallinfo mallinfo() noexcept {
  const MallocNumbers numbers = malloc_numbers();
  struct mallinfo info {};
  info.arena = clamp_to_int(numbers.arena);
  info.ordblks = clamp_to_int(numbers.ordinary_blocks);
  info.hblks = clamp_to_int(numbers.large_count);
  info.hblkhd = clamp_to_int(numbers.large_bytes);
  info.usmblks = clamp_to_int(numbers.peak);
  info.uordblks = clamp_to_int(numbers.used);
  info.fordblks = clamp_to_int(numbers.free);
  info.keepcost = clamp_to_int(numbers.trimmable);
  return info;
}

template <size_t Capacity>
void put_xml(TextBuffer<Capacity>& text, const char* type, size_t count, size_t bytes) noexcept {
  text.put("<total type=\"")
      .put(type)
      .put("\" count=\"")
      .put_number(count)
      .put("\" size=\"")
      .put_number(bytes)
      .put("\"/>\n");
}

// XML with glibc's element names, one <heap> for each heap of Talus; instances have a name.
inline int malloc_info(int asked, FILE* stream) noexcept {
  if (asked != 0) return EINVAL;
  if (fputs("<malloc version=\"1\">\n", stream) == EOF) return EOF;
  for_each_heap([stream](Heap& heap) noexcept {
    HeapTotals one;
    {
      Held held{registry.lock};
      add_heap(one, held, heap);
    }
    settle_blocks(one);
    TextBuffer<512> text;
    text.put("<heap nr=\"").put_number(index_of(heap.id)).put("\">\n");
    put_xml(text, "used", one.slab_count, one.live_small);
    put_xml(text, "rest", 0, one.free_in_slabs + one.listed + one.on_their_way + one.kept_large);
    text.put("</heap>\n");
    fputs(text.data(), stream);
  });
  visit_instances(SIZE_MAX, [stream](const InstanceTotals& heap) noexcept {
    TextBuffer<512> text;
    text.put("<heap nr=\"").put_number(heap_count_max + heap.number).put("\" name=\"");
    put_escaped(text, heap.name, NameForm::xml).put("\">\n");
    put_xml(text, "used", heap.slab_count, heap.live_small + heap.live_region);
    put_xml(text, "rest", 0, heap.free);
    put_xml(text, "mmap", heap.large_count, heap.live_large);
    text.put("</heap>\n");
    fputs(text.data(), stream);
  });
  const HeapTotals totals = collect_totals();
  TextBuffer<1024> text;
  put_xml(text, "used", totals.slab_count, totals.live_small);
  put_xml(text, "rest", 0, totals.total_bytes - totals.live());
  put_xml(text, "mmap", totals.live_large_count, totals.live_large);
  put_xml(text, "retained", 0, totals.dirty);
  put_xml(text, "metadata", 0, totals.metadata);
  text.put("<system type=\"current\" size=\"")
      .put_number(totals.space.given_bytes)
      .put("\"/>\n<system type=\"max\" size=\"")
      .put_number(totals.space.given_peak_bytes)
      .put("\"/>\n<aspace type=\"total\" size=\"")
      .put_number(totals.space.reserved_bytes)
      .put("\"/>\n</malloc>\n");
  return fputs(text.data(), stream) == EOF ? EOF : 0;
}

// 1: accepted. Parameters of glibc without a meaning here are accepted and ignored. Unknown ones
// are refused. M_TRIM_THRESHOLD bounds retained memory, and M_PURGE purges it now.
inline int mallopt(int parameter, int value) noexcept {
  switch (parameter) {
    case M_PURGE:
    case M_PURGE_ALL:
      purge_beyond(0);
      return 1;
    case M_TRIM_THRESHOLD: {
      Held held{space.lock()};
      const uint64_t most = option_rows[static_cast<size_t>(OptionId::retain_bytes)].max;
      options.retain_bytes = value < 0 ? most : static_cast<uint64_t>(value);
      option_origins[OptionId::retain_bytes] = OptionOrigin{OptionSource::call, false, 0, 0};
      return 1;
    }
    case M_MXFAST:
      return value >= 0 && value <= static_cast<int>(80 * sizeof(size_t) / 4) ? 1 : 0;
    case M_TOP_PAD:
    case M_MMAP_THRESHOLD:
    case M_MMAP_MAX:
    case M_CHECK_ACTION:
    case M_PERTURB:
    case M_ARENA_TEST:
    case M_ARENA_MAX:
      return 1;
    default:
      return 0;
  }
}

inline void malloc_stats() noexcept { print_statistics(2, StatsFormat::text); }

}  // namespace talus::core::api

#endif  // TALUS_API_LIBC_EXTRAS_HPP
