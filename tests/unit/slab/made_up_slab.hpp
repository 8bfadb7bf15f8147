// SPDX-License-Identifier: MIT
// tests/unit/slab/made_up_slab: a slab over addresses that do not exist.
//
// Owns: the descriptor's memory. Slabs never read or write their blocks, so none are needed; the
// addresses are the same in every run, which makes messages comparable.
#ifndef TALUS_TESTS_UNIT_SLAB_MADE_UP_SLAB_HPP
#define TALUS_TESTS_UNIT_SLAB_MADE_UP_SLAB_HPP

#include <cstdlib>
#include <cstring>

#include "slab/slab.hpp"

namespace talus::core::test {

class MadeUpSlab {
 public:
  explicit MadeUpSlab(ClassId id, uintptr_t base = 0x10000000, Zeroed zeroed = Zeroed::no) {
    const size_t bytes = Slab::descriptor_bytes(size_class_row(id).bitmap_words);
    memory_ = aligned_alloc(cache_line_bytes, bytes);
    memset(memory_, 0, bytes);
    slab_ = make_descriptor(memory_, id);
    slab_->begin(base, zeroed);
  }
  ~MadeUpSlab() { free(memory_); }
  MadeUpSlab(const MadeUpSlab&) = delete;
  MadeUpSlab& operator=(const MadeUpSlab&) = delete;
  Slab& slab() { return *slab_; }

 private:
  void* memory_ = nullptr;
  Slab* slab_ = nullptr;
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_SLAB_MADE_UP_SLAB_HPP
