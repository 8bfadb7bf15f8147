// SPDX-License-Identifier: MIT
// model/include/os/report: a fault that the shipped code would report is a violation here.
//
// Stands before src/os/report.hpp. In the scenarios each block is freed once, so a report of a
// double free means that the protocol handed a block out twice. Called on: fibers and alone.
#ifndef TALUS_OS_REPORT_HPP
#define TALUS_OS_REPORT_HPP

#include "base/base.hpp"

namespace talus::core {

[[noreturn]] inline void violate(const char* fault) noexcept {
  model::explorer.violate("the code reports: %s", fault);
}

namespace report {
[[noreturn]] inline void double_free(const void*, size_t) noexcept { violate("double free"); }
[[noreturn]] inline void interior_pointer(const void*, const void*, size_t) noexcept {
  violate("interior pointer");
}
[[noreturn]] inline void foreign_pointer(const void*, const char*) noexcept {
  violate("foreign pointer");
}
}  // namespace report

[[noreturn]] TALUS_HOOK void fatal(const char* expression, const char*, int) noexcept {
  violate(expression);
}

}  // namespace talus::core

#endif  // TALUS_OS_REPORT_HPP
