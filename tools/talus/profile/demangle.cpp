// SPDX-License-Identifier: MIT
//
// Owns: see demangle.hpp.
// Invariant: see demangle.hpp.
// Must not know: see demangle.hpp.

#include "profile/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#if defined(TALUS_HAS_LIBIBERTY)
#include <libiberty/demangle.h>
#endif

namespace talus::tool {
namespace {

struct FreedByLibc {
  void operator()(char* text) const { std::free(text); }
};
using LibcText = std::unique_ptr<char, FreedByLibc>;

LibcText rust_name(const std::string& symbol) {
#if defined(TALUS_HAS_LIBIBERTY)
  return LibcText(::rust_demangle(symbol.c_str(), DMGL_PARAMS));
#else
  static_cast<void>(symbol);
  return {};
#endif
}

}  // namespace

// Older symbols of Rust look as those of C++ do, so Rust is asked first.
std::string demangled(const std::string& symbol) {
  if (symbol.rfind("_R", 0) != 0 && symbol.rfind("_Z", 0) != 0) return symbol;
  if (const LibcText text = rust_name(symbol)) return text.get();
  int status = 0;
  const LibcText text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status));
  return status == 0 && text != nullptr ? text.get() : symbol;
}

}  // namespace talus::tool
