// SPDX-License-Identifier: MIT
//
// Owns: the two pipes from the program, see output.hpp. They have the largest size that the kernel
// allows an ordinary user, so that a program with much output seldom waits.
// Invariant: the hash is 64-bit FNV-1a over every byte of standard output.
// Must not know: the program, or what its output means.

#include "output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "clock.hpp"

namespace talus::tool {
namespace {

constexpr uint64_t fnv_start = 14695981039346656037u;
constexpr uint64_t fnv_factor = 1099511628211u;
constexpr int pipe_bytes = 1 << 20;
constexpr size_t last_words_bytes_max = 400;

void close_one(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

// False: the reader is gone, which must not end the comparison.
bool write_all(int descriptor, const char* text, size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = ::write(descriptor, text, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text += done;
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

}  // namespace

Output::Output(bool is_shown) : is_shown_(is_shown), hash_(fnv_start) {
  for (Pipe* const pipe : {&standard_, &error_}) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "a pipe for the program's output");
    pipe->ours = ends[0];
    pipe->childs = ends[1];
    ::fcntl(pipe->ours, F_SETPIPE_SZ, pipe_bytes);
    ::fcntl(pipe->ours, F_SETFL, O_NONBLOCK);
  }
  standard_.shown_at = is_shown ? STDOUT_FILENO : -1;
  error_.shown_at = is_shown ? STDERR_FILENO : -1;
}

Output::~Output() {
  for (Pipe* const pipe : {&standard_, &error_}) {
    close_one(pipe->ours);
    close_one(pipe->childs);
  }
}

bool Output::become_standard() const {
  return ::dup2(standard_.childs, STDOUT_FILENO) >= 0 && ::dup2(error_.childs, STDERR_FILENO) >= 0;
}

void Output::close_ends_of_child() {
  close_one(standard_.childs);
  close_one(error_.childs);
}

void Output::hash_more(const char* text, size_t bytes) {
  uint64_t hash = hash_;
  for (size_t i = 0; i < bytes; i++)
    hash = (hash ^ static_cast<unsigned char>(text[i])) * fnv_factor;
  hash_ = hash;
  bytes_ += bytes;
}

void Output::take(Pipe& pipe, bool is_error) {
  char piece[65536];
  const ssize_t got = ::read(pipe.ours, piece, sizeof piece);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    close_one(pipe.ours);
    return;
  }
  const size_t bytes = static_cast<size_t>(got);
  if (is_error) {
    last_words_.append(piece, bytes);
    if (last_words_.size() > last_words_bytes_max)
      last_words_.erase(0, last_words_.size() - last_words_bytes_max);
  } else {
    hash_more(piece, bytes);
  }
  if (pipe.shown_at >= 0 && !write_all(pipe.shown_at, piece, bytes)) pipe.shown_at = -1;
}

void Output::read_until(int other, int wait_ms) {
  pollfd ends[] = {{standard_.ours, POLLIN, 0}, {error_.ours, POLLIN, 0}, {other, POLLIN, 0}};
  if (::poll(ends, 3, wait_ms) <= 0) return;
  if (ends[0].revents != 0) take(standard_, false);
  if (ends[1].revents != 0) take(error_, true);
}

void Output::drain(double deadline_s) {
  while (standard_.ours >= 0 || error_.ours >= 0) {
    const double left_s = deadline_s - now_s();
    if (left_s <= 0) return;
    read_until(-1, static_cast<int>(left_s * 1000) + 1);
  }
}

}  // namespace talus::tool
