// SPDX-License-Identifier: MIT
// fuzz/provider.cpp: a buffer between guards, and callbacks that keep books of each page.
#include "provider.hpp"

#include <string.h>
#include <sys/mman.h>

#include <cstdlib>

#include "report.hpp"

namespace fuzz {
namespace {

constexpr size_t guard_bytes = 64;
constexpr uint8_t guard_byte = 0xc3;
constexpr size_t page_bytes = 4 * kib;

void* map(size_t bytes, int protection) {
  void* memory =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

size_t to_pages(size_t bytes) { return (bytes + page_bytes - 1) & ~(page_bytes - 1); }

CalledRange& range_of(void* context) { return *static_cast<CalledRange*>(context); }

bool refuses(CalledRange& range, uint64_t one_of) {
  return range.may_refuse && mix_bits(range.random++) % one_of == 0;
}

void* reserve(void* context, size_t bytes) {
  CalledRange& range = range_of(context);
  if (range.base != nullptr) fail("a heap reserves a second time");
  if (refuses(range, 6)) return nullptr;
  void* marks = map(to_pages(bytes / page_bytes), PROT_READ | PROT_WRITE);
  void* memory = map(bytes, range.commits ? PROT_NONE : PROT_READ | PROT_WRITE);
  if (marks == nullptr || memory == nullptr) {
    if (marks != nullptr) munmap(marks, to_pages(bytes / page_bytes));
    if (memory != nullptr) munmap(memory, bytes);
    return nullptr;
  }
  range.committed = static_cast<uint8_t*>(marks);
  range.base = static_cast<uint8_t*>(memory);
  range.bytes = bytes;
  return memory;
}

// The marks of these pages, which lie in the range and are all as they should be.
uint8_t* marks_of(CalledRange& range, void* at, size_t bytes, uint8_t wanted, const char* call) {
  const auto* start = static_cast<uint8_t*>(at);
  if (start < range.base || bytes == 0 || start + bytes > range.base + range.bytes ||
      (reinterpret_cast<uintptr_t>(at) | bytes) % page_bytes != 0) {
    fail("%s of %p, %zu bytes, in no range of the heap's", call, at, bytes);
  }
  uint8_t* marks = range.committed + static_cast<size_t>(start - range.base) / page_bytes;
  for (size_t i = 0; i < bytes / page_bytes; i++) {
    if (marks[i] != wanted) fail("%s of %p, %zu bytes, again", call, at, bytes);
  }
  return marks;
}

int commit(void* context, void* at, size_t bytes) {
  CalledRange& range = range_of(context);
  uint8_t* marks = marks_of(range, at, bytes, 0, "commit");
  if (refuses(range, 10) || mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) return 1;
  memset(marks, 1, bytes / page_bytes);
  if (bytes <= mib) memset(at, 0xa5, bytes);  // the contract does not promise zeros
  return 0;
}

int purge(void* context, void* at, size_t bytes) {
  const int saved_errno = errno;
  CalledRange& range = range_of(context);
  uint8_t* marks = marks_of(range, at, bytes, 1, "purge");
  int answer = 1;
  if (!refuses(range, 10) && mprotect(at, bytes, PROT_NONE) == 0) {
    madvise(at, bytes, MADV_DONTNEED);
    memset(marks, 0, bytes / page_bytes);
    answer = 0;
  }
  errno = saved_errno;
  return answer;
}

void release(void* context, void* at, size_t bytes) {
  CalledRange& range = range_of(context);
  if (at != range.base || bytes != range.bytes || range.is_released) {
    fail("release of %p, %zu bytes; reserved were %zu at %p", at, bytes, range.bytes,
         static_cast<void*>(range.base));
  }
  range.is_released = true;
  munmap(at, bytes);
  munmap(range.committed, to_pages(bytes / page_bytes));
}

}  // namespace

bool Buffer::make(size_t wanted_bytes) {
  const bool is_block = one_in(2);
  if (is_block && !one_in(4)) wanted_bytes = 128 * kib + wanted_bytes % (64 * kib);  // in a slab
  const size_t front_bytes = draw(is_block ? 4 * kib : 64 * kib);
  memory_bytes = to_pages(guard_bytes + front_bytes + wanted_bytes + guard_bytes);
  memory = static_cast<uint8_t*>(is_block ? called([&] { return malloc(memory_bytes); })
                                          : map(memory_bytes, PROT_READ | PROT_WRITE));
  if (memory == nullptr) return false;
  if (is_block) block_bytes = talus_usable_size(memory);
  bytes = wanted_bytes;
  start = memory + guard_bytes + front_bytes;
  memset(start - guard_bytes, guard_byte, guard_bytes);
  memset(start + bytes, guard_byte, guard_bytes);
  return true;
}

void Buffer::check_and_end() {
  if (memory == nullptr) return;
  for (size_t i = 0; i < guard_bytes; i++) {
    if (start[i - guard_bytes] == guard_byte && start[bytes + i] == guard_byte) continue;
    fail("a heap in a buffer of %zu bytes at %p wrote beside it", bytes, static_cast<void*>(start));
  }
  if (block_bytes != 0) {
    free(memory);
  } else {
    munmap(memory, memory_bytes);
  }
  *this = {};
}

talus_provider_calls CalledRange::draw_calls() {
  random = self().random.next();
  may_refuse = one_in(2);
  commits = !one_in(6);
  talus_provider_calls calls{};
  calls.reserve = reserve;
  calls.commit = commits ? commit : nullptr;
  calls.purge = commits && !one_in(6) ? purge : nullptr;
  calls.release = release;
  return calls;
}

}  // namespace fuzz
