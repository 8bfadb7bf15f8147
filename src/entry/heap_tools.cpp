// SPDX-License-Identifier: MIT
// entry/heap_tools: finds heap tools that stand before Talus' malloc (heap/heap_tool.hpp).
//
// A tool was preloaded before Talus, or writes its functions into the tables of a running process.
// In both cases the name malloc leads elsewhere. What stands there is a tool if its malloc returns
// a block of Talus: then it forwards the calls that it watches. An allocator of the program's own
// returns blocks of its own.
//
// Owns: this test, and the calls by name. Only in libtalus.so: names that are linked into a program
// come before those of any tool. Called on: any thread.
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "base/base.hpp"
#include "settings/options.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/heap_tool.hpp"
#include "modes/heap_tools.hpp"
#include "api/new.hpp"
#include "entry/bindings.hpp"
#include "entry/life.hpp"  // IWYU pragma: keep (start and end of the process)

namespace talus::core {
namespace {

// The table as it is now: a tool may write to it at any time.
template <typename Function>
Function* now(Function* const& place) noexcept {
  return *static_cast<Function* const volatile*>(&place);
}

void* allocate_by_name(size_t bytes) noexcept { return now(malloc_bindings.malloc)(bytes); }
// As the runtimes of C++ do: the size is a multiple of the alignment.
void* allocate_at_by_name(size_t alignment, size_t bytes) noexcept {
  if (bytes > static_cast<size_t>(PTRDIFF_MAX) - alignment) return nullptr;
  return now(malloc_bindings.aligned_alloc)(alignment, round_up(bytes, alignment));
}
void free_by_name(void* block) noexcept { now(malloc_bindings.free)(block); }

constexpr HeapToolCalls calls_by_name = {allocate_by_name, allocate_at_by_name, free_by_name};

// Is this definition, which is not Talus' own, in another library? A program that takes the address
// of a function, and is not position independent, gives the name a place of its own; calls go on
// from there. And a program with a malloc of its own needs no tool.
TALUS_APART bool is_in_other_library(const void* function) noexcept {
  if (&dladdr == nullptr) return false;
  const char* file = nullptr;
  const void* const object = api::object_of(function, &file);
  const auto* const headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  return object != nullptr && object != api::object_of(headers, &file);
}
template <typename Function>
const void* address_of(Function* function) noexcept {
  return reinterpret_cast<const void*>(function);
}
// A tool defines all that make and free blocks, of which the program may have taken some.
bool has_other_family() noexcept {
  const MallocBindings& bound = malloc_bindings;
  const auto is_other = [](auto* function, auto* own) noexcept {
    // Nearly all processes end here, and map no code but that of the start.
    return function != own && is_in_other_library(address_of(function));
  };
  return is_other(bound.malloc, &talus_own_malloc) || is_other(bound.free, &talus_own_free) ||
         is_other(bound.calloc, &talus_own_calloc) || is_other(bound.realloc, &talus_own_realloc);
}

// A tool that gives the program other addresses than Talus gave would not know those that it did
// not see.
bool is_block_of_talus(const void* block) noexcept {
  const PageMap::Found found = page_map.look(reinterpret_cast<uintptr_t>(block));
  if (!found.word.is_slab()) return !found.word.has_no_owner();
  return static_cast<const Slab*>(found.descriptor)->is_start(block);
}
bool forwards_to_talus(MallocFunction function) noexcept {
  void* const block = function(1);
  if (block == nullptr) return false;
  const bool is_ours = is_block_of_talus(block);
  free_by_name(block);
  return is_ours;
}

TALUS_APART void look_for_tool() noexcept {
  const MallocFunction bound = now(malloc_bindings.malloc);
  malloc_name.shared_known.store_hint(bound);
  if (bound != malloc_name.plain && forwards_to_talus(bound)) {
    begin_heap_tool(calls_by_name);
  } else if (malloc_name.shared_tool.load_acquire() != nullptr) {
    end_heap_tool();
  }
}

[[gnu::constructor, gnu::used]] TALUS_START_ENTRY void finds_heap_tools() {
  if (!options.heap_tools) return;
  const bool is_late = malloc_bindings.reallocarray != &talus_own_reallocarray;
  const bool may_be_tool = !is_late && has_other_family();
  malloc_name.plain = may_be_tool ? &talus_own_malloc : malloc_bindings.malloc;
  malloc_name.look = look_for_tool;
  malloc_name.shared_known.store_init(malloc_bindings.malloc);
  // Threads of libraries that began before may look from here on.
  malloc_name.shared_bound.store_release(&malloc_bindings.malloc);
  if (may_be_tool) look_for_tool();
}

}  // namespace
}  // namespace talus::core
