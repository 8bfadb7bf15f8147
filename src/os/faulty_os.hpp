// SPDX-License-Identifier: MIT
// os/faulty_os: an operating system that can be told to fail, for tests (-DTALUS_FAKE_OS=1).
//
// Owns: the plan of faults. Invariant: keeps the contract of the system below it, which does what
// the plan permits, and also checks that the floors above keep their side (page-aligned
// arguments). The plan is plain atomics; the test sets it before or between allocations. Called on:
// any thread. Must not know: its callers, and which system is below it.
#ifndef TALUS_OS_FAULTY_OS_HPP
#define TALUS_OS_FAULTY_OS_HPP

#include "base/base.hpp"
#include "os/arguments.hpp"

namespace talus::core::os {

enum class FakeCall : uint8_t {
  map,
  unmap,
  purge,
  move_pages,
  map_anew,
  allow,
  decommit,
  reserve_room,
  give_room_back,
  map_file,
  prefer_node,
  name_mapping,
  set_guards,
  lift_guards,
  order_threads,
  count
};

struct FakePlan {
  Atomic<uint64_t> calls[static_cast<size_t>(FakeCall::count)];         // made so far, by kind
  Atomic<uint64_t> refuse_at[static_cast<size_t>(FakeCall::count)];     // this one fails; 0: none
  Atomic<uint64_t> refuse_from[static_cast<size_t>(FakeCall::count)];   // this and later; 0: none
  Atomic<uint64_t> refuse_every[static_cast<size_t>(FakeCall::count)];  // each k-th; 0: none
  Atomic<uint64_t> page_bytes;                                          // 0: the real one
  Atomic<uint64_t> map_base;          // addresses are handed out upward from here; 0: the kernel's
  Atomic<uint64_t> misaligned_calls;  // calls whose arguments were not multiples of the page
  Atomic<bool> keeps_holes;           // give_room_back answers "done" and does nothing
  Atomic<uint64_t> nodes;             // how many the machine has; 0: as the kernel says
  Atomic<long> node_answer;           // to each request for a node; 0: by `nodes`
  // the last request for a node, and the last name of a mapping
  Atomic<uint64_t> node_at, node_bytes, node_requested, name_at, name_bytes;
  char name[mapping_name_bytes + 1] = {};
};

TALUS_CONSTINIT inline FakePlan fake_plan;

template <class Base>
struct FaultyOs : Base {
  static size_t page_bytes() noexcept {
    const uint64_t faked = fake_plan.page_bytes.load_hint();  // set before the first use
    return faked != 0 ? faked : Base::page_bytes();
  }
  static void* map(void* hint, size_t bytes) noexcept {
    if (!permits(FakeCall::map, hint, bytes)) return nullptr;
    const uint64_t base = fake_plan.map_base.load_hint();
    if (base == 0) return aligned_map(hint, bytes);
    const uint64_t at = fake_plan.map_base.claim(bytes + slice_bytes);
    if (at >> address_bits != 0) return nullptr;  // what os.hpp does with such an address
    return Base::map(reinterpret_cast<void*>(at), bytes);
  }
  static void* reserve(size_t bytes) noexcept {
    if (!permits(FakeCall::map, nullptr, bytes)) return nullptr;
    return to_page(Base::reserve(bytes + page_bytes()));
  }
  static bool allow(void* at, size_t bytes) noexcept {
    return permits(FakeCall::allow, at, bytes) && Base::allow(at, bytes);
  }
  static bool decommit(void* at, size_t bytes) noexcept {
    return permits(FakeCall::decommit, at, bytes) && Base::decommit(at, bytes);
  }
  static bool set_guards(void* at, size_t bytes) noexcept {
    return permits(FakeCall::set_guards, at, bytes) && Base::set_guards(at, bytes);
  }
  static bool lift_guards(void* at, size_t bytes) noexcept {
    return permits(FakeCall::lift_guards, at, bytes) && Base::lift_guards(at, bytes);
  }
  static bool unmap(void* at, size_t bytes) noexcept {
    return permits(FakeCall::unmap, at, bytes) && Base::unmap(at, bytes);
  }
  static bool purge(void* at, size_t bytes) noexcept {
    return permits(FakeCall::purge, at, bytes) && Base::purge(at, bytes);
  }
  // Counts each run as one call to purge.
  static size_t purge_runs(const PageRun* runs, size_t count) noexcept {
    size_t permitted = 0;
    while (permitted < count &&
           permits(FakeCall::purge, runs[permitted].at, runs[permitted].bytes)) {
      permitted++;
    }
    return Base::purge_runs(runs, permitted);
  }
  static bool order_threads() noexcept {
    return permits(FakeCall::order_threads, nullptr, 0) && Base::order_threads();
  }
  static bool reserve_room(long file, uint64_t offset, size_t bytes) noexcept {
    return permits(FakeCall::reserve_room, nullptr, bytes) &&
           Base::reserve_room(file, offset, bytes);
  }
  static bool give_room_back(long file, uint64_t offset, size_t bytes) noexcept {
    if (!permits(FakeCall::give_room_back, nullptr, bytes)) return false;
    if (fake_plan.keeps_holes.load_hint()) return true;
    return Base::give_room_back(file, offset, bytes);
  }
  static bool map_file(void* at, size_t bytes, long file, uint64_t offset,
                       FileSharing sharing) noexcept {
    return permits(FakeCall::map_file, at, bytes) &&
           Base::map_file(at, bytes, file, offset, sharing);
  }
  static long prefer_node(void* at, size_t bytes, size_t node) noexcept {
    fake_plan.node_at.store_stat(reinterpret_cast<uintptr_t>(at));  // , as those below
    fake_plan.node_bytes.store_stat(bytes);
    fake_plan.node_requested.store_stat(node);
    if (!permits(FakeCall::prefer_node, at, bytes)) return Base::no_memory;
    const long answer = fake_plan.node_answer.load_hint();
    const uint64_t nodes = fake_plan.nodes.load_hint();
    if (answer != 0) return answer;
    return nodes == 0     ? Base::prefer_node(at, bytes, node)
           : node < nodes ? 0
                          : Base::invalid_argument;
  }
  static void name_mapping(void* at, size_t bytes, const char* name) noexcept {
    fake_plan.name_at.store_stat(reinterpret_cast<uintptr_t>(at));
    fake_plan.name_bytes.store_stat(bytes);
    for (size_t i = 0; i < mapping_name_bytes; i++) {
      fake_plan.name[i] = name[i];
      if (name[i] == '\0') break;
    }
    if (permits(FakeCall::name_mapping, at, bytes)) Base::name_mapping(at, bytes, name);
  }
  // The kernel counts in its own pages.
  static bool look_for_pages(const void* at, size_t bytes, unsigned char* pages) noexcept {
    return page_bytes() == Base::page_bytes() && Base::look_for_pages(at, bytes, pages);
  }
  static bool map_anew(void* at, size_t bytes) noexcept {
    return permits(FakeCall::map_anew, at, bytes) && Base::map_anew(at, bytes);
  }
  static size_t move_pages(void* from, void* to, size_t bytes) noexcept {
    if (!permits(FakeCall::move_pages, from, bytes) || !permits_address(to)) return 0;
    return Base::move_pages(from, to, bytes);
  }

