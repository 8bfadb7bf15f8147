// SPDX-License-Identifier: MIT
// settings/presets: what the words of the option `preset` mean: other defaults for a few options.
//
// Owns: the one table of presets; `talus options --presets` and docs/options.md are made from it.
// Invariants: every preset names a value for every row, so that one preset replaces another
// completely; the column of `default` holds the defaults of settings/options.hpp (both tested).
// Must not know: where a preset was asked for (configuration/option_target.hpp). Pure data.
#ifndef TALUS_SETTINGS_PRESETS_HPP
#define TALUS_SETTINGS_PRESETS_HPP

#include "settings/options.hpp"

namespace talus::core {

inline constexpr std::size_t preset_count = 4;

// One option and its values, in the order of Preset.
struct PresetRow {
  OptionId option;
  char values[preset_count][9];  // as text
};

// tiny: purges every free page, even where that costs time. fast: keeps memory, and takes it in
// large pieces.
inline constexpr PresetRow preset_rows[] = {
    //                        tiny    small     default   fast
    {OptionId::decay_ms, {"0", "250ms", "1s", "10s"}},
    {OptionId::retain_bytes, {"0", "8MiB", "64MiB", "1GiB"}},
    {OptionId::list_bytes, {"1KiB", "4KiB", "16KiB", "64KiB"}},
    {OptionId::arena_bytes, {"1MiB", "2MiB", "4MiB", "64MiB"}},
    {OptionId::heaps, {"1", "4", "0", "0"}},
    {OptionId::thp, {"never", "never", "adaptive", "always"}},
};

}  // namespace talus::core

#endif  // TALUS_SETTINGS_PRESETS_HPP
