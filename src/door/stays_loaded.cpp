// SPDX-License-Identifier: MIT
// door/stays_loaded: says that this is libtalus.so, which is never unloaded (-z nodelete).
//
// Owns: one symbol, which process/threads.hpp looks for.
extern "C" {
extern const char talus_stays_loaded __attribute__((visibility("hidden")));
const char talus_stays_loaded = 1;
}
