// SPDX-License-Identifier: MIT
// tests/entry/plugins_main: two plugins and their host, each with a copy of Talus of its own.
//
// Shows that copies do not meet (needs N16) and that a plugin may be closed while threads that used
// it go on and end later (N14): libc keeps it mapped for them, and unloads it when they have ended.
// Usage: plugins_main FIRST SECOND
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <talus/talus.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "expect.h"

namespace {

constexpr size_t thread_count = 4, block_count = 1000;

struct Plugin {
  const char* path = nullptr;
  void* handle = nullptr;
  void* (*allocate)(size_t) = nullptr;
  void (*release)(void*) = nullptr;
  size_t (*usable_size)(const void*) = nullptr;
  void (*use_cache)() = nullptr;

  explicit Plugin(const char* file) : path(file) {
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT(handle != nullptr);
    allocate = reinterpret_cast<void* (*)(size_t)>(dlsym(handle, "plugin_malloc"));
    release = reinterpret_cast<void (*)(void*)>(dlsym(handle, "plugin_free"));
    usable_size = reinterpret_cast<size_t (*)(const void*)>(dlsym(handle, "plugin_usable_size"));
    use_cache = reinterpret_cast<void (*)()>(dlsym(handle, "plugin_use_cache"));
    EXPECT(allocate != nullptr && release != nullptr && usable_size != nullptr);
    EXPECT(use_cache != nullptr);
  }
  void close() {
    EXPECT(dlclose(handle) == 0);
    handle = nullptr;
  }
  bool is_mapped() const {
    void* again = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (again != nullptr) dlclose(again);
    return again != nullptr;
  }
};

// Everyone waits until all are there.
class Meeting {
 public:
  explicit Meeting(size_t foreign) : foreign_(foreign) {}
  void wait() {
    std::unique_lock<std::mutex> held{mutex_};
    const size_t round = round_;
    if (++present_ == foreign_) {
      present_ = 0;
      round_++;
      all_here_.notify_all();
    } else {
      all_here_.wait(held, [&] { return round_ != round; });
    }
  }

 private:
  const size_t foreign_;
  size_t present_ = 0, round_ = 0;
  std::mutex mutex_;
  std::condition_variable all_here_;
};

using Blocks = std::vector<std::vector<void*>>;

void fill(std::vector<void*>& blocks, void* (*allocate)(size_t), int mark) {
  blocks.clear();
  for (size_t i = 0; i < block_count; i++) {
    blocks.push_back(allocate(i + 1));
    EXPECT(blocks.back() != nullptr);
    memset(blocks.back(), mark, i + 1);
  }
}

// Every block still holds its mark: had two copies given out one address, it would not.
void empty(std::vector<void*>& blocks, void (*release)(void*), int mark) {
  for (size_t i = 0; i < blocks.size(); i++) {
    const auto* bytes = static_cast<const unsigned char*>(blocks[i]);
    EXPECT(bytes[0] == mark && bytes[i] == mark);
    release(blocks[i]);
  }
}

void* host_allocate(size_t bytes) { return talus_malloc(bytes); }
void host_release(void* pointer) { talus_free(pointer); }

void copies_are_hidden(const Plugin& first, const Plugin& second) {
  EXPECT(first.allocate != second.allocate);
  EXPECT(dlsym(first.handle, "talus_malloc") == nullptr);
  EXPECT(dlsym(RTLD_DEFAULT, "talus_malloc") == nullptr);
}

// A copy ends the process for a block of another: they share no heap. Told in a child, and on a
// thread that ends, because a thread that used a plugin keeps it mapped.
void copies_do_not_know_each_other(const Plugin& first, const Plugin& second) {
  void* block = first.allocate(100);
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    close(2);
    second.usable_size(block);
    _exit(0);
  }
  int status = 0;
  EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  first.release(block);
}

void fork_works() {
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    talus_free(talus_malloc(100));
    _exit(0);
  }
  int status = 1;
  EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

void one_round(const char* first_path, const char* second_path) {
  Plugin first{first_path};
  Plugin second{second_path};
  copies_are_hidden(first, second);
  std::thread{[&] { copies_do_not_know_each_other(first, second); }}.join();
  std::thread{first.use_cache}.join();  // ends without a word
  Blocks of_first(thread_count), of_second(thread_count), of_host(thread_count);
  Meeting meeting{thread_count + 1};
  std::vector<std::thread> threads;
  for (size_t self = 0; self < thread_count; self++) {
    threads.emplace_back([&, self] {
      const size_t other = (self + 1) % thread_count;
      fill(of_first[self], first.allocate, 1);
      fill(of_second[self], second.allocate, 2);
      fill(of_host[self], host_allocate, 3);
      meeting.wait();  // all have filled
      empty(of_first[other], first.release, 1);
      empty(of_host[other], host_release, 3);
      meeting.wait();  // the first plugin is no longer needed
      meeting.wait();  // it is closed
      empty(of_second[other], second.release, 2);
      second.release(second.allocate(64));
      host_release(host_allocate(64));
    });
  }
  meeting.wait();
  meeting.wait();
  first.close();
  EXPECT(first.is_mapped());  // for the threads that are still to end
  fork_works();
  meeting.wait();
  for (std::thread& thread : threads) thread.join();
  // Unloaded for real: a symbol that is unique in the process would keep the objects for ever.
  second.close();
  EXPECT(!second.is_mapped());
  EXPECT(!first.is_mapped());
  fork_works();  // no handler may be left of copies that are gone
}

}  // namespace

int main(int argc, char** argv) {
  EXPECT(argc == 3);
  for (int round = 0; round < 2; round++) one_round(argv[1], argv[2]);
  return 0;
}
