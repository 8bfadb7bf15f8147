// SPDX-License-Identifier: MIT
//
// Owns: the reading of a whole file, see file_text.hpp.
// Invariant: a text is returned only if the read reached its end.
// Must not know: what the text means.

#include "file_text.hpp"

#include <fstream>
#include <ios>
#include <iterator>

namespace talus::tool {

std::optional<std::string> text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  try {
    return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  } catch (
      const std::ios_base::failure&) {  // the iterators bypass the stream, which would catch it
    return {};
  }
}

}  // namespace talus::tool
