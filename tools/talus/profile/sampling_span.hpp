// SPDX-License-Identifier: MIT
//
// Owns: a span of time in which a process is sampled, and waiting for its end.
// Invariant: a profile that was off before is off again at the end.
// Must not know: what samples are for.

#ifndef TALUS_TOOLS_TALUS_PROFILE_SAMPLING_SPAN_HPP
#define TALUS_TOOLS_TALUS_PROFILE_SAMPLING_SPAN_HPP

#include <cstdint>

#include "profile/heap_source.hpp"

namespace talus::tool {

constexpr uint64_t usual_mean_bytes = 512 * 1024;

class SamplingSpan {
 public:
  explicit SamplingSpan(const HeapSource& source) : source_(source) {}
  SamplingSpan(const SamplingSpan&) = delete;
  SamplingSpan& operator=(const SamplingSpan&) = delete;
  ~SamplingSpan() { end(); }

  // False: it could not be switched on, and a line says why. `was_on`: whether it was on before.
  bool begin(uint64_t mean_bytes, bool was_on);
  void end();

 private:
  const HeapSource& source_;
  bool is_to_end_ = false;
};

// Until the time is over, the process ends, or the user stops the command (then false).
bool wait_for_process(double seconds, int pid);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_SAMPLING_SPAN_HPP
