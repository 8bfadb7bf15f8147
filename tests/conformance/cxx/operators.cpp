// All twenty replaceable allocation functions of C++17, called by name (N30).
//
// Eight forms of new and twelve of delete: array or not, nothrow, sized, aligned. Each new is
// paired with deletes that may free it; blocks are aligned, writable and distinct, and a loop shows
// that every delete really frees. A library that replaces some forms and leaves the others to the
// C++ runtime mixes two allocators, which the pairings bring to light.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cstdint>
#include <new>

namespace {

using std::align_val_t;
using std::nothrow;
using std::size_t;

struct Pair {
  const char* name;
  bool is_aligned;
  void* (*take)(size_t size, align_val_t alignment);
  void (*give)(void* block, size_t size, align_val_t alignment);
};

#define TAKE(name, ...)                                                          \
  void* take_##name([[maybe_unused]] size_t n, [[maybe_unused]] align_val_t a) { \
    return __VA_ARGS__;                                                          \
  }
#define GIVE(name, ...)                                                                  \
  void give_##name(void* p, [[maybe_unused]] size_t n, [[maybe_unused]] align_val_t a) { \
    __VA_ARGS__;                                                                         \
  }

TAKE(plain, ::operator new(n))
TAKE(array, ::operator new[](n))
TAKE(nothrow, ::operator new(n, nothrow))
TAKE(array_nothrow, ::operator new[](n, nothrow))
TAKE(aligned, ::operator new(n, a))
TAKE(aligned_array, ::operator new[](n, a))
TAKE(aligned_nothrow, ::operator new(n, a, nothrow))
TAKE(aligned_array_nothrow, ::operator new[](n, a, nothrow))

GIVE(plain, ::operator delete(p))
GIVE(array, ::operator delete[](p))
GIVE(nothrow, ::operator delete(p, nothrow))
GIVE(array_nothrow, ::operator delete[](p, nothrow))
GIVE(sized, ::operator delete(p, n))
GIVE(sized_array, ::operator delete[](p, n))
GIVE(aligned, ::operator delete(p, a))
GIVE(aligned_array, ::operator delete[](p, a))
GIVE(aligned_nothrow, ::operator delete(p, a, nothrow))
GIVE(aligned_array_nothrow, ::operator delete[](p, a, nothrow))
GIVE(aligned_sized, ::operator delete(p, n, a))
GIVE(aligned_sized_array, ::operator delete[](p, n, a))

const Pair pairs[] = {
    {"new, delete", false, take_plain, give_plain},
    {"new, delete sized", false, take_plain, give_sized},
    {"new, delete nothrow", false, take_plain, give_nothrow},
    {"new nothrow, delete", false, take_nothrow, give_plain},
    {"new nothrow, delete sized", false, take_nothrow, give_sized},
    {"new[], delete[]", false, take_array, give_array},
    {"new[], delete[] sized", false, take_array, give_sized_array},
    {"new[], delete[] nothrow", false, take_array, give_array_nothrow},
    {"new[] nothrow, delete[]", false, take_array_nothrow, give_array},
    {"aligned new, delete", true, take_aligned, give_aligned},
    {"aligned new, delete sized", true, take_aligned, give_aligned_sized},
    {"aligned new, delete nothrow", true, take_aligned, give_aligned_nothrow},
    {"aligned new nothrow, delete", true, take_aligned_nothrow, give_aligned},
    {"aligned new[], delete[]", true, take_aligned_array, give_aligned_array},
    {"aligned new[], delete[] sized", true, take_aligned_array, give_aligned_sized_array},
    {"aligned new[], delete[] nothrow", true, take_aligned_array, give_aligned_array_nothrow},
    {"aligned new[] nothrow, delete[]", true, take_aligned_array_nothrow, give_aligned_array},
};

void check_blocks(const Pair& pair, size_t size, size_t alignment) {
  void* blocks[8];
  const auto typed = static_cast<align_val_t>(alignment);
  for (size_t i = 0; i < 8; ++i) {
    blocks[i] = probe::opaque(pair.take(size, typed));
    const auto address = reinterpret_cast<std::uintptr_t>(blocks[i]);
    PROBE_EXPECT(address != 0 && address % alignment == 0, "%s of %zu at %zu gives %p", pair.name,
                 size, alignment, blocks[i]);
    probe::fill(blocks[i], size, i);
  }
  for (size_t i = 0; i < 8; ++i) {
    PROBE_EXPECT(probe::is_filled(blocks[i], size, i), "%s of %zu overlaps", pair.name, size);
    pair.give(blocks[i], size, typed);
  }
}

void check_freed(const Pair& pair) {
  const auto typed = static_cast<align_val_t>(64);
  const size_t before = probe::resident_bytes();
  for (int i = 0; i < 100000; ++i) {
    char* block = static_cast<char*>(probe::opaque(pair.take(1000, typed)));
    block[0] = block[999] = 1;
    pair.give(block, 1000, typed);
  }
  const size_t grown = probe::saturating_difference(probe::resident_bytes(), before);
  PROBE_EXPECT(grown < 20 * probe::mib, "%s leaves %zu KiB", pair.name, grown / 1024);
}

}  // namespace

int main() {
  for (const Pair& pair : pairs) {
    for (size_t size = 1; size < 4 * probe::mib; size = size * 3 + 1) {
      if (!pair.is_aligned) {
        check_blocks(pair, size, size >= 16 ? 16 : 1);
        continue;
      }
      for (size_t alignment = 32; alignment <= 256 * probe::kib; alignment *= 8) {
        check_blocks(pair, size, alignment);
      }
    }
    pair.give(nullptr, 1, static_cast<align_val_t>(64));
    check_freed(pair);
  }
  PROBE_EXPECT(probe::opaque(::operator new(0)) != nullptr, "operator new(0)");
  return probe::verdict();
}
