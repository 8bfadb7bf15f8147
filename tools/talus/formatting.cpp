// SPDX-License-Identifier: MIT
// talus/formatting: fmt's functions, compiled into the command.
//
// Owns: the one copy of fmt in the program. The distribution's libfmt.so has another name with each
// of its releases, so that a command linked to it would not start on the next one. The other files
// include <fmt/format.h> and find the functions here; each would take seconds to compile its own.
// Must not know: what is formatted.
#define FMT_HEADER_ONLY 1  // NOLINT: fmt's own name for this
#include <cstdio>
#include <fmt/format.h>
#include <string>

namespace talus::tool {

// The functions are inline: they are emitted, with all that they call, as their addresses are used.
[[gnu::used]] static std::string (*const keep_vformat)(fmt::string_view,
                                                       fmt::format_args) = &fmt::vformat;
[[gnu::used]] static void (*const keep_vprint)(fmt::string_view, fmt::format_args) = &fmt::vprint;
[[gnu::used]] static void (*const keep_vprint_to)(std::FILE*, fmt::string_view,
                                                  fmt::format_args) = &fmt::vprint;
#if FMT_VERSION >= 110000
[[gnu::used]] static void (*const keep_vprint_buffered)(std::FILE*, fmt::string_view,
                                                        fmt::format_args) = &fmt::vprint_buffered;
#endif

}  // namespace talus::tool
