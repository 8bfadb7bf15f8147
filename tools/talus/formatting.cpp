// SPDX-License-Identifier: MIT
// talus/formatting: fmt's functions, compiled into the command.
//
// Owns: the one copy of fmt in the program. The distribution's libfmt.so changes its name with each
// release, so a command linked to it would not start on the next release. The other files include
// <fmt/format.h> and link to the functions here. Compiling a copy in each file would take seconds.
// Must not know: what is formatted.
#define FMT_HEADER_ONLY 1  // NOLINT: fmt's own name for this
#include <cstdio>
#include <fmt/format.h>
#include <string>

namespace talus::tool {

// The functions are inline. Taking their addresses emits them and all functions they call.
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
