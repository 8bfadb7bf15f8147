// SPDX-License-Identifier: MIT
// modes/profile_sites: what a profile keeps: sites, and the live blocks that were sampled.
//
//   sampled block -> record: site, bytes, time, thread
//   site          -> a stack and a block size; how often, and with how many bytes, blocks of it
//                    were sampled and freed
//
// Owns: both, in pools of a fixed size, and what was lost for want of room. Numbers are those of
// samples. A reader multiplies those of a site by 1 / (1 - exp(-size / mean interval)).
// Invariants: a live block has at most one record. The counts of a site grow only. Sites are never
// freed, and their stacks never change. Called on: any thread, under the space lock. Must not know:
// which blocks are sampled.
#ifndef TALUS_MODES_PROFILE_SITES_HPP
#define TALUS_MODES_PROFILE_SITES_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"

namespace talus::core::profile {

struct Stack {
  static constexpr size_t frames_max = 128;

  size_t count = 0;
  uintptr_t frames[frames_max];

  uint64_t hash() const noexcept {
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) hash = mix_bits(hash ^ frames[i]);
    return hash;
  }
};

// All fields but the counts are constant once the site is in its bucket.
struct Site {
  uint64_t hash = 0;
  uint64_t block_bytes = 0;  // of the size class, or of the large block
  uint32_t next = 0;         // in the bucket; 0: the last
  uint32_t first_frame = 0, frame_count = 0;
  Atomic<uint64_t> shared_allocations, shared_frees;
  Atomic<uint64_t> shared_allocated_bytes, shared_freed_bytes;  // that the program asked for
};

struct Record {
  uintptr_t block = 0;  // 0: unused
  uint64_t bytes = 0;   // that the program asked for
  uint64_t made_ns = 0;
  uint32_t thread = 0;
  uint32_t site = 0;
  uint32_t next = 0;  // in the bucket, or of the unused ones; 0: the last
};

// Zero at first.
class Sites {
 public:
  static constexpr size_t site_count_max = 16384, record_count_max = 65536;
  static constexpr size_t frame_count_max = size_t{1} << 19;

  // A block is live from here on. A record of its address is from a block whose end was not told.
  void begin_block(Held<SpaceLock>& held, uintptr_t block, uint64_t bytes, uint64_t block_bytes,
                   const Stack& stack, uint32_t thread, uint64_t now_ns) noexcept {
    end_block(held, block);
    const uint32_t site = site_of(stack, block_bytes);
    const uint32_t index = site == 0 ? 0 : take_record();
    if (index == 0) return note_lost();
    sites_[site].shared_allocations.own_add(1);
    sites_[site].shared_allocated_bytes.own_add(bytes);
    Atomic<uint32_t>& bucket = record_bucket(block);
    records_[index] = Record{block, bytes, now_ns, thread, site, bucket.load_own()};
    bucket.store_release(index);
    live_count_++;
    TALUS_ASSERT(space.lock().is_own() && live_count_ <= record_count_max);
  }
  // A block ends, if it was sampled.
  void end_block(Held<SpaceLock>& held, uintptr_t block) noexcept {
    const uint32_t record = hold(held, block);
    if (record != 0) end_held(held, record);
  }
  // Takes a record out of its bucket for a while; 0: the block was not sampled. Until it is put
  // back or ended, the address may serve again.
  uint32_t hold(Held<SpaceLock>&, uintptr_t block) noexcept {
    TALUS_ASSERT(space.lock().is_own());
    Atomic<uint32_t>& bucket = record_bucket(block);
    uint32_t before = 0, index = bucket.load_own();
    while (index != 0 && records_[index].block != block) {
      before = index;
      index = records_[index].next;
    }
    if (index == 0) return 0;
    if (before == 0) {
      bucket.store_release(records_[index].next);
    } else {
      records_[before].next = records_[index].next;
    }
    return index;
  }
  void put_back(Held<SpaceLock>&, uint32_t held_record) noexcept {
    TALUS_ASSERT(space.lock().is_own() && held_record != 0);
    Record& record = records_[held_record];
    Atomic<uint32_t>& bucket = record_bucket(record.block);
    record.next = bucket.load_own();
    bucket.store_release(held_record);
  }
  void end_held(Held<SpaceLock>&, uint32_t held_record) noexcept {
    TALUS_ASSERT(space.lock().is_own() && held_record != 0 && live_count_ != 0);
    Record& record = records_[held_record];
    sites_[record.site].shared_frees.own_add(1);
    sites_[record.site].shared_freed_bytes.own_add(record.bytes);
    record = Record{};
    record.next = unused_record_;
    unused_record_ = held_record;
    live_count_--;
  }
  // False: the block was not sampled. True: it may have been. Without the lock: a block that the
  // calling thread may free was sampled before.
  bool may_have(uintptr_t block) const noexcept {
    return record_buckets_[place_of(block)].load_acquire() != 0;
  }
  // A sample that could not be kept.
  void note_lost() noexcept { shared_lost_.stat_add(1); }

