// SPDX-License-Identifier: MIT
//
// Owns: the question to a program's own loader: which objects would it load, and do they load?
// Invariant: the command starts the loader by its own name and never starts the program.
// Must not know: which of the objects is Talus.

#ifndef TALUS_TOOLS_TALUS_LOADER_LISTING_HPP
#define TALUS_TOOLS_TALUS_LOADER_LISTING_HPP

#include <string>

#include "program.hpp"

namespace talus::tool {

// Whether the loader has a known listing mode. The loaders of glibc and musl have one.
bool has_listing_loader(const Program& program);

bool has_musl_loader(const Program& program);

struct LoaderListing {
  bool is_good = false;  // all objects were found and fit together
  std::string text;      // one line for each object
};

// `preload` is the value of LD_PRELOAD.
LoaderListing list_objects(const Program& program, const std::string& preload);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_LOADER_LISTING_HPP
