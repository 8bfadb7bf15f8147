// SPDX-License-Identifier: MIT
// modes/profile_sites: what a profile keeps: sites, and the live blocks that were sampled.
//
//   sampled block -> record: site, bytes, time, thread
//   site          -> a stack, a tag and a block size; how often, and with how many bytes, blocks
//                    of it were sampled and freed, how long they lived, and what lived at the peak
//
// The peak is the moment with the most live bytes, as samples tell it. A site notes what it holds
// when it changes for the first time after that moment. So a new peak costs one count, and a site
// that has not changed since the last peak holds what it held then.
//
// Owns: both, in pools of a fixed size, and what was lost for want of room. Numbers are those of
// samples. A reader multiplies those of a site by its weight (modes/sample_weight.hpp).
// Invariants: a live block has at most one record. The counts of allocations, frees and lives of a
// site grow only. Sites are never freed, and their stacks never change. Called on: any thread,
// under the space lock. Must not know: which blocks are sampled.
#ifndef TALUS_MODES_PROFILE_SITES_HPP
#define TALUS_MODES_PROFILE_SITES_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "modes/sample_weight.hpp"

namespace talus::core::profile {

struct Stack {
  static constexpr size_t frames_max = 128;

  size_t count = 0;
  uint32_t tag = 0;  // modes/tags.hpp
  uintptr_t frames[frames_max];

  uint64_t hash() const noexcept {
    // Lanes, so that few multiplications wait for the one before.
    uint64_t first = count + (uint64_t{tag} << 32), second = 1, third = 2;
    size_t i = 0;
    for (; i + 3 <= count; i += 3) {
      first = mixed(first, frames[i]);
      second = mixed(second, frames[i + 1]);
      third = mixed(third, frames[i + 2]);
    }
    for (; i < count; i++) first = mixed(first, frames[i]);
    return mix_bits(mixed(mixed(first, second), third));
  }

 private:
  static uint64_t mixed(uint64_t hash, uint64_t word) noexcept {
    return ((hash << 7 | hash >> 57) ^ word) * 0x9e3779b97f4a7c15u;
  }
};

struct SampledLive {
  uint64_t blocks = 0, bytes = 0;
};

// Blocks that were freed, by how long they lived: below 10 us, 100 us, ..., 1000 s, and longer.
struct Lives {
  static constexpr size_t bins = 10;
  uint64_t sum_ns[bins] = {};
  uint64_t counts[bins] = {};

  void add(uint64_t life_ns) noexcept {
    size_t bin = 0;
    for (uint64_t end_ns = 10000; bin < bins - 1 && life_ns >= end_ns; end_ns *= 10) bin++;
    sum_ns[bin] += life_ns;
    counts[bin]++;
  }
};

// Hash, size, stack, tag and weight are constant once the site is in its bucket.
struct Site {
  uint64_t hash = 0;
  uint64_t block_bytes = 0;  // of the size class, or of the large block
  uint32_t next = 0;         // in the bucket; 0: the last
  uint32_t first_frame = 0, frame_count = 0;
  uint32_t tag = 0;
  Atomic<uint64_t> shared_allocations, shared_frees;
  Atomic<uint64_t> shared_allocated_bytes, shared_freed_bytes;  // that the program asked for
  double weight = 1;                                            // of each byte and block
  SampledLive live, live_at_peak;
  uint64_t peak_turn = 0;  // when it last changed; live_at_peak holds if that is Sites' turn
  Lives lives;
};

struct Record {
  uintptr_t block = 0;  // 0: unused
  uint64_t bytes = 0;   // that the program asked for
  uint64_t made_ns = 0;
  uintptr_t place = 0;  // in a slab, where the block would lie without a sample; 0: not known
  uint32_t thread = 0;  // the kernel's id of it
  uint32_t site = 0;
  uint32_t next = 0;  // in the bucket, or of the unused ones; 0: the last
};

// A block that is sampled.
struct NewBlock {
  uintptr_t block;
  uint64_t bytes, block_bytes;  // that the program asked for; of its size class
  uintptr_t place;              // see Record
};

// Zero at first.
class Sites {
 public:
  static constexpr size_t site_count_max = 16384, record_count_max = 65536;
  static constexpr size_t frame_count_max = size_t{1} << 19;