  uint64_t lost() const noexcept { return shared_lost_.load_stat(); }
  size_t live_count() const noexcept { return live_count_; }
  // Calls visit(site, frames) for each site.
  template <typename Visit>
  void for_each_site(Visit visit) const noexcept {
    for (size_t i = 1; i <= site_count_; i++) visit(sites_[i], frames_ + sites_[i].first_frame);
  }

 private:
  static constexpr size_t bucket_count = 65536;

  static size_t place_of(uintptr_t block) noexcept { return mix_bits(block) % bucket_count; }
  Atomic<uint32_t>& record_bucket(uintptr_t block) noexcept {
    return record_buckets_[place_of(block)];
  }

  // 0: there is no room.
  uint32_t site_of(const Stack& stack, uint64_t block_bytes) noexcept {
    const uint64_t hash = mix_bits(stack.hash() + block_bytes);
    uint32_t& bucket = site_buckets_[hash % site_count_max];
    for (uint32_t index = bucket; index != 0; index = sites_[index].next) {
      if (is_same(sites_[index], hash, stack, block_bytes)) return index;
    }
    if (site_count_ == site_count_max - 1) return 0;
    if (frame_count_max - frame_count_ < stack.count) return 0;
    const auto index = static_cast<uint32_t>(++site_count_);
    Site& site = sites_[index];
    site.hash = hash;
    site.block_bytes = block_bytes;
    site.first_frame = static_cast<uint32_t>(frame_count_);
    site.frame_count = static_cast<uint32_t>(stack.count);
    copy_bytes(frames_ + frame_count_, stack.frames, stack.count * sizeof(uintptr_t));
    frame_count_ += stack.count;
    site.next = bucket;
    bucket = index;
    return index;
  }
  bool is_same(const Site& site, uint64_t hash, const Stack& stack,
               uint64_t block_bytes) const noexcept {
    if (site.hash != hash || site.block_bytes != block_bytes) return false;
    if (site.frame_count != stack.count) return false;
    for (size_t i = 0; i < stack.count; i++) {
      if (frames_[site.first_frame + i] != stack.frames[i]) return false;
    }
    return true;
  }
  uint32_t take_record() noexcept {
    const uint32_t index = unused_record_;
    if (index != 0) {
      unused_record_ = records_[index].next;
      return index;
    }
    if (begun_records_ == record_count_max - 1) return 0;
    return static_cast<uint32_t>(++begun_records_);
  }

  Atomic<uint64_t> shared_lost_;
  size_t site_count_ = 0, frame_count_ = 0, begun_records_ = 0, live_count_ = 0;
  uint32_t unused_record_ = 0;
  uint32_t site_buckets_[site_count_max] = {};
  Atomic<uint32_t> record_buckets_[bucket_count];
  Site sites_[site_count_max];        // 0 is none
  Record records_[record_count_max];  // 0 is none
  uintptr_t frames_[frame_count_max] = {};
};

}  // namespace talus::core::profile

#endif  // TALUS_MODES_PROFILE_SITES_HPP
