// SPDX-License-Identifier: MIT
// modes/heap_tools: closes the fast paths while a heap tool wants to see operator new and delete.
//
// The mode observes nothing. It only leads all calls to slow paths, where the operators go to the
// tool instead (heap/heap_tool.hpp).
//
// Owns: the mode. Called on: any thread, without locks of the heap. Must not know: which tool it
// is.
#ifndef TALUS_MODES_HEAP_TOOLS_HPP
#define TALUS_MODES_HEAP_TOOLS_HPP

#include "base/base.hpp"
#include "heap/heap_tool.hpp"
#include "heap/modes.hpp"
#include "modes/chain.hpp"

namespace talus::core {

constexpr Mode make_heap_tool_mode() noexcept {
  Mode mode;
  mode.name = "heap_tool";
  mode.is_without_slabs = true;
  return mode;
}
inline constexpr Mode heap_tool_mode = make_heap_tool_mode();

// From here on, operators go to the tool, unless the chain of modes is full.
TALUS_APART void begin_heap_tool(const HeapToolCalls& calls) noexcept {
  malloc_name.shared_tool.store_release(&calls);
  if (!switch_on(heap_tool_mode)) malloc_name.shared_tool.store_release(nullptr);
}
// The tool is gone. Blocks that it saw are freed as any others.
TALUS_APART void end_heap_tool() noexcept {
  malloc_name.shared_tool.store_release(nullptr);
  switch_off(heap_tool_mode);
}

}  // namespace talus::core

#endif  // TALUS_MODES_HEAP_TOOLS_HPP
