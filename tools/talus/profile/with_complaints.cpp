// SPDX-License-Identifier: MIT
//
// Owns: see with_complaints.hpp.
// Invariant: see with_complaints.hpp.
// Must not know: see with_complaints.hpp.

#include "profile/with_complaints.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "observe/core_file.hpp"
#include "observe/layout.hpp"
#include "observe/memory.hpp"

namespace talus::tool {

int with_complaints(const std::string& command, const std::string& word, const std::string& feature,
                    const std::function<int()>& read) {
  try {
    return read();
  } catch (const NotUnderstood&) {
    complain(fmt::format("{}: the Talus of {} is older and has no {}", command, word, feature));
    return exit_no;
  } catch (const NoCoreFile& error) {
    complain(error.what());
  } catch (const Lost& error) {
    complain(fmt::format("{}: {}: {}", command, word, error.what()));
  } catch (const Implausible& error) {
    complain(fmt::format("{}: {}: {}", command, word, error.what()));
    return exit_damaged;
  }
  return exit_usage;
}

}  // namespace talus::tool
