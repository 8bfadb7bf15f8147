// SPDX-License-Identifier: MIT
// regions/region_life: where a region's memory comes from, how it begins and ends.
//
//   kind       memory                            bookkeeping
//   os         the kernel's, as needed           the kernel's, touched as far as used
//   buffer     the caller's                      in the buffer
//   prealloc   the kernel's, all at the start    as with os
//   file       a file's (space/file_store)       the same
//   callbacks  from the caller's callbacks       the same
//
// Owns: the five sources. Invariants: bookkeeping never lies in memory that a fork exchanges. When
// the region ends, the page map has its former entries again. If the kernel has no memory for the
// page map, only a buffer can be a region, and only its heap knows its blocks.
// Called on: any thread, without locks; commit and purge hold the instance's lock.
#ifndef TALUS_REGIONS_REGION_LIFE_HPP
#define TALUS_REGIONS_REGION_LIFE_HPP

#include "talus/talus.h"
#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "regions/region.hpp"
#include "regions/region_request.hpp"
#include "regions/region_words.hpp"

namespace talus::core {

inline constexpr size_t buffer_bytes_min = 128 * kib;
// The default address range of a kernel region, and the least to retry with when the kernel
// refuses.
inline constexpr size_t kernel_region_bytes = size_t{64} << 30;
inline constexpr size_t kernel_region_bytes_min = 16 * mib;

struct KernelRegion : RegionHeap {
  uintptr_t allowed_end = 0;  // pages below can be used
};

struct FileRegion : RegionHeap {
  FileStore store;
};
struct CallbackRegion : RegionHeap {
  talus_provider_calls calls{};
  void* context = nullptr;
  void* reserved = nullptr;
  size_t reserved_bytes = 0;
};

// Bytes of bookkeeping for a region of `slices` slices, with a descriptor of this size.
constexpr size_t bookkeeping_bytes(size_t descriptor_bytes, size_t slices) noexcept {
  return round_up(descriptor_bytes, cache_line_bytes) +
         slices * (2 * row_bytes_a_slice + sizeof(NamedBefore)) +
         round_up(slices * sizeof(RegionSlice), unit_bytes);
}

inline size_t slices_of(uintptr_t base, uintptr_t end) noexcept {
  return divide_up(end - round_down(base, slice_bytes), slice_bytes);
}

// A region without addresses yet, with bookkeeping in zeroed memory.
template <typename Region>
Region* begin_region(void* memory, size_t slices) noexcept {
  auto* region = new (memory) Region{};
  region->slice_count = slices;
  char* at = static_cast<char*>(memory) + round_up(sizeof(Region), cache_line_bytes);
  const size_t row_bytes = slices * row_bytes_a_slice;
  region->taken = BitRow{reinterpret_cast<uint64_t*>(at)};
  region->starts = BitRow{reinterpret_cast<uint64_t*>(at + row_bytes)};
  region->named_before = reinterpret_cast<NamedBefore*>(at + 2 * row_bytes);
  region->slices =
      reinterpret_cast<RegionSlice*>(at + 2 * row_bytes + slices * sizeof(NamedBefore));
  return region;
}
// The kernel unmaps addresses before it maps them for another thread; ThreadSanitizer must be told.
inline void order_reuse_of_addresses() noexcept {
#if TALUS_UNDER_TSAN
  Held held{space.lock()};
#endif
}
// The same with bookkeeping from the kernel; null: no memory.
template <typename Region>
Region* begin_region_aside(size_t slices) noexcept {
  const size_t bytes = bookkeeping_bytes(sizeof(Region), slices);
  void* memory = os::map_pages(nullptr, round_up(bytes, os::page_bytes()));
  order_reuse_of_addresses();
  return memory == nullptr ? nullptr : begin_region<Region>(memory, slices);
}
// Sets the region's addresses.
inline void place_region(RegionHeap& region, uintptr_t base, uintptr_t end,
                         const RegionSource& source) noexcept {
  region.source = &source;
  region.base = round_up(base, unit_bytes);
  region.end = round_down(end, unit_bytes);
  region.origin = round_down(base, slice_bytes);
  mark_taken(region, 0, (region.base - region.origin) / unit_bytes);
  mark_taken(region, (region.end - region.origin) / unit_bytes, region.unit_count());
  Held held{space.lock()};
  region.has_page_entries =
      PageMap::covers(end - 1) && page_map.cover(region.origin, end - region.origin);
}
template <typename Region>
void free_bookkeeping(Region& region) noexcept {
  const size_t bytes = bookkeeping_bytes(sizeof(Region), region.slice_count);
  order_reuse_of_addresses();
  os::unmap_or_purge(&region, round_up(bytes, os::page_bytes()));
}

// Takes the units between two addresses out of use, at either end of the region.
inline void leave_out(RegionHeap& region, uintptr_t from, uintptr_t to) noexcept {
  if (from >= to) return;
  mark_taken(region, (from - region.origin) / unit_bytes, (to - region.origin) / unit_bytes);
  (from == region.base ? region.base : region.end) = from == region.base ? to : from;
}

// Names a slice of the memory between `from` and `to`. A slice that lies there only in part, and
// has a word or a descriptor already, keeps its owner; the region does not use that part.
inline void claim_slice(RegionHeap& region, size_t index, uintptr_t from, uintptr_t to) noexcept {
  const uintptr_t at = region.origin + index * slice_bytes;
  const bool is_whole = from <= at && at + slice_bytes <= to;
  bool is_free = true;
  if (!is_whole) {
    Held held{space.lock()};
    is_free = page_map.word_of(at).has_no_owner() && page_map.descriptor_of(at) == nullptr;
  }
  if (is_free) return name_slice(region, index);
  leave_out(region, region.from_of(index), region.to_of(index));
}

// Nothing of the region is left. The caller holds no lock.
inline void end_region(RegionHeap& region) noexcept {
  unname_slices(region);
  if (region.source->end != nullptr) region.source->end(region);
}

// The region, if any function may be called with its blocks. Otherwise ends it and returns null.
inline RegionHeap* if_known(RegionHeap* region) noexcept {
  if (region == nullptr || region->has_page_entries) return region;
  end_region(*region);
  return nullptr;
}

// ---- pages of the kernel

// The usable range doubles each time, so that calls are few. Usable pages cost no memory.
inline bool commit_kernel(RegionHeap& region, uintptr_t at, size_t bytes, size_t) noexcept {
  auto& kernel = static_cast<KernelRegion&>(region);
  const uintptr_t from = kernel.allowed_end;
  const uintptr_t needed_end = at + bytes;
  if (needed_end <= from) return true;
  uintptr_t requested_end = from + (from - region.base < mib ? mib : from - region.base);
  if (requested_end < needed_end) requested_end = needed_end;
  if (requested_end > region.end) requested_end = region.end;
  void* const first = reinterpret_cast<void*>(from);
  if (os::System::allow(first, requested_end - from)) {
    kernel.allowed_end = requested_end;
  } else if (os::System::allow(first, needed_end - from)) {
    kernel.allowed_end = needed_end;
  }
  return needed_end <= kernel.allowed_end;
}
inline bool purge_kernel(RegionHeap&, uintptr_t at, size_t bytes) noexcept {
  return os::System::purge(reinterpret_cast<void*>(at), bytes);
}
// The bookkeeping goes first.
template <typename Region>
void unmap_region(RegionHeap& region) noexcept {
  void* const at = reinterpret_cast<void*>(region.base);
  const size_t bytes = region.end - region.base;
  free_bookkeeping(static_cast<Region&>(region));
  os::unmap_or_purge(at, bytes);
}
inline constexpr RegionSource kernel_source = {commit_kernel, purge_kernel,
                                               unmap_region<KernelRegion>, true};

inline RegionHeap* make_kernel_region_of(size_t bytes, const RegionRequest& request,
                                         RegionError& refusal) noexcept {
  refusal = RegionError::memory;
  void* at = os::reserve_aligned(bytes, arena_alignment);
  if (at == nullptr) return nullptr;
  KernelRegion* region = nullptr;
  refusal = ask_for_pages(at, bytes, request);
  if (refusal == RegionError::none) {
    if (options.thp == HugePages::always) os::System::advise_huge(at, bytes);
    if (options.thp == HugePages::never) os::System::advise_small(at, bytes);
    region = begin_region_aside<KernelRegion>(bytes / slice_bytes);
    if (region == nullptr) refusal = RegionError::memory;
  }
  if (region == nullptr) {
    os::System::unmap(at, bytes);
    return nullptr;
  }
  const uintptr_t base = reinterpret_cast<uintptr_t>(at);
  place_region(*region, base, base + bytes, kernel_source);
  region->allowed_end = base;
  refusal = RegionError::memory;
  return if_known(region);
}
inline RegionHeap* make_kernel_region(const RegionRequest& request, RegionError& refusal) noexcept {
  const size_t said = round_up(request.provider.bytes, slice_bytes);
  size_t bytes = said != 0 ? said : kernel_region_bytes;
  for (;; bytes /= 4) {
    RegionHeap* region = make_kernel_region_of(bytes, request, refusal);
    const bool is_last = said != 0 || bytes / 4 < kernel_region_bytes_min;
    if (region != nullptr || refusal != RegionError::memory || is_last) return region;
  }
}

// ---- a buffer

inline constexpr RegionSource buffer_source = {nullptr, nullptr, nullptr, false};

// Null: the buffer is too small.
inline RegionHeap* make_buffer_region(const talus_provider& request) noexcept {
  const uintptr_t base = reinterpret_cast<uintptr_t>(request.buffer);
  const uintptr_t end = base + request.bytes;
  if (request.buffer == nullptr || request.bytes < buffer_bytes_min || end < base) return nullptr;
  const size_t slices = slices_of(base, end);
  const size_t bytes = bookkeeping_bytes(sizeof(RegionHeap), slices);
  const uintptr_t header = round_up(base, cache_line_bytes);
  clear_bytes(reinterpret_cast<void*>(header), bytes);
  auto* region = begin_region<RegionHeap>(reinterpret_cast<void*>(header), slices);
  place_region(*region, base, end, buffer_source);
  leave_out(*region, region->base, round_up(header + bytes, unit_bytes));
  for (size_t i = 0; region->has_page_entries && i < slices; i++) {
    claim_slice(*region, i, base, end);
  }
  return region;
}

// ---- memory allocated at the start

inline constexpr RegionSource prealloc_source = {nullptr, nullptr, unmap_region<RegionHeap>, true};

inline RegionHeap* make_prealloc_region(const RegionRequest& request,
                                        RegionError& refusal) noexcept {
  const size_t bytes = round_up(request.provider.bytes, slice_bytes);
  void* at = os::map_aligned(nullptr, bytes, slice_bytes);
  if (at == nullptr) return nullptr;
  const uintptr_t base = reinterpret_cast<uintptr_t>(at);
  RegionHeap* region = nullptr;
  refusal = ask_for_pages(at, bytes, request);
  if (refusal == RegionError::none) {
    refusal = RegionError::memory;
    if (os::System::populate(at, bytes, os::page_bytes())) {
      region = begin_region_aside<RegionHeap>(bytes / slice_bytes);
    }
  }
  if (region == nullptr) {
    os::System::unmap(at, bytes);
    return nullptr;
  }
  place_region(*region, base, base + bytes, prealloc_source);
  region->falls_back = (request.provider.flags & TALUS_PROVIDER_FALLBACK) != 0;
  return region;
}

// ---- a file

inline bool commit_in_store(RegionHeap& region, uintptr_t at, size_t bytes, size_t room) noexcept {
  return static_cast<FileRegion&>(region).store.commit(at, bytes, room);
}
inline bool purge_in_store(RegionHeap& region, uintptr_t at, size_t bytes) noexcept {
  return static_cast<FileRegion&>(region).store.purge(at, bytes);
}
inline void close_region(RegionHeap& region) noexcept {
  auto& file = static_cast<FileRegion&>(region);
  file_stores.remove(file.store);
  file.store.close();
  free_bookkeeping(file);
}
inline constexpr RegionSource fixed_file_source = {nullptr, nullptr, close_region, true};
inline constexpr RegionSource growing_file_source = {commit_in_store, purge_in_store, close_region,
                                                     true};

inline RegionHeap* make_file_region(const talus_provider& request) noexcept {
  const bool grows = (request.flags & TALUS_PROVIDER_GROW) != 0;
  const size_t bytes = round_up(request.bytes, slice_bytes);
  const RegionSource& source = grows ? growing_file_source : fixed_file_source;
  auto* region = begin_region_aside<FileRegion>(bytes / slice_bytes);
  if (region == nullptr) return nullptr;
  ProvidedRange range;
  const bool is_open = region->store.open(request.directory, bytes, grows);
  if (is_open) range = region->store.reserve(bytes, bytes);
  if (range.base == 0) {
    region->store.close();
    free_bookkeeping(*region);
    return nullptr;
  }
  place_region(*region, range.base, range.base + bytes, source);
  file_stores.add(region->store);
  return region;
}

// ---- callbacks

inline bool commit_by_call(RegionHeap& region, uintptr_t at, size_t bytes, size_t) noexcept {
  auto& made = static_cast<CallbackRegion&>(region);
  return made.calls.commit(made.context, reinterpret_cast<void*>(at), bytes) == 0;
}
inline bool purge_by_call(RegionHeap& region, uintptr_t at, size_t bytes) noexcept {
  auto& made = static_cast<CallbackRegion&>(region);
  return made.calls.purge(made.context, reinterpret_cast<void*>(at), bytes) == 0;
}
inline void end_region_by_call(RegionHeap& region) noexcept {
  auto& made = static_cast<CallbackRegion&>(region);
  if (made.calls.release != nullptr) {
    made.calls.release(made.context, made.reserved, made.reserved_bytes);
  }
  free_bookkeeping(made);
}
// Indexed by which of commit and purge exist.
inline constexpr RegionSource call_sources[4] = {
    {nullptr, nullptr, end_region_by_call, false},
    {commit_by_call, nullptr, end_region_by_call, false},
    {nullptr, purge_by_call, end_region_by_call, false},
    {commit_by_call, purge_by_call, end_region_by_call, false},
};

inline RegionHeap* make_callback_region(const talus_provider& request) noexcept {
  const talus_provider_calls& calls = *request.calls;
  void* at = calls.reserve(request.context, request.bytes);
  if (at == nullptr) return nullptr;
  const size_t which = (calls.commit != nullptr ? 1u : 0u) + (calls.purge != nullptr ? 2u : 0u);
  const uintptr_t base = reinterpret_cast<uintptr_t>(at);
  const uintptr_t end = base + request.bytes;
  // Whole pages, so that commit and purge get whole pages.
  CallbackRegion* region = nullptr;
  if (base % os::page_bytes() == 0) {
    region = begin_region_aside<CallbackRegion>(slices_of(base, end));
  }
  if (region == nullptr) {
    if (calls.release != nullptr) calls.release(request.context, at, request.bytes);
    return nullptr;
  }
  place_region(*region, base, end, call_sources[which]);
  region->calls = calls;
  region->context = request.context;
  region->reserved = at;
  region->reserved_bytes = request.bytes;
  if (!region->has_page_entries) return region;
  claim_slice(*region, 0, base, end);
  if (region->slice_count > 1) claim_slice(*region, region->slice_count - 1, base, end);
  return region;
}

// Can a region be made from this request?
inline bool is_possible(const RegionRequest& asked) noexcept {
  constexpr size_t bytes_max = size_t{1} << (address_bits - 2);
  const talus_provider& request = asked.provider;
  unsigned allowed = 0;
  bool is_whole = request.bytes > 0 && request.bytes <= bytes_max;
  const bool has_kernel_pages =
      request.kind == TALUS_PROVIDER_OS || request.kind == TALUS_PROVIDER_PREALLOC;
  if (asked.node != 0 && (!has_kernel_pages || asked.node > os::nodes_max)) return false;
  switch (request.kind) {
    case TALUS_PROVIDER_OS:
      is_whole = request.bytes <= bytes_max;
      break;
    case TALUS_PROVIDER_BUFFER:
      is_whole = is_whole && request.buffer != nullptr && request.bytes >= buffer_bytes_min;
      break;
    case TALUS_PROVIDER_PREALLOC:
      allowed = TALUS_PROVIDER_FALLBACK;
      break;
    case TALUS_PROVIDER_FILE:
      allowed = TALUS_PROVIDER_GROW;
      is_whole = is_whole && request.directory != nullptr && request.directory[0] != '\0';
      break;
    case TALUS_PROVIDER_CALLBACKS:
      is_whole = is_whole && request.calls != nullptr && request.calls->reserve != nullptr &&
                 request.bytes % os::page_bytes() == 0;
      break;
    default:
      return false;
  }
  return is_whole && (request.flags & ~allowed) == 0;
}

// For a request that passed is_possible(). Null: refused.
inline RegionHeap* make_region(const RegionRequest& request, RegionError& refusal) noexcept {
  refusal = RegionError::memory;
  switch (request.provider.kind) {
    case TALUS_PROVIDER_OS:
      return make_kernel_region(request, refusal);
    case TALUS_PROVIDER_BUFFER:
      return make_buffer_region(request.provider);
    case TALUS_PROVIDER_PREALLOC:
      return if_known(make_prealloc_region(request, refusal));
    case TALUS_PROVIDER_FILE:
      return if_known(make_file_region(request.provider));
    default:
      return if_known(make_callback_region(request.provider));
  }
}

}  // namespace talus::core

#endif  // TALUS_REGIONS_REGION_LIFE_HPP
