// SPDX-License-Identifier: MIT
// tests/unit/passes: decay passes that a test makes itself, as fast as their clock turns.
//
// Owns: the options for that, which the fixture puts back with the limits. Invariant: no helper
// runs meanwhile. Called on: tests, one at a time.
#ifndef TALUS_TESTS_UNIT_PASSES_HPP
#define TALUS_TESTS_UNIT_PASSES_HPP

#include <gtest/gtest.h>

#include <unistd.h>

#include "reclaim/decay.hpp"
#include "quiet.hpp"

namespace talus::core::test {

inline void make_passes(int count, Pressure pressure = Pressure::none) {
  for (int i = 0; i < count; i++) {
    decay_pass(pressure);
    usleep(12000);
  }
}

class OwnPasses : public testing::Test {
 protected:
  // A slab of a fitted class may exceed the bound by its length.
  OwnPasses() : before_{options} {
    use_fixed_classes_only();
    options.helper = false;
    options.decay_ms = 40;  // a turn is the least there is
    purge_beyond(0);
  }
  ~OwnPasses() override {
    purge_request.is_served.store_relaxed(false);
    purge_request.is_much.store_relaxed(false);
    limits.set({0, 0});
    limits.handler.store_release(nullptr);
    options = before_;
  }

 private:
  Options before_;
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_PASSES_HPP
