// SPDX-License-Identifier: MIT
// machine/kernel_file: reads the small text files of the kernel.
//
// Owns: reading such a file, at once or line by line, and a path built from parts. Invariants: it
// allocates nothing, names no function of libc and keeps errno. Each file is closed in the scope
// that opened it. A text that does not fit is never taken as whole. Called on: any thread, also
// before libc is ready. Must not know: what the texts mean.
#ifndef TALUS_MACHINE_KERNEL_FILE_HPP
#define TALUS_MACHINE_KERNEL_FILE_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus::core {

// A part of a longer text; it has no zero at its end.
struct TextPart {
  const char* text = nullptr;
  size_t length = 0;

  TALUS_START bool is(const char* word) const noexcept {
    size_t i = 0;
    while (i < length && word[i] != '\0' && text[i] == word[i]) i++;
    return i == length && word[i] == '\0';
  }
  // Takes off and returns the letters before the first `end`, and drops `end`; all if there is
  // none.
  TALUS_START TextPart take_until(char end) noexcept {
    TextPart taken{text, 0};
    while (taken.length < length && text[taken.length] != end) taken.length++;
    const size_t used = taken.length < length ? taken.length + 1 : length;
    text += used;
    length -= used;
    return taken;
  }
  // True if `word` is one of the words between commas.
  TALUS_START bool has_word(const char* word) const noexcept {
    TextPart rest = *this;
    while (rest.length != 0) {
      if (rest.take_until(',').is(word)) return true;
    }
    return false;
  }
};

// A path that grows at its end and can be cut back. It is not whole after a part did not fit.
class PathBuffer {
 public:
  PathBuffer() noexcept { bytes_[0] = '\0'; }
  const char* data() const noexcept { return bytes_; }
  size_t length() const noexcept { return length_; }
  bool is_whole() const noexcept { return is_whole_; }

  TALUS_START PathBuffer& put(TextPart part) noexcept {
    if (part.length >= sizeof bytes_ - length_) {
      is_whole_ = false;
      return *this;
    }
    for (size_t i = 0; i < part.length; i++) bytes_[length_ + i] = part.text[i];
    length_ += part.length;
    bytes_[length_] = '\0';
    return *this;
  }
  TALUS_START PathBuffer& put(const char* text) noexcept {
    size_t length = 0;
    while (text[length] != '\0') length++;
    return put(TextPart{text, length});
  }
  // Cuts back to a length that it had while it was whole.
  PathBuffer& cut_to(size_t length) noexcept {
    length_ = length;
    bytes_[length_] = '\0';
    is_whole_ = true;
    return *this;
  }

 private:
  size_t length_ = 0;
  bool is_whole_ = true;
  char bytes_[1024];  // paths of container groups need about 250
};

// Reads the start of a file and ends it with a zero. Returns its length; 0: nothing to read.
template <size_t Capacity>
TALUS_START size_t read_text(const char* path, char (&text)[Capacity]) noexcept {
  text[0] = '\0';
  const long file = os::System::open_file(path);
  if (file < 0) return 0;
  const long bytes = os::System::read_file(file, text, Capacity - 1);
  os::System::close_file(file);
  const size_t length = bytes > 0 ? static_cast<size_t>(bytes) : 0;
  text[length] = '\0';
  return length;
}

// The lines of a file in order. Lines longer than the buffer are left out.
class FileLines {
 public:
  explicit FileLines(const char* path) noexcept : file_{os::System::open_file(path)} {}
  ~FileLines() {
    if (file_ >= 0) os::System::close_file(file_);
  }
  FileLines(const FileLines&) = delete;
  FileLines& operator=(const FileLines&) = delete;

  // The next line without its end, valid until the next call. False: no more lines.
  TALUS_START bool next(TextPart& line) noexcept {
    bool is_too_long = false;
    for (size_t at = start_;; at++) {
      if (at == end_) {
        if (start_ == 0 && end_ == sizeof buffer_) {  // full, and no end of the line in it
          is_too_long = true;
          end_ = 0;
        }
        at = read_on();
        if (at == end_) return false;
      }
      if (buffer_[at] != '\n') continue;
      line = TextPart{buffer_ + start_, at - start_};
      start_ = at + 1;
      if (!is_too_long) return true;
      is_too_long = false;
    }
  }

 private:
  // Moves the unfinished line to the front and reads on. Returns where the new letters begin.
  TALUS_START size_t read_on() noexcept {
    for (size_t i = start_; i < end_; i++) buffer_[i - start_] = buffer_[i];
    end_ -= start_;
    start_ = 0;
    const size_t old_end = end_;
    if (file_ < 0) return old_end;
    const long bytes = os::System::read_file(file_, buffer_ + end_, sizeof buffer_ - end_);
    if (bytes > 0) end_ += static_cast<size_t>(bytes);
    return old_end;
  }

  long file_;         // constant; negative: it could not be opened
  size_t start_ = 0;  // of the next line
  size_t end_ = 0;    // of what was read
  char buffer_[1024];
};

}  // namespace talus::core

#endif  // TALUS_MACHINE_KERNEL_FILE_HPP
