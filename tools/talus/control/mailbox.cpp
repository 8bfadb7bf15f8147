// SPDX-License-Identifier: MIT
//
// Owns: see mailbox.hpp.
// Invariant: see mailbox.hpp.
// Must not know: see mailbox.hpp.

#include "control/mailbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "control/wake.hpp"

namespace talus::tool {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto finish_patience = 60s;  // a release of many gigabytes takes seconds
constexpr auto knock_again_after = 100ms;

// The fields of the process's helper, by name.
class Words {
 public:
  Words(int pid, const TalusCopy& copy) : copy_(copy), memory_(pid) {}

  uint64_t get(const char* root, const char* name) const {
    const Field& field = copy_.layout.field(name);
    return read(copy_.layout.root(root) + field.value, std::min<size_t>(field.bytes, 8));
  }
  uint64_t get(const char* name) const { return get("helper", name); }
  std::string get_text(const char* name) const {
    const Field& field = copy_.layout.field(name);
    std::string text(size_t{field.count} * field.stride, '\0');
    move(address(name), text.data(), text.size());
    return text;
  }
  void put(const char* root, const char* name, uint64_t value) const {
    const Field& field = copy_.layout.field(name);
    write(copy_.layout.root(root) + field.value, &value, field.bytes);
  }
  void put(const char* name, uint64_t value) const { put("helper", name, value); }
  void put_text(const char* name, const char* text, size_t bytes) const {
    const Field& field = copy_.layout.field(name);
    if (size_t{field.count} * field.stride != bytes) throw NotUnderstood("its commands are longer");
    write(address(name), text, bytes);
  }
  uint64_t read(uint64_t at, size_t bytes) const {
    uint64_t value = 0;
    move(at, reinterpret_cast<char*>(&value), bytes);
    return value;
  }
  // The number of the background thread in the process's own namespace; 0: there is none.
  unsigned helper_id() const {
    const uint64_t life = get("helper.life");
    if (life == 0) return 0;
    return static_cast<unsigned>(read(life + copy_.layout.field("life.id").value, 4));
  }

 private:
  uint64_t address(const char* name) const {
    return copy_.layout.root("helper") + copy_.layout.field(name).value;
  }
  void move(uint64_t at, char* to, size_t bytes) const { memory_.read({{at, bytes, to}}); }
  void write(uint64_t at, const void* from, size_t bytes) const {
    const iovec local{const_cast<void*>(from), bytes};
    const iovec remote{reinterpret_cast<void*>(at), bytes};  // NOLINT: of the other process
    const ssize_t put = ::process_vm_writev(memory_.thread(), &local, 1, &remote, 1, 0);
    if (put == static_cast<ssize_t>(bytes)) return;
    if (errno == ESRCH) throw Lost("it has ended");
    throw Lost(fmt::format("the kernel lets no command be written: {}", std::strerror(errno)));
  }

  const TalusCopy& copy_;
  ProcessMemory memory_;
};

// Keeps other commands of this kind out, as far as they see the same /proc.
class Turn {
 public:
  Turn(int pid, Clock::time_point end)
      : file_(::open(fmt::format("/proc/{}/cmdline", pid).c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) return;
    while (::flock(file_, LOCK_EX | LOCK_NB) != 0 && Clock::now() < end) {
      std::this_thread::sleep_for(1ms);
    }
  }
  ~Turn() {
    if (file_ >= 0) ::close(file_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  int file_;
};

uint32_t random_request() {
  std::random_device device;
  uint32_t number = 0;
  while (number == 0) number = device();
  return number;
}

bool is_free(const Words& words) {
  const uint64_t request = words.get("helper.request");
  if (request == 0 || request == words.get("helper.answered")) return true;
  // A command that ended early may have left its request behind.
  return request != words.get("helper.taken");
}

// Lets the background thread look, or asks slow paths to start one.
void knock(int pid, const Words& words) {
  words.put("helper.alarm", words.get("helper.alarm") + (1U << 16));
  const unsigned id = words.helper_id();
  const int thread = id == 0 ? 0 : thread_of(pid, id);
  if (thread != 0 && interrupt_thread(thread)) return;
  words.put("purge_request", "purge_request.is_much", 1);
}

}  // namespace

Answer send_order(int pid, const TalusCopy& copy, const Order& order, double wait_s) {
  const Words words(pid, copy);
  words.get("helper.request");  // or it has no mailbox
  const auto wait =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait_s));
  const Clock::time_point end = Clock::now() + wait;
  const Turn turn(pid, end);
  while (!is_free(words)) {
    if (Clock::now() > end) return {Delivery::occupied, {}, 0, {}, {}};
    std::this_thread::sleep_for(1ms);
  }

  const uint32_t request = random_request();
  char text[core::command_text_bytes] = {};
  std::memcpy(text, order.text.data(), std::min(order.text.size(), sizeof text));
  words.put("helper.request", 0);
  words.put("helper.command", static_cast<uint32_t>(order.id));
  words.put("helper.number", order.number);
  words.put_text("helper.text", text, sizeof text);
  words.put("helper.check", core::command_check(order.id, order.number, text, request));
  words.put("helper.request", request);

  Clock::time_point next_knock = Clock::now();
  Clock::time_point give_up = end;
  bool is_taken = false;
  for (int turns = 0; words.get("helper.answered") != request; turns++) {
    const bool was_taken = is_taken;
    is_taken = words.get("helper.taken") == request;
    if (is_taken && !was_taken) give_up = Clock::now() + finish_patience;
    // The thread that took it found it withdrawn. Its answer would have come first.
    if (was_taken && !is_taken && words.get("helper.answered") != request) {
      return {Delivery::not_taken, {}, 0, {}, {}};
    }
    const Clock::time_point now = Clock::now();
    if (now > give_up) {
      if (is_taken) return {Delivery::unfinished, {}, 0, {}, {}};
      words.put("helper.request", 0);
      if (words.get("helper.taken") != request) return {Delivery::not_taken, {}, 0, {}, {}};
      continue;  // a thread took it at this moment
    }
    if (!is_taken && now >= next_knock) {
      knock(pid, words);
      next_knock = Clock::now() + knock_again_after;
    }
    std::this_thread::sleep_for(turns < 20 ? 100us : 1000us);
  }
  Answer answer;
  words.put("helper.request", 0);
  answer.result = core::CommandResult{static_cast<uint32_t>(words.get("helper.result"))};
  answer.value = words.get("helper.value");
  const std::string told = words.get_text("helper.answer");
  answer.text = told.c_str();
  const size_t second = answer.text.size() + 1;
  if (second < told.size()) answer.text_after = told.c_str() + second;
  if (answer.result == core::CommandResult::withdrawn) answer.delivery = Delivery::not_taken;
  return answer;
}

}  // namespace talus::tool