  // A block is live from here on. A record of its address is from a block whose end was not told.
  void begin_block(Held<SpaceLock>& held, const NewBlock& made, const Stack& stack, uint32_t thread,
                   uint64_t now_ns) noexcept {
    const auto [block, bytes, block_bytes, place] = made;
    end_block(held, block, now_ns);
    const uint32_t site = site_of(stack, block_bytes);
    const uint32_t index = site == 0 ? 0 : take_record();
    if (index == 0) return note_lost();
    sites[site].shared_allocations.own_add(1);
    sites[site].shared_allocated_bytes.own_add(bytes);
    note_before_change(sites[site]);
    sites[site].live.blocks++;
    sites[site].live.bytes += bytes;
    live_weighted += weighted(sites[site], bytes);
    if (live_weighted > peak_weighted) {
      peak_weighted = live_weighted;
      peak_ns = now_ns;
      peak_turn++;
    }
    Atomic<uint32_t>& bucket = record_bucket(block);
    records[index] = Record{block, bytes, now_ns, place, thread, site, bucket.load_own()};
    bucket.store_release(index);
    live_blocks++;
    TALUS_ASSERT(space.lock().is_own() && live_blocks <= record_count_max);
  }
  // A block ends, if it was sampled.
  void end_block(Held<SpaceLock>& held, uintptr_t block, uint64_t now_ns) noexcept {
    const uint32_t record = hold(held, block);
    if (record != 0) end_held(held, record, now_ns);
  }
  // Takes a record out of its bucket for a while; 0: the block was not sampled. Until it is put
  // back or ended, the address may serve again.
  uint32_t hold(Held<SpaceLock>&, uintptr_t block) noexcept {
    TALUS_ASSERT(space.lock().is_own());
    Atomic<uint32_t>& bucket = record_bucket(block);
    uint32_t before = 0, index = bucket.load_own();
    while (index != 0 && records[index].block != block) {
      before = index;
      index = records[index].next;
    }
    if (index == 0) return 0;
    if (before == 0) {
      bucket.store_release(records[index].next);
    } else {
      records[before].next = records[index].next;
    }
    return index;
  }
  void put_back(Held<SpaceLock>&, uint32_t held_record) noexcept {
    TALUS_ASSERT(space.lock().is_own() && held_record != 0);
    Record& record = records[held_record];
    Atomic<uint32_t>& bucket = record_bucket(record.block);
    record.next = bucket.load_own();
    bucket.store_release(held_record);
  }
  void end_held(Held<SpaceLock>&, uint32_t held_record, uint64_t now_ns) noexcept {
    TALUS_ASSERT(space.lock().is_own() && held_record != 0 && live_blocks != 0);
    const Record& record = records[held_record];
    Site& site = sites[record.site];
    site.shared_frees.own_add(1);
    site.shared_freed_bytes.own_add(record.bytes);
    site.lives.add(now_ns > record.made_ns ? now_ns - record.made_ns : 0);
    end_record(held_record);
  }
  // False: the block was not sampled. True: it may have been. Without the lock: a block that the
  // calling thread may free was sampled before.
  bool may_have(uintptr_t block) const noexcept {
    return record_buckets[place_of(block)].load_acquire() != 0;
  }
  // A sample that could not be kept.
  void note_lost() noexcept { shared_lost.stat_add(1); }

  uint64_t lost() const noexcept { return shared_lost.load_stat(); }
  size_t live_count() const noexcept { return live_blocks; }
  // Calls visit(site, frames) for each site.
  template <typename Visit>
  void for_each_site(Visit visit) const noexcept {
    const size_t count = shared_site_count.load_acquire();
    for (size_t i = 1; i <= count; i++) visit(sites[i], frames + sites[i].first_frame);
  }

  // The blocks that live now are sampled no longer. The counts of their sites stay. A record that a
  // resize holds at this moment is in no bucket; it stays, and the resize ends it or puts it back.
  void forget_live(Held<SpaceLock>&) noexcept {
    TALUS_ASSERT(space.lock().is_own());
    for (Atomic<uint32_t>& bucket : record_buckets) {
      uint32_t index = bucket.load_own();
      bucket.store_own(0);
      while (index != 0) {
        const uint32_t next = records[index].next;
        end_record(index);
        index = next;
      }
    }
  }