 private:
  // A kernel with larger pages returns addresses aligned to these.
  static void* aligned_map(void* hint, size_t bytes) noexcept {
    if (page_bytes() == Base::page_bytes()) return Base::map(hint, bytes);
    return to_page(Base::map(hint, bytes + page_bytes()));
  }
  // The first fake page of a range that is one page longer than requested.
  static void* to_page(void* at) noexcept {
    if (at == nullptr) return nullptr;
    return reinterpret_cast<void*>(round_up(reinterpret_cast<uintptr_t>(at), page_bytes()));
  }
  static bool permits_address(const void* at) noexcept {
    const bool aligned = reinterpret_cast<uintptr_t>(at) % page_bytes() == 0;
    if (!aligned) fake_plan.misaligned_calls.stat_add(1);
    return aligned;
  }
  static bool permits(FakeCall kind, const void* at, size_t bytes) noexcept {
    const size_t row = static_cast<size_t>(kind);
    const uint64_t call = fake_plan.calls[row].stat_add(1) + 1;
    const uint64_t from = fake_plan.refuse_from[row].load_hint();
    const uint64_t every = fake_plan.refuse_every[row].load_hint();
    if (call == fake_plan.refuse_at[row].load_hint()) return false;
    if (from != 0 && call >= from) return false;
    if (every != 0 && call % every == 0) return false;
    return permits_address(at) && permits_address(reinterpret_cast<const void*>(bytes));
  }
};

}  // namespace talus::core::os

#endif  // TALUS_OS_FAULTY_OS_HPP
