// SPDX-License-Identifier: MIT
// tests/unit/settings/presets: the table of presets fits the table of options.
#include "settings/presets.hpp"

#include <gtest/gtest.h>

#include <string>

#include "configuration/option_target.hpp"

namespace talus::core {
namespace {

std::string value_of(const Options& options, OptionId id) {
  char text[option_text_bytes_max];
  format_option_value(options, option_row_of(id), text, sizeof text);
  return text;
}

TEST(Presets, AreTheWordsOfTheOption) {
  std::size_t words = 1;
  for (const char* at = option_words(OptionId::preset); *at != '\0'; at++) {
    words += *at == '|';
  }
  EXPECT_EQ(words, preset_count);
}

TEST(Presets, HaveValuesThatAreAllowedAndWrittenAsTheyAreShown) {
  for (const PresetRow& row : preset_rows) {
    for (const char* value : row.values) {
      Options options;
      ASSERT_EQ(set_option(options, option_row_of(row.option), value), OptionParse::accepted);
      EXPECT_EQ(value_of(options, row.option), value);
    }
  }
}

TEST(Presets, DefaultIsTheDefault) {
  const Options options;
  for (const PresetRow& row : preset_rows) {
    EXPECT_EQ(value_of(options, row.option), row.values[static_cast<std::size_t>(Preset::usual)]);
  }
}

TEST(Presets, KeepMoreFromTinyToFast) {
  for (const PresetRow& row : preset_rows) {
    if (option_row_of(row.option).kind != OptionKind::number) continue;
    if (row.option == OptionId::heaps) continue;  // where 0 is the most
    std::uint64_t before = 0;
    for (const char* value : row.values) {
      std::uint64_t now = 0;
      ASSERT_EQ(parse_option_number(option_row_of(row.option), value, now), OptionParse::accepted);
      EXPECT_GE(now, before);
      before = now;
    }
  }
}

}  // namespace
}  // namespace talus::core
