// SPDX-License-Identifier: MIT
// fuzz/instances.cpp: heaps of one's own from talus_heap_new to their end.
#include "instances.hpp"

#include <stdio.h>

#include "sizes.hpp"

namespace fuzz {

Instance instances[instance_count];
std::atomic<uint64_t> instance_total;

namespace {

Memory draw_memory() {
  if (!settings.providers || one_in(3)) return static_cast<Memory>(draw(2));
  const auto memory = static_cast<Memory>(draw(static_cast<size_t>(Memory::count)));
  return memory == Memory::file && !settings.files ? Memory::own_pages : memory;
}

// What is asked for, and what its pointers point to.
struct Request {
  talus_heap_options options{};
  talus_provider provider{};
  talus_provider_calls calls{};
};

void request_provider(Request& request, talus_provider_kind kind, size_t bytes,
                      unsigned flags = 0) {
  request.provider.kind = kind;
  request.provider.bytes = bytes;
  request.provider.flags = flags;
  request.options.provider = &request.provider;
}

// False: the memory for the request itself could not be had.
bool request_memory(Request& request, Instance& instance) {
  switch (instance.memory) {
    case Memory::plain:
      break;
    case Memory::limited:
      request.options.limit_bytes = 1 + draw(one_in(2) ? 8 * mib : 300000);
      break;
    case Memory::own_pages:
      request.options.flags = TALUS_HEAP_OWN_PAGES;
      if (one_in(2)) request_provider(request, TALUS_PROVIDER_OS, draw(64 * mib));
      break;
    case Memory::kernel_bytes:
      request_provider(request, TALUS_PROVIDER_OS, 1 + draw(32 * mib));
      break;
    case Memory::buffer:
      if (!instance.buffer.make(128 * kib + draw(one_in(2) ? 200000 : 4 * mib))) return false;
      request_provider(request, TALUS_PROVIDER_BUFFER, instance.buffer.bytes);
      request.provider.buffer = instance.buffer.start;
      break;
    case Memory::preallocated:
      instance.falls_back = one_in(2);
      request_provider(request, TALUS_PROVIDER_PREALLOC, 1 + draw(6 * mib),
                       instance.falls_back ? TALUS_PROVIDER_FALLBACK : 0);
      break;
    case Memory::file:
      request_provider(request, TALUS_PROVIDER_FILE, 1 + draw(8 * mib),
                       one_in(2) ? TALUS_PROVIDER_GROW : 0);
      request.provider.directory = settings.directory;
      break;
    case Memory::callbacks:
      request.calls = instance.range.draw_calls();
      request_provider(request, TALUS_PROVIDER_CALLBACKS, 4 * kib * (1 + draw(2048)));
      request.provider.calls = &request.calls;
      request.provider.context = &instance.range;
      break;
    default:
      request.options.numa_node = 1;
  }
  if (instance.has_provider && one_in(4)) request.options.limit_bytes = 64 * kib + draw(4 * mib);
  return true;
}

void expect_flags_are_checked(const talus_heap_options& options) {
  talus_heap_options wrong = options;
  wrong.flags = 2;
  const void* heap = called([&] { return talus_heap_new(&wrong); });
  if (heap != nullptr || self().error != EINVAL) fail("a heap of flags that there are not");
}

void expect_new_heap_may_fail(Instance& instance) {
  const bool is_short = settings.may_fail || instance.has_provider;
  const bool is_node_refused =
      instance.memory == Memory::node && (self().error == EPERM || self().error == EINVAL);
  if (!is_node_refused && !(is_short && self().error == ENOMEM)) {
    fail("talus_heap_new fails for memory %d", static_cast<int>(instance.memory));
  }
  if (instance.range.base != nullptr && !instance.range.is_released) {
    fail("talus_heap_new fails and releases nothing");
  }
}

void make_alone(Instance& instance, int number) {
  self().doing = "talus_heap_new";
  instance.memory = draw_memory();
  instance.has_provider = instance.memory >= Memory::own_pages;
  instance.falls_back = instance.is_uncertain = false;
  instance.range = {};
  Request request;
  if (!request_memory(request, instance)) return;
  snprintf(instance.name, sizeof instance.name, "heap%d_%llu", number,
           static_cast<unsigned long long>(instance_total++));
  request.options.name = one_in(4) ? nullptr : instance.name;
  if (one_in(4)) request.options.mode = TALUS_MODE_CHECKED;
  instance.limit_bytes = request.options.limit_bytes;
  instance.may_fail = instance.memory != Memory::plain || instance.limit_bytes != 0;
  if (one_in(100)) expect_flags_are_checked(request.options);
  const bool by_default = instance.memory == Memory::plain && one_in(8);
  instance.handle = called([&] { return talus_heap_new(by_default ? nullptr : &request.options); });
  note("talus_heap_new", nullptr, static_cast<size_t>(instance.memory), request.provider.bytes,
       instance.handle);
  if (instance.handle == nullptr) {
    expect_new_heap_may_fail(instance);
    instance.buffer.check_and_end();
    return;
  }
  expect_errno_kept("talus_heap_new");
  instance.is_alive.store(true);
}

void expect_memory_is_back(Instance& instance) {
  if (instance.memory == Memory::callbacks && !instance.range.is_released) {
    fail("a heap by callbacks ends and releases nothing");
  }
  instance.buffer.check_and_end();
}

void clear_alone(Instance& instance, int number, End how) {
  self().doing = how == End::by_clear ? "talus_heap_clear" : "talus_heap_destroy";
  if (one_in(3)) check_instance(number);
  each_place_of(Owner::instance, number, [](Place& place) {
    if (place.contents.bytes < 4 * kib || one_in(4)) check(place, "before its heap ends");
    empty(place);
  });
  note(self().doing, instance.handle, static_cast<size_t>(instance.memory), 0, nullptr);
  if (how == End::by_clear) {
    called([&] { talus_heap_clear(instance.handle); });
    expect_errno_kept("talus_heap_clear");
    instance.is_uncertain = false;
    check_instance(number);
    return;
  }
  called([&] { talus_heap_destroy(instance.handle); });
  expect_errno_kept("talus_heap_destroy");
  instance.is_alive.store(false);
  expect_memory_is_back(instance);
}

void delete_alone(Instance& instance, int number) {
  self().doing = "talus_heap_delete";
  const int answer = called([&] { return talus_heap_delete(instance.handle); });
  expect_errno_kept("talus_heap_delete");
  note("talus_heap_delete", instance.handle, static_cast<size_t>(instance.memory), 0, nullptr);
  const bool wants_memory_back =
      instance.memory == Memory::buffer || instance.memory == Memory::callbacks;
  const bool is_as_expected = answer == (wants_memory_back ? EINVAL : 0);
  if (!is_as_expected && !(answer == ENOMEM && settings.may_fail)) {
    fail("talus_heap_delete answers %d for memory %d", answer, static_cast<int>(instance.memory));
  }
  if (answer != 0) return;
  each_place_of(Owner::instance, number, [&](Place& place) {
    place.was_provided = instance.has_provider;
    place.number.store(-1);
    place.owner.store(Owner::process);
  });
  instance.is_alive.store(false);
}

}  // namespace

void make_instance(int number) {
  Instance& instance = instances[number];
  if (instance.is_alive.load() || !instance.gate.try_have_alone()) return;
  if (!instance.is_alive.load()) make_alone(instance, number);
  instance.gate.open();
}

namespace {

// Where the kernel refused memory for the page map, only talus_heap_* functions know the blocks of
// a heap in a buffer (docs/providers.md).
bool is_known_by_heap_alone(const Instance& instance, const void* block) {
  const bool may_be = instance.memory == Memory::buffer && settings.may_fail;
  return may_be && talus_heap_of(block) == nullptr;
}

}  // namespace

void allocate_in_instance(Place& place, int number) {
  const Instance& instance = instances[number];
  Given given;
  given.bytes = draw_size();
  if (instance.has_provider && given.bytes > mib && one_in(2)) given.bytes %= 64 * kib;
  bool is_senseless = false;
  switch (draw(8)) {
    case 0:
    case 1:
    case 2:
      is_senseless = one_in(12);
      if (is_senseless) given.bytes = draw_senseless_size();
      given.call = "talus_heap_malloc";
      given.block = called([&] { return talus_heap_malloc(instance.handle, given.bytes); });
      break;
    case 3:
      given.call = "talus_heap_calloc";
      given.zero_bytes = given.bytes;
      given.is_cleared = true;
      given.is_zero_whole = true;
      given.block = called([&] { return talus_heap_calloc(instance.handle, 1, given.bytes); });
      break;
    case 4:
      given.call = "talus_heap_realloc";
      given.block =
          called([&] { return talus_heap_realloc(instance.handle, nullptr, given.bytes); });
      break;
    default:
      given.call = "talus_heap_aligned_alloc";
      given.alignment = draw_alignment();
      given.block = called(
          [&] { return talus_heap_aligned_alloc(instance.handle, given.alignment, given.bytes); });
  }
  note(given.call, instance.handle, given.bytes, given.alignment, given.block);
  if (given.block == nullptr) return expect_refusal(given, Owner::instance, number);
  if (is_senseless && given.bytes > possible_bytes_max) {
    fail("%s(%zu) succeeds", given.call, given.bytes);
  }
  expect_errno_kept(given.call);
  if (is_known_by_heap_alone(instance, given.block)) {
    talus_heap_free(instance.handle, given.block);
    return;
  }
  settle(place, given, Owner::instance, number);
}

void end_instance(int number, End how) {
  Instance& instance = instances[number];
  if (!instance.is_alive.load()) return;
  if (how == End::by_delete) {
    // The blocks of threads that are not in this process would have no owner.
    if (instance.is_uncertain || !instance.gate.try_delete()) return;
    if (instance.is_alive.load()) delete_alone(instance, number);
    instance.gate.end_delete();
    return;
  }
  if (!instance.gate.try_have_alone()) return;
  if (instance.is_alive.load()) clear_alone(instance, number, how);
  instance.gate.open();
}

}  // namespace fuzz
