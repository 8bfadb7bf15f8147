// SPDX-License-Identifier: MIT
// tests/unit/buffer_heap: a heap of one's own in memory that the test has.
#ifndef TALUS_TESTS_UNIT_BUFFER_HEAP_HPP
#define TALUS_TESTS_UNIT_BUFFER_HEAP_HPP

#include "api/heaps.hpp"

namespace talus::core::test {

// Null: the buffer is too small.
inline talus_heap* heap_in(void* buffer, size_t bytes) {
  talus_provider request{};
  request.kind = TALUS_PROVIDER_BUFFER;
  request.buffer = buffer;
  request.bytes = bytes;
  talus_heap_options options{};
  options.provider = &request;
  return api::heap_new(&options);
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_BUFFER_HEAP_HPP
