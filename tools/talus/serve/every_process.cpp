// SPDX-License-Identifier: MIT
//
// Owns: see every_process.hpp.
// Invariant: see every_process.hpp.
// Must not know: see every_process.hpp.

#include "serve/every_process.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "file_text.hpp"
#include "observe/observe.hpp"
#include "process_word.hpp"

namespace talus::tool {
namespace {

std::vector<int> own_processes() {
  std::vector<int> found;
  std::error_code lost;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", lost)) {
    const int pid = process_of_word(entry.path().filename());
    struct stat facts {};
    if (pid == 0 || pid == ::getpid() || ::stat(entry.path().c_str(), &facts) != 0) continue;
    if (facts.st_uid == ::geteuid()) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<Numbers> look_at_every_process() {
  std::vector<Numbers> all;
  for (const int pid : own_processes()) {
    const std::string number = std::to_string(pid);
    std::string name = text_of_file("/proc/" + number + "/comm").value_or("");
    if (!name.empty() && name.back() == '\n') name.pop_back();
    Observation seen = observe_process(pid, Detail::numbers);
    for (Numbers& numbers : seen.numbers) {
      numbers.labels = {{"pid", number}, {"comm", name}};
      if (seen.numbers.size() > 1) numbers.labels.emplace_back("object", numbers.object);
      all.push_back(std::move(numbers));
    }
  }
  return all;
}

uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t bytes = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes);
  return ntohs(address.sin_port);
}

}  // namespace talus::tool
