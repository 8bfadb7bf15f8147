// SPDX-License-Identifier: MIT
//
// Owns: the question to a program's own loader: which objects would it load, and could it?
// Invariant: the program is not started; the loader is, by its own name.
// Must not know: which of the objects is Talus.

#ifndef TALUS_TOOLS_TALUS_LOADER_LISTING_HPP
#define TALUS_TOOLS_TALUS_LOADER_LISTING_HPP

#include <string>

#include "program.hpp"

namespace talus::tool {

// Whether the loader has a listing mode that we know: glibc's and musl's have.
bool has_listing_loader(const Program& program);

bool has_musl_loader(const Program& program);

struct LoaderListing {
  bool is_good = false;  // all objects were found and fit together
  std::string text;      // a line each
};

// `preload` is the value of LD_PRELOAD.
LoaderListing list_objects(const Program& program, const std::string& preload);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_LOADER_LISTING_HPP