 private:
  static constexpr size_t bucket_count = 65536;

  static size_t place_of(uintptr_t block) noexcept { return mix_bits(block) % bucket_count; }
  Atomic<uint32_t>& record_bucket(uintptr_t block) noexcept {
    return record_buckets[place_of(block)];
  }

  // 0: there is no room.
  uint32_t site_of(const Stack& stack, uint64_t block_bytes) noexcept {
    const uint64_t hash = mix_bits(stack.hash() + block_bytes);
    uint32_t& bucket = site_buckets[hash % site_count_max];
    for (uint32_t index = bucket; index != 0; index = sites[index].next) {
      if (is_same(sites[index], hash, stack, block_bytes)) return index;
    }
    const size_t count = shared_site_count.load_own();
    if (count == site_count_max - 1) return 0;
    if (frame_count_max - frame_count < stack.count) return 0;
    const auto index = static_cast<uint32_t>(count + 1);
    Site& site = sites[index];
    site.hash = hash;
    site.block_bytes = block_bytes;
    site.tag = stack.tag;
    site.weight = weight_of(block_bytes, mean_bytes);
    site.first_frame = static_cast<uint32_t>(frame_count);
    site.frame_count = static_cast<uint32_t>(stack.count);
    copy_bytes(frames + frame_count, stack.frames, stack.count * sizeof(uintptr_t));
    frame_count += stack.count;
    site.next = bucket;
    bucket = index;
    shared_site_count.store_release(index);  // last: a reader finds whole sites
    return index;
  }
  bool is_same(const Site& site, uint64_t hash, const Stack& stack,
               uint64_t block_bytes) const noexcept {
    if (site.hash != hash || site.block_bytes != block_bytes) return false;
    if (site.frame_count != stack.count || site.tag != stack.tag) return false;
    for (size_t i = 0; i < stack.count; i++) {
      if (frames[site.first_frame + i] != stack.frames[i]) return false;
    }
    return true;
  }
  static uint64_t weighted(const Site& site, uint64_t bytes) noexcept {
    return static_cast<uint64_t>(site.weight * static_cast<double>(bytes));
  }
  void note_before_change(Site& site) noexcept {
    if (site.peak_turn == peak_turn) return;
    site.peak_turn = peak_turn;
    site.live_at_peak = site.live;
  }
  void end_record(uint32_t index) noexcept {
    Site& site = sites[records[index].site];
    const uint64_t bytes = records[index].bytes;
    TALUS_ASSERT(site.live.blocks != 0 && site.live.bytes >= bytes);
    note_before_change(site);
    site.live.blocks--;
    site.live.bytes -= bytes;
    live_weighted -= weighted(site, bytes);
    records[index] = Record{};
    records[index].next = unused_record;
    unused_record = index;
    live_blocks--;
  }
  uint32_t take_record() noexcept {
    const uint32_t index = unused_record;
    if (index != 0) {
      unused_record = records[index].next;
      return index;
    }
    if (record_count == record_count_max - 1) return 0;
    return static_cast<uint32_t>(++record_count);
  }

 public:  // readers outside of the process know where these lie (observe/observed_fields.hpp)
  Atomic<uint64_t> shared_lost;
  Atomic<uint64_t> shared_site_count;
  size_t frame_count = 0, record_count = 0, live_blocks = 0;
  uint64_t mean_bytes = 0;                        // between samples; 0: each block is one
  uint64_t live_weighted = 0, peak_weighted = 0;  // estimates of all bytes
  uint64_t peak_ns = 0, peak_turn = 0;            // when the peak was, and how many there were
  uint32_t unused_record = 0;
  uint32_t site_buckets[site_count_max] = {};
  Atomic<uint32_t> record_buckets[bucket_count];
  Site sites[site_count_max];        // 0 is none
  Record records[record_count_max];  // 0 is none
  uintptr_t frames[frame_count_max] = {};
};

}  // namespace talus::core::profile

#endif  // TALUS_MODES_PROFILE_SITES_HPP
