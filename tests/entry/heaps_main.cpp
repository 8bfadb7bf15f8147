// SPDX-License-Identifier: MIT
// tests/entry/heaps_main: heaps of one's own in C++, with the library linked and header-only.
//
// Owns: that talus::heap owns its heap, containers live in it, and that heaps work before main,
// after it, in a child and for blocks that another thread frees.
#include <talus/heap.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "expect.h"

namespace {

template <typename T>
using Vector = std::vector<T, talus::heap_allocator<T>>;

struct Eternal {
  talus::heap own{"eternal"};
  Vector<int> numbers{100, 5, own};
  ~Eternal() {
    numbers.resize(10000, 5);
    EXPECT(numbers[9999] == 5 && own.contains(numbers.data()));
  }
};
Eternal eternal;

void owns() {
  talus::heap one{"one"};
  talus_heap* const handle = one.get();
  void* block = one.allocate(100);
  EXPECT(talus_heap_of(block) == handle && std::string{one.name()} == "one");
  talus::heap two = std::move(one);
  EXPECT(!one && two && two.get() == handle && two.contains(block));
  two = talus::heap{"three"};
  EXPECT(!two.contains(block) && two.stats().live_blocks == 0);
  two.deallocate(two.allocate(5000, 4096));
  void* left = two.allocate(64);
  two.leave_blocks();
  EXPECT(!two && talus_heap_of(left) == nullptr && talus_usable_size(left) == 64);
  talus_free(left);
}

// The buffer is larger than what any of them needs, and they end before it.
char buffer[300000];
void has_providers() {
  talus::heap heaps[] = {talus::heap::in_buffer(buffer, sizeof buffer, "buffer"),
                         talus::heap::preallocated(1 << 20), talus::heap::in_file("/tmp", 1 << 20),
                         talus::heap::in_file("/tmp", 1 << 20, false)};
  EXPECT(std::string{heaps[0].name()} == "buffer");
  for (talus::heap& own : heaps) {
    Vector<int> numbers{own};
    for (int i = 0; i < 20000; i++) numbers.push_back(i);
    EXPECT(own.contains(numbers.data()) && numbers[19999] == 19999);
    EXPECT(talus_heap_of(numbers.data()) == own.get());
    EXPECT(own.try_allocate(2 << 20) == nullptr);
    void* freed = own.allocate(100);
    std::thread{[freed] { talus_free(freed); }}.join();
    EXPECT(!own.contains(freed));
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 1000; i++) numbers.push_back(i);
      numbers[0] = 77;
      _exit(numbers[20500] == 500 ? 0 : 1);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(numbers[0] == 0 && numbers.size() == 20000);
  }
}

void has_own_pages() {
  talus::heap heaps[] = {talus::heap::in_own_pages("pages"), talus::heap::on_node(0, "node"),
                         talus::heap::in_own_pages("bounded", 4 << 20)};
  EXPECT(std::string{heaps[1].name()} == "node");
  EXPECT(heaps[2].try_allocate(5 << 20) == nullptr);
  for (talus::heap& own : heaps) {
    Vector<int> numbers{own};
    for (int i = 0; i < 20000; i++) numbers.push_back(i);
    EXPECT(own.contains(numbers.data()) && numbers[19999] == 19999);
    auto* left = static_cast<char*>(own.allocate(1000));
    left[999] = 7;
    numbers = Vector<int>{own};
    own.leave_blocks();
    EXPECT(!own && talus_heap_of(left) == nullptr && talus_usable_size(left) >= 1000);
    const pid_t child = fork();
    if (child == 0) {
      const bool is_there = left[999] == 7;
      talus_free(left);
      _exit(is_there ? 0 : 1);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    std::thread{[left] { talus_free(left); }}.join();
  }
  talus_heap_options options{};
  options.numa_node = 100000;
  errno = 0;
  EXPECT(talus_heap_new(&options) == nullptr && errno == EINVAL);
}

// Its wrong calls are claims.contract's.
void is_checked() {
  talus::heap own = talus::heap::checked("checked", 1 << 20);
  EXPECT(std::string{own.name()} == "checked");
  Vector<int> numbers{own};
  for (int i = 0; i < 20000; i++) numbers.push_back(i);
  EXPECT(own.contains(numbers.data()) && numbers[19999] == 19999);
  EXPECT(own.try_allocate(2 << 20) == nullptr);
}

void contains_containers() {
  talus::heap own;
  using Pair = std::pair<const int, int>;
  std::map<int, int, std::less<int>, talus::heap_allocator<Pair>> map{std::less<int>{}, own};
  Vector<double> vector{own};
  for (int i = 0; i < 3000; i++) {
    map[i] = 2 * i;
    vector.push_back(i);
  }
  Vector<double> copy = vector;
  EXPECT(copy.get_allocator() == vector.get_allocator() && own.contains(copy.data()));
  talus::heap other;
  Vector<double> elsewhere{other};
  elsewhere = copy;
  EXPECT(other.contains(elsewhere.data()) && elsewhere == vector);
  elsewhere = std::move(copy);
  EXPECT(own.contains(elsewhere.data()));
  EXPECT(own.stats().live_blocks >= 3002 && map[2999] == 5998);
}

void limits() {
  talus::heap own{nullptr, 100000};
  EXPECT(own.try_allocate(200000) == nullptr);
#if defined(__cpp_exceptions)
  bool caught = false;
  try {
    Vector<int>(200000, 1, own);
  } catch (const std::bad_alloc&) {
    caught = true;
  }
  EXPECT(caught);
#endif
  own.clear();
  EXPECT(own.allocate(1) != nullptr);
}

void is_told_of() {
  talus::heap own{"told.of"};
  EXPECT(own.allocate(100) != nullptr);
  uint64_t live = 0, count = 0;
  EXPECT(talus_get("instance.told.of.live_bytes", &live) == 0 && live == 112);
  EXPECT(talus_get("heap.instances", &count) == 0 && count == 2);  // eternal, too
  own = talus::heap{};
  EXPECT(talus_get("instance.told.of.live_bytes", &live) == ENOENT && live == 112);
}

void crosses_threads_and_forks() {
  talus::heap own;
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; i++) blocks.push_back(own.allocate(i % 10 == 0 ? 50000 : 50));
  std::thread([&] {
    for (size_t i = 0; i < 500; i++) talus_free(blocks[i]);
  }).join();
  EXPECT(own.stats().live_blocks == 500);
  const pid_t child = fork();
  if (child == 0) {
    for (size_t i = 500; i < 1000; i++) own.deallocate(blocks[i]);
    _exit(own.stats().live_blocks == 0 ? 0 : 1);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(own.stats().live_blocks == 500);
}

}  // namespace

int main() {
  owns();
  has_providers();
  has_own_pages();
  is_checked();
  contains_containers();
  limits();
  is_told_of();
  crosses_threads_and_forks();
  return 0;
}
