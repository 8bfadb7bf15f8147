// SPDX-License-Identifier: MIT
// tests/unit/buffer_heap: a heap of one's own in memory that the test has.
#ifndef TALUS_TESTS_UNIT_BUFFER_HEAP_HPP
#define TALUS_TESTS_UNIT_BUFFER_HEAP_HPP

#include "api/heaps.hpp"

namespace talus::test {

// Null: the buffer is too small.
inline talus_heap* heap_in(void* buffer, size_t bytes) {
  talus_provider wish{};
  wish.kind = TALUS_PROVIDER_BUFFER;
  wish.buffer = buffer;
  wish.bytes = bytes;
  talus_heap_options options{};
  options.provider = &wish;
  return api::heap_new(&options);
}

}  // namespace talus::test

#endif  // TALUS_TESTS_UNIT_BUFFER_HEAP_HPP
