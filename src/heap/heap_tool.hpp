// SPDX-License-Identifier: MIT
// heap/heap_tool: a heap tool that stands before malloc, and so wants to see what C++ allocates.
//
// Tools like heaptrack define malloc and its family, and call the next definition. The operator new
// of a C++ runtime calls malloc by name, so they see it. Talus' own operators allocate at once.
// While a tool is there, they call by name, too (api/new.hpp). The fast paths do not ask: a mode
// closes the lists of all threads (modes/heap_tools.hpp).
//
// Owns: the tool's calls, and the place where another tool may appear later. Called on: any thread.
// Must not know: how a tool is recognised (entry/heap_tools.cpp).
#ifndef TALUS_HEAP_HEAP_TOOL_HPP
#define TALUS_HEAP_HEAP_TOOL_HPP

#include "base/base.hpp"
#include "heap/modes.hpp"

namespace talus::core {

// By these names the operators reach the tool.
struct HeapToolCalls {
  void* (*allocate)(size_t bytes) noexcept;
  void* (*allocate_at)(size_t alignment, size_t bytes) noexcept;
  void (*free)(void* block) noexcept;
};

using MallocFunction = void* (*)(size_t);

// What the name malloc leads to. Some tools write another function there while the process runs.
struct MallocName {
  // The word that calls by name read. The members below it are written once, before it is.
  Atomic<const volatile MallocFunction*> shared_bound;
  MallocFunction plain;     // what was there before any tool came
  void (*look)() noexcept;  // is there a tool now? Locks the registry
  // These change with the tool.
  Atomic<MallocFunction> shared_known;       // what was there at the last look
  Atomic<const HeapToolCalls*> shared_tool;  // null: no tool is there

  TALUS_FAST bool has_changed() const noexcept {
    return *shared_bound.load_acquire() != shared_known.load_hint();
  }
};
inline constexpr MallocFunction no_malloc = nullptr;
// Without a shared library no tool can be there.
TALUS_CONSTINIT inline MallocName malloc_name{Atomic<const volatile MallocFunction*>{&no_malloc},
                                              nullptr, nullptr, Atomic<MallocFunction>{nullptr},
                                              Atomic<const HeapToolCalls*>{nullptr}};

// The tool to which operator new and delete go; null: there is none.
TALUS_APART const HeapToolCalls* heap_tool() noexcept {
  if (malloc_name.has_changed()) malloc_name.look();
  return malloc_name.shared_tool.load_acquire();
}
// Does the tool free this block? It does if C++ frees it.
TALUS_APART bool is_freed_by_tool(void* block, FreeCall call) noexcept {
  const HeapToolCalls* tool = call.kind == CallKind::c ? nullptr : heap_tool();
  if (tool == nullptr) return false;
  tool->free(block);
  return true;
}

}  // namespace talus::core

#endif  // TALUS_HEAP_HEAP_TOOL_HPP
