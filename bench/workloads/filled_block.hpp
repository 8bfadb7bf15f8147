// A large block that is filled with one byte, or marked at both ends.
//
// Owns: the fill of the large blocks of B11 and complaint b, and its check. The check reads each
// page once, because reading all of the memory would become the workload.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "workload.hpp"

namespace bench {

enum class Touch { whole, ends };

struct FilledBlock {
  unsigned char* data = nullptr;
  size_t bytes = 0;
  unsigned char fill = 0;

  void make(size_t new_bytes, unsigned char new_fill, Touch touch) {
    bytes = new_bytes;
    fill = new_fill;
    data = static_cast<unsigned char*>(take(bytes));
    if (touch == Touch::whole) {
      std::memset(data, fill, bytes);
    } else {
      data[0] = fill;
      data[bytes - 1] = fill;
    }
  }

  // Does nothing to an empty block.
  void release(Touch touch) {
    if (data == nullptr) return;
    bool is_intact = data[0] == fill && data[bytes - 1] == fill;
    const size_t stride = touch == Touch::whole ? stamp_stride_bytes : bytes;
    for (size_t at = stride; at < bytes; at += stride) is_intact = is_intact && data[at] == fill;
    if (!is_intact) leave(exit_wrong_data, "a block lost its fill: blocks overlap");
    give(data);
    data = nullptr;
    bytes = 0;
  }
};

}  // namespace bench
