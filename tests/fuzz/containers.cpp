// SPDX-License-Identifier: MIT
// fuzz/containers.cpp: allocator, memory_resource, unique_ptr, heap and its allocator, bounded.
#include "containers.hpp"

#include <list>
#include <memory_resource>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "report.hpp"
#include "talus/bounded.hpp"
#include "talus/heap.hpp"
#include "talus/talus.hpp"

namespace fuzz {
namespace {

// Counts its living objects; each knows where it was built.
struct alignas(64) Aligned {
  explicit Aligned(uint64_t which = 0) : number{which}, place{this} {}
  Aligned(const Aligned& other) : number{other.number}, place{this} {}
  Aligned& operator=(const Aligned& other) {
    number = other.number;
    return *this;
  }
  ~Aligned() { place = nullptr; }
  bool is_sound() const {
    return place == this && reinterpret_cast<uintptr_t>(this) % alignof(Aligned) == 0;
  }
  uint64_t number;
  const void* place;
};

// Grows, shrinks and copies a vector of consecutive numbers.
template <typename Vector, typename Value>
void use_vector(Vector& numbers, Value value_of, size_t count) {
  for (size_t i = 0; i < count; i++) numbers.emplace_back(i);
  if (one_in(2)) numbers.resize(draw(count + 1));
  if (one_in(2)) numbers.shrink_to_fit();
  if (one_in(3)) numbers.reserve(draw(4 * count + 1));
  const Vector copy = numbers;
  if (one_in(2)) {
    numbers.clear();
    numbers.shrink_to_fit();
  }
  for (size_t i = 0; i < copy.size(); i++) {
    if (value_of(copy[i]) != i) fail("number %zu of %zu in a vector", i, copy.size());
  }
}

uint64_t number_of(uint64_t number) { return number; }
uint64_t number_of_aligned(const Aligned& aligned) {
  return aligned.is_sound() ? aligned.number : ~uint64_t{0};
}

void use_allocator() {
  std::vector<uint64_t, talus::allocator<uint64_t>> numbers;
  use_vector(numbers, number_of, draw(one_in(8) ? 100000 : 3000));
  std::vector<Aligned, talus::allocator<Aligned>> aligned;
  use_vector(aligned, number_of_aligned, draw(500));
}

void use_resource() {
  std::pmr::vector<uint64_t> numbers{talus::default_resource()};
  use_vector(numbers, number_of, draw(3000));
  // libstdc++'s pools do not survive that their upstream throws (seen in gcc 12).
  std::pmr::unsynchronized_pool_resource pool{talus::default_resource()};
  std::pmr::memory_resource* const plain = talus::default_resource();
  std::pmr::list<std::pmr::string> texts{settings.may_fail ? plain : &pool};
  const size_t count = draw(200);
  for (size_t i = 0; i < count; i++) texts.emplace_back(i, 'x');
  size_t length = 0;
  for (const std::pmr::string& text : texts) {
    if (text.size() != length || text.find_first_not_of('x') != std::pmr::string::npos) {
      fail("text %zu of %zu", length, count);
    }
    length++;
  }
}

void use_unique() {
  const talus::unique_ptr<Aligned> one = talus::make_unique<Aligned>(uint64_t{7});
  const size_t count = draw(300);
  talus::unique_ptr<Aligned[]> many = talus::make_unique<Aligned[]>(count);
  if (number_of_aligned(*one) != 7) fail("a unique_ptr's object");
  for (size_t i = 0; i < count; i++) {
    if (!many[i].is_sound()) fail("element %zu of %zu of a unique_ptr", i, count);
  }
  const talus::raw_block raw{talus::allocate<200>()};
  if (talus_usable_size(raw.get()) < 200) fail("talus::allocate<200> gives too little");
}

talus::heap draw_heap() {
  switch (draw(settings.providers ? 4 : 1)) {
    case 1:
      return talus::heap::in_own_pages("containers", one_in(2) ? 0 : 16 * mib);
    case 2:
      return talus::heap::preallocated(4 * mib, true, "containers");
    case 3:
      return talus::heap{"containers", 16 * mib};
    default:
      return talus::heap{};
  }
}

void use_heap() {
  using Texts = std::list<uint64_t, talus::heap_allocator<uint64_t>>;
  talus::heap heap = draw_heap();
  {
    Texts numbers{talus::heap_allocator<uint64_t>{heap}};
    const size_t count = draw(500);
    for (size_t i = 0; i < count; i++) numbers.push_back(i);
    Texts moved = std::move(numbers);
    if (heap.stats().live_blocks < count) fail("a list of %zu is not in its heap", count);
    uint64_t next = 0;
    for (const uint64_t number : moved) {
      if (number != next++) fail("number %zu of %zu in a list", static_cast<size_t>(next), count);
    }
    std::vector<Aligned, talus::heap_allocator<Aligned>> aligned{
        talus::heap_allocator<Aligned>{heap}};
    use_vector(aligned, number_of_aligned, draw(300));
  }
  if (heap.stats().live_blocks != 0) fail("blocks stay in a heap whose containers are gone");
  void* left = heap.allocate(1000);
  if (one_in(2)) {
    heap.leave_blocks();
    if (heap) fail("a heap after leave_blocks");
    talus_free(left);
  }
}

// What it took goes back also where it gets no more: the fallback's blocks outlive the instance.
class Taken {
 public:
  explicit Taken(talus::bounded& owner) : owner_{owner} {}
  ~Taken() {
    for (void* block : blocks_) owner_.deallocate(block);
  }
  void take(talus::bounded_cache& cache) {
    for (void*& block : blocks_) {
      block = one_in(2) ? cache.allocate(draw(2000)) : owner_.allocate(draw(2000), 64);
    }
  }
  void give_some(talus::bounded_cache& cache) {
    for (void*& block : blocks_) {
      if (one_in(2)) continue;
      cache.deallocate(block);
      block = nullptr;
    }
  }
  static constexpr size_t count = 50;

 private:
  talus::bounded& owner_;
  void* blocks_[count] = {};
};

void use_bounded_types() {
  talus::bounded bounded{1 + draw(40), draw(100000)};
  talus::bounded_cache cache{bounded};
  {
    Taken taken{bounded};
    taken.take(cache);
    const size_t live = bounded.stats().live_blocks;
    if (live > Taken::count) fail("%zu blocks are %zu in the pools", Taken::count, live);
    taken.give_some(cache);
  }
  if (bounded.stats().live_blocks != 0) fail("blocks stay in pools");
}

}  // namespace

void use_containers() {
  self().doing = "using containers";
  try {
    switch (draw(5)) {
      case 0:
        use_allocator();
        break;
      case 1:
        use_resource();
        break;
      case 2:
        use_unique();
        break;
      case 3:
        use_heap();
        break;
      default:
        use_bounded_types();
    }
  } catch (const std::bad_alloc&) {
    if (!settings.may_fail) fail("bad_alloc, and nothing limits memory");
  }
}

}  // namespace fuzz
