// BSD and macOS calls, each checked where it exists (N29): reallocf, recallocarray, freezero,
// malloc_good_size, malloc_size.
//
// All are looked up at run time; a library that exports none is skipped, one that exports a wrong
// one fails. freezero's wiping is seen through the block itself only when it is handed out again,
// so that part is left to the library's own tests.
// SPDX-License-Identifier: MIT
#include "../measure.hpp"
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cerrno>
#include <cstdint>
#include <dlfcn.h>
#include <malloc.h>

namespace {

template <typename Call>
Call look_up(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_DEFAULT, name));
}

using Reallocf = void* (*)(void*, std::size_t);
using Recallocarray = void* (*)(void*, std::size_t, std::size_t, std::size_t);
using Freezero = void (*)(void*, std::size_t);
using GoodSize = std::size_t (*)(std::size_t);
using Size = std::size_t (*)(const void*);

// On failure the old block is freed: 400 failures over 1 MiB each must leave nothing behind.
void check_reallocf(Reallocf reallocf) {
  const std::size_t before = probe::resident_bytes();
  for (int i = 0; i < 400; ++i) {
    void* block = probe::opaque(malloc(probe::mib));
    probe::fill(block, probe::mib, 1);
    errno = 0;
    void* none = reallocf(block, probe::opaque(SIZE_MAX - 100));
    PROBE_EXPECT(none == nullptr && errno == ENOMEM, "reallocf(p, SIZE_MAX - 100), errno %d",
                 errno);
  }
  const std::size_t grown = probe::saturating_difference(probe::resident_bytes(), before);
  PROBE_EXPECT(grown < 100 * probe::mib, "a failing reallocf keeps its block");
  void* block = reallocf(probe::opaque(malloc(10)), 5000);
  PROBE_EXPECT(block != nullptr && malloc_usable_size(block) >= 5000, "reallocf(p, 5000)");
  free(block);
}

void check_recallocarray(Recallocarray recallocarray) {
  for (std::size_t old_count = 1; old_count < 20000; old_count = old_count * 3 + 1) {
    for (const std::size_t count : {old_count * 2, old_count / 2 + 1, old_count + 1}) {
      auto* bytes = static_cast<unsigned char*>(probe::opaque(calloc(old_count, 8)));
      for (std::size_t i = 0; i < old_count * 8; ++i) bytes[i] = probe::pattern_byte(3, i);
      bytes = static_cast<unsigned char*>(recallocarray(bytes, old_count, count, 8));
      bool is_good = bytes != nullptr;
      for (std::size_t i = 0; is_good && i < count * 8; ++i) {
        is_good = bytes[i] == (i < old_count * 8 ? probe::pattern_byte(3, i) : 0);
      }
      PROBE_EXPECT(is_good, "recallocarray from %zu to %zu", old_count, count);
      free(bytes);
    }
  }
  errno = 0;
  void* none = recallocarray(nullptr, 0, probe::opaque(SIZE_MAX / 2), 4);
  PROBE_EXPECT(none == nullptr && errno == ENOMEM, "recallocarray overflow, errno %d", errno);
}

void check_freezero(Freezero freezero) {
  freezero(nullptr, 0);
  for (std::size_t size = 1; size < 4 * probe::mib; size = size * 2 + 1) {
    void* block = probe::opaque(malloc(size));
    probe::fill(block, size, 1);
    errno = 4321;
    freezero(block, size);
    PROBE_EXPECT(errno == 4321, "freezero(%zu) changed errno", size);
  }
}

void check_good_size(GoodSize good_size) {
  for (std::size_t size = 1; size < 4 * probe::mib; size += size / 7 + 1) {
    const std::size_t good = good_size(size);
    PROBE_EXPECT(good >= size, "malloc_good_size(%zu) is %zu", size, good);
    PROBE_EXPECT(good_size(good) == good, "malloc_good_size(%zu) is not stable", size);
    void* block = probe::opaque(malloc(good));
    PROBE_EXPECT(malloc_usable_size(block) >= good, "a good size %zu is not usable", good);
    free(block);
  }
}

void check_size(Size size_of) {
  PROBE_EXPECT(size_of(nullptr) == 0, "malloc_size(NULL)");
  for (std::size_t size = 1; size < 4 * probe::mib; size = size * 2 + 1) {
    void* block = probe::opaque(malloc(size));
    PROBE_EXPECT(size_of(block) >= size, "malloc_size of %zu bytes", size);
    free(block);
  }
}

}  // namespace

int main() {
  int present = 0;
  if (auto call = look_up<Reallocf>("reallocf")) ++present, check_reallocf(call);
  if (auto call = look_up<Recallocarray>("recallocarray")) ++present, check_recallocarray(call);
  if (auto call = look_up<Freezero>("freezero")) ++present, check_freezero(call);
  if (auto call = look_up<GoodSize>("malloc_good_size")) ++present, check_good_size(call);
  if (auto call = look_up<Size>("malloc_size")) ++present, check_size(call);
  probe::figure("present", present, "of 5");
  if (present == 0) probe::skip("none of the calls exists");
  return probe::verdict();
}
