// SPDX-License-Identifier: MIT
//
// Owns: a child of this command, and the pipe of what it prints.
// Invariant: the child does not outlive its object.
// Must not know: which program it is, and what its words mean.

#ifndef TALUS_TOOLS_TALUS_PIPED_CHILD_HPP
#define TALUS_TOOLS_TALUS_PIPED_CHILD_HPP

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace talus::tool {

struct ChildCommand {
  std::vector<std::string> words;      // the program, then its arguments
  std::vector<std::string> variables;  // its environment
  bool searches_path = false;          // for the program
  bool takes_errors = false;           // standard error goes into the pipe, too
  size_t text_bytes_max = SIZE_MAX;    // of its text the last ones are kept
};

class PipedChild {
 public:
  using Clock = std::chrono::steady_clock;

  explicit PipedChild(ChildCommand command);
  PipedChild(const PipedChild&) = delete;
  PipedChild& operator=(const PipedChild&) = delete;
  ~PipedChild();  // kills the child if it has not ended

  int error() const { return error_; }  // why it was not started; 0: it was
  const std::string& text() const { return text_; }
  bool is_good() const { return is_good_; }  // it ended, with status 0

  // Reads until the child has ended, or until then. False: it has not ended.
  bool wait(std::optional<Clock::time_point> end = {});

 private:
  bool read_until(std::optional<Clock::time_point> end);
  bool ends_by(std::optional<Clock::time_point> end);

  size_t text_bytes_max_;
  pid_t child_ = 0;
  int output_ = -1;
  int error_ = 0;
  bool is_good_ = false;
  std::string text_;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PIPED_CHILD_HPP
