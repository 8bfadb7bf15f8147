// SPDX-License-Identifier: MIT
// tests/entry/types_main: the C++ types, with the library linked and header-only.
//
// Owns: what they promise. The allocator meets the requirements of containers, and the resource the
// requirements of std::pmr. Unique pointers destroy once and free once. Refused memory is
// std::bad_alloc (without exceptions: abort). All of it works before and after main. Compiled in
// both standards, by both compilers, and without exceptions and RTTI. Every block must be known to
// talus_usable_size, which ends the process for a foreign block.
#include "types.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>

#include "expect.h"

namespace {

// ---- before and after main

struct Eternal {
  std::pmr::vector<int> numbers{100, 5, talus::default_resource()};
  Numbers others = Numbers(100, 6);
  ~Eternal() {
    numbers.resize(10000, 5);
    others.resize(10000, 6);
    EXPECT(numbers[9999] == 5 && others[9999] == 6);
  }
};
const Eternal eternal;

// ---- the allocator

struct alignas(128) Wide {
  int value = 1;
};

using Traits = std::allocator_traits<talus::allocator<int>>;
static_assert(Traits::is_always_equal::value);
static_assert(Traits::propagate_on_container_move_assignment::value);
static_assert(std::is_same_v<Traits::rebind_alloc<long>, talus::allocator<long>>);
static_assert(std::is_nothrow_copy_constructible_v<talus::allocator<int>>);
static_assert(std::is_nothrow_constructible_v<talus::allocator<int>, talus::allocator<long>>);
static_assert(std::is_empty_v<talus::allocator<int>>);

template <typename T>
bool is_of_talus(const T* pointer, size_t bytes) {
  return talus_usable_size(pointer) >= bytes;
}

void containers() {
  Numbers numbers;
  for (int i = 0; i < 5000; i++) numbers.push_back(i);
  EXPECT(is_of_talus(numbers.data(), 5000 * sizeof(int)));
  const Numbers copy = numbers;
  Numbers moved = std::move(numbers);
  EXPECT(copy == moved);
  std::list<int, talus::allocator<int>> list{1, 2, 3};
  std::deque<int, talus::allocator<int>> deque(1000, 1);
  std::map<int, int, std::less<int>, talus::allocator<std::pair<const int, int>>> map;
  std::unordered_map<int, int, std::hash<int>, std::equal_to<int>,
                     talus::allocator<std::pair<const int, int>>>
      hashed;
  for (int i = 0; i < 500; i++) map[i] = hashed[i] = i;
  EXPECT(map.size() == 500 && hashed[499] == 499 && list.size() == 3 && deque.size() == 1000);
  std::basic_string<char, std::char_traits<char>, talus::allocator<char>> text(300, 'x');
  EXPECT(is_of_talus(text.data(), 300));
  std::vector<Wide, talus::allocator<Wide>> wide(20);
  EXPECT(reinterpret_cast<uintptr_t>(wide.data()) % alignof(Wide) == 0);
  const std::shared_ptr<int> shared = std::allocate_shared<int>(talus::allocator<int>{}, 3);
  EXPECT(*shared == 3);
  EXPECT(talus::allocator<int>{} == talus::allocator<long>{});
  EXPECT(!(talus::allocator<int>{} != talus::allocator<long>{}));
}

void at_least() {
  talus::allocator<int> numbers;
  const auto room = numbers.allocate_at_least(1001);
  EXPECT(room.count >= 1001 && room.count * sizeof(int) <= talus_usable_size(room.ptr));
  EXPECT((room.count + 1) * sizeof(int) > talus_usable_size(room.ptr));
  for (size_t i = 0; i < room.count; i++) room.ptr[i] = 1;
  numbers.deallocate(room.ptr, room.count);
  talus::allocator<Wide> wide;
  const auto wide_room = wide.allocate_at_least(3);
  EXPECT(reinterpret_cast<uintptr_t>(wide_room.ptr) % alignof(Wide) == 0);
  wide.deallocate(wide_room.ptr, 3);
}

void two_units() {
  Numbers numbers = numbers_of_other();
  numbers.resize(100000, 7);
  empty_in_other(std::move(numbers));
  empty_in_other(Numbers(500, 1));
}

// ---- the resource

void resources() {
  std::pmr::memory_resource* resource = talus::default_resource();
  EXPECT(resource == talus::default_resource() && resource->is_equal(*resource));
  EXPECT(!resource->is_equal(*std::pmr::new_delete_resource()));
#if defined(__cpp_rtti)
  talus::memory_resource another;
  EXPECT(*resource == another && *resource == *resource_of_other());
#endif
  for (const size_t alignment : {size_t{1}, size_t{16}, size_t{64}, size_t{4096}}) {
    void* block = resource->allocate(100, alignment);
    EXPECT(reinterpret_cast<uintptr_t>(block) % alignment == 0 && is_of_talus(block, 100));
    resource->deallocate(block, 100, alignment);
  }
  std::pmr::memory_resource* before = std::pmr::set_default_resource(resource);
  const std::pmr::string text(500, 'y');
  EXPECT(is_of_talus(text.data(), 500));
  std::pmr::set_default_resource(before);
  std::pmr::unsynchronized_pool_resource pool{resource};
  std::pmr::map<int, std::pmr::string> map{&pool};
  for (int i = 0; i < 300; i++) map.emplace(i, std::pmr::string(100, 'z'));
  EXPECT(map.size() == 300);
  std::pmr::vector<int> in_other{10, 1, resource_of_other()};
  std::pmr::vector<int> here{resource};
  here = std::move(in_other);
  EXPECT(here.size() == 10 && is_of_talus(here.data(), 40));
}

// ---- unique pointers

int alive = 0;
struct Counted {
  Counted() { alive++; }
  explicit Counted(int first) : value{first} { alive++; }
  Counted(const Counted&) = delete;
  ~Counted() { alive--; }
  int value = 9;
};
struct First {
  virtual ~First() = default;
  long first = 1;
};
struct Second {
  virtual ~Second() = default;
  long second = 2;
};
struct Both : First, Second, Counted {};
struct Plain : Counted {};

static_assert(std::is_convertible_v<talus::unique_ptr<Both>, talus::unique_ptr<Second>>);
static_assert(std::is_convertible_v<talus::unique_ptr<int>, talus::unique_ptr<const int>>);
static_assert(!std::is_convertible_v<talus::unique_ptr<Plain>, talus::unique_ptr<Counted>>,
              "the wrong destructor would run");
static_assert(sizeof(talus::unique_ptr<int>) == sizeof(int*));

void unique_pointers() {
  {
    const talus::unique_ptr<Counted> one = talus::make_unique<Counted>(4);
    EXPECT(alive == 1 && one->value == 4 && is_of_talus(one.get(), sizeof(Counted)));
    // Its second base does not start where the block does.
    const talus::unique_ptr<Second> base = talus::make_unique<Both>();
    EXPECT(alive == 2 && base->second == 2);
    const talus::unique_ptr<Counted[]> many = talus::make_unique<Counted[]>(50);
    EXPECT(alive == 52 && many[49].value == 9);
    const talus::unique_ptr<int[]> zeros = talus::make_unique<int[]>(100);
    for (size_t i = 0; i < 100; i++) EXPECT(zeros[i] == 0);
    const talus::unique_ptr<Wide> wide = talus::make_unique<Wide>();
    EXPECT(reinterpret_cast<uintptr_t>(wide.get()) % alignof(Wide) == 0);
    const talus::raw_block raw{talus_malloc(10)};
    const talus::unique_ptr<const Counted> constant = talus::make_unique<Counted>();
    EXPECT(talus::make_unique<Counted[]>(0) != nullptr);
  }
  EXPECT(alive == 0);
}

// ---- a constant size

template <size_t Bytes>
void one_constant_size() {
  void* block = talus::allocate<Bytes>();
  EXPECT(talus_usable_size(block) == talus_good_size(Bytes));
  talus_free(block);
}

// ---- memory that cannot be had

constexpr size_t too_much = PTRDIFF_MAX;
int handler_calls = 0;

#if defined(__cpp_exceptions)
void* address_of_failed = nullptr;
struct Throwing {
  Throwing() {
    address_of_failed = this;
    throw 5;
  }
  char text[100];
};

template <typename Error, typename Work>
bool throws(Work work) {
  try {
    work();
  } catch (const Error&) {
    return true;
  }
  return false;
}

void no_memory() {
  talus::allocator<char> chars;
  talus::allocator<int> ints;
  std::pmr::memory_resource* resource = talus::default_resource();
  EXPECT(throws<std::bad_alloc>([&] { (void)chars.allocate(too_much); }));
  EXPECT(throws<std::bad_alloc>([&] { (void)chars.allocate_at_least(too_much); }));
  EXPECT(throws<std::bad_array_new_length>([&] { (void)ints.allocate(too_much); }));
  EXPECT(throws<std::bad_array_new_length>([] { (void)talus::make_unique<int[]>(too_much); }));
  EXPECT(throws<std::bad_alloc>([&] { (void)resource->allocate(too_much, 8); }));
  EXPECT(throws<std::bad_alloc>([&] { (void)resource->allocate(too_much, 64); }));
  EXPECT(throws<std::bad_alloc>([] { (void)talus::allocate<too_much>(); }));
  std::set_new_handler([] {
    if (++handler_calls == 3) std::set_new_handler(nullptr);
  });
  EXPECT(throws<std::bad_alloc>([&] { (void)chars.allocate(too_much); }));
  EXPECT(handler_calls == 3);
  EXPECT(throws<int>([] { (void)talus::make_unique<Throwing>(); }));
  void* next = talus_malloc(sizeof(Throwing));
  EXPECT(next == address_of_failed);  // freed last, so it is the first to come
  talus_free(next);
}
#else
void no_memory() {
  const pid_t child = fork();
  if (child == 0) {
    std::set_new_handler([] {
      if (++handler_calls == 3) std::set_new_handler(nullptr);
    });
    signal(SIGABRT, [](int) { _exit(handler_calls == 3 ? 42 : 1); });
    (void)talus::allocator<char>{}.allocate(too_much);
    _exit(2);
  }
  int status = 0;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}
#endif

void threads() {
  std::vector<std::thread> all;
  std::atomic<int> sum{0};
  for (int self = 0; self < 4; self++) {
    all.emplace_back([&sum] {
      for (int round = 0; round < 100; round++) {
        std::pmr::list<int> list{talus::default_resource()};
        Numbers numbers = numbers_of_other();
        for (int i = 0; i < 100; i++) list.push_back(i);
        std::thread{[moved = std::move(numbers)] { EXPECT(moved.size() == 1000); }}.join();
        sum += static_cast<int>(list.size());
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT(sum == 4 * 100 * 100);
}

}  // namespace

int main() {
  EXPECT(eternal.numbers[99] == 5);
  containers();
  at_least();
  two_units();
  resources();
  unique_pointers();
  one_constant_size<0>();
  one_constant_size<64>();
  one_constant_size<5000>();
  one_constant_size<100000>();
  no_memory();
  threads();
  return 0;
}
