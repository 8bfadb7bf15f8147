// SPDX-License-Identifier: MIT
//
// Owns: the program's output. Standard output is hashed and dropped, the end of standard error is
// kept, and both are passed on if the user wants to see them.
// Invariant: memory does not grow with the output. The program never waits long.
// Must not know: the program, or what its output means.

#ifndef TALUS_TOOLS_TALUS_COMPARE_OUTPUT_HPP
#define TALUS_TOOLS_TALUS_COMPARE_OUTPUT_HPP

#include <cstddef>
#include <cstdint>
#include <string>

namespace talus::tool {

class Output {
 public:
  explicit Output(bool is_shown);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  // In the child: the pipes' ends become standard output and error. False: failure.
  bool become_standard() const;

  // In the parent, after the fork.
  void close_ends_of_child();

  // Waits for output, for `other` to become readable or for the timeout, and reads the output.
  void read_until(int other, int wait_ms);

  // Reads the rest, until both pipes have ended or the deadline has passed.
  void drain(double deadline_s);

  uint64_t bytes() const { return bytes_; }
  uint64_t hash() const { return hash_; }
  const std::string& last_words() const { return last_words_; }

 private:
  struct Pipe {
    int ours = -1;      // -1: has ended
    int childs = -1;    // -1: closed here
    int shown_at = -1;  // our descriptor that receives the output
  };
  void take(Pipe& pipe, bool is_error);
  void hash_more(const char* text, size_t bytes);

  bool is_shown_;  // constant
  Pipe standard_;
  Pipe error_;
  uint64_t bytes_ = 0;
  uint64_t hash_;
  std::string last_words_;
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_OUTPUT_HPP
