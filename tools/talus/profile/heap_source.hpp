// SPDX-License-Identifier: MIT
//
// Owns: a process or a core file whose profile is read, from the word that names it.
// Invariant: it is only read.
// Must not know: what is done with a profile.

#ifndef TALUS_TOOLS_TALUS_PROFILE_HEAP_SOURCE_HPP
#define TALUS_TOOLS_TALUS_PROFILE_HEAP_SOURCE_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "observe/copies.hpp"
#include "observe/memory.hpp"
#include "observe/target.hpp"
#include "profile/code_names.hpp"
#include "profile/named_profile.hpp"
#include "profile/samples.hpp"
#include "profile/sizes.hpp"
#include "profile/views.hpp"

namespace talus::tool {

// The clock of the times in samples.
uint64_t monotonic_ns();

class HeapSource {
 public:
  // Null: it cannot be had. `why` is then a line, and `code` the exit status.
  static std::unique_ptr<HeapSource> reach(const Target& target, const DebugFiles& debug,
                                           std::string& why, int& code);

  const std::string& title() const { return title_; }
  const Target& target() const { return target_; }
  const Memory& memory() const { return *memory_; }
  const TalusCopy& copy() const { return copy_; }
  // The mappings now; those of the first look if the process has ended.
  std::vector<Mapping> mappings() const;

  Samples read() const { return read_samples(*memory_, copy_); }
  // Estimates with names; also the form for pprof, with addresses, if `pprof` is not null.
  NamedProfile named_of(Samples samples, uint64_t span_ns, ProfileView view,
                        std::string* pprof) const;
  // By its clock, now or when the core file was written, as far as samples tell.
  uint64_t now_ns(const Samples& samples) const;
  // Nothing: not known.
  CountsBySize counts(const Samples& samples) const;
  // The live bytes of all blocks as they would be without samples; nothing: not known.
  std::optional<uint64_t> live_bytes(const Samples& samples) const;

 private:
  HeapSource() = default;

  Target target_;
  std::string title_;
  DebugFiles debug_;
  std::unique_ptr<const Memory> memory_;
  TalusCopy copy_;
  std::vector<Mapping> mappings_;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_HEAP_SOURCE_HPP
