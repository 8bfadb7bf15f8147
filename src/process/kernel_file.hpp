// SPDX-License-Identifier: MIT
// process/kernel_file: the small texts in which the kernel tells about itself.
//
// Owns: reading such a file, at once or line by line, and a path that is put together from parts.
// Invariants: nothing is allocated, no function of libc is named and errno is kept; each file is
// closed in the scope that opened it; a text that does not fit is never taken for a whole one.
// Called on: any thread, also before libc is ready. Must not know: what the texts mean.
#ifndef TALUS_PROCESS_KERNEL_FILE_HPP
#define TALUS_PROCESS_KERNEL_FILE_HPP

#include "base/base.hpp"
#include "os/os.hpp"

namespace talus {

// Some letters of a longer text; they do not end with a zero.
struct TextPart {
  const char* text = nullptr;
  size_t length = 0;

  TALUS_START bool is(const char* word) const noexcept {
    size_t i = 0;
    while (i < length && word[i] != '\0' && text[i] == word[i]) i++;
    return i == length && word[i] == '\0';
  }
  // The letters before the first `end`, which are taken off together with it; all if there is none.
  TALUS_START TextPart take_until(char end) noexcept {
    TextPart taken{text, 0};
    while (taken.length < length && text[taken.length] != end) taken.length++;
    const size_t used = taken.length < length ? taken.length + 1 : length;
    text += used;
    length -= used;
    return taken;
  }
  // Whether `word` is one of the words between commas.
  TALUS_START bool has_word(const char* word) const noexcept {
    TextPart rest = *this;
    while (rest.length != 0) {
      if (rest.take_until(',').is(word)) return true;
    }
    return false;
  }
};

// A path that grows at its end and is cut back. It is not whole once a part did not fit.
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
  // Back to a length that it had while it was whole.
  PathBuffer& cut_to(size_t length) noexcept {
    length_ = length;
    bytes_[length_] = '\0';
    is_whole_ = true;
    return *this;
  }

 private:
  size_t length_ = 0;
  bool is_whole_ = true;
  char bytes_[1024];  // the kernel's groups of containers need about 250
};

// The start of a file, ended by a zero; returns its length, 0 if there is nothing to read.
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

// A file's lines, one after the other. Lines longer than the buffer are left out.
class FileLines {
 public:
  explicit FileLines(const char* path) noexcept : file_{os::System::open_file(path)} {}
  ~FileLines() {
    if (file_ >= 0) os::System::close_file(file_);
  }
  FileLines(const FileLines&) = delete;
  FileLines& operator=(const FileLines&) = delete;

  // The next line without its end, valid until the next call. False: there is none.
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
  size_t start_ = 0;  // of the line that comes next
  size_t end_ = 0;    // of what was read
  char buffer_[1024];
};

}  // namespace talus

#endif  // TALUS_PROCESS_KERNEL_FILE_HPP
