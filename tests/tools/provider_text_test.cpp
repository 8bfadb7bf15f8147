// SPDX-License-Identifier: MIT
//
// Owns: the tests of TALUS_PROVIDER as text: every form, every kind of mistake, and that what is
// printed reads back the same.
#include "configuration/options_env.hpp"

#include <gtest/gtest.h>

#include <string>

namespace talus::core {
namespace {

OptionsResult parse(const std::string& value, Options& out) {
  const std::string variable = "TALUS_PROVIDER=" + value;
  const char* const envp[] = {variable.c_str(), nullptr};
  return parse_options(envp, out, nullptr);
}

TEST(OptionProvider, is_written_as_it_is_read) {
  const struct {
    const char* text;
    const char* value;
  } good[] = {{"os", "os"},
              {"OS", "os"},
              {"prealloc:64M", "prealloc:64MiB"},
              {"Prealloc:1GiB,fallback=1", "prealloc:1GiB,fallback=1"},
              {"prealloc:2M,fallback=0", "prealloc:2MiB"},
              {"file:/tmp", "file:/tmp"},
              {"file:relative/Path,grow=1", "file:relative/Path"},
              {"file:/tmp,size=100M,grow=0", "file:/tmp,size=100MiB,grow=0"},
              {"file:/tmp,grow=1,size=1T", "file:/tmp,size=1TiB"}};
  for (const auto& sample : good) {
    Options options;
    EXPECT_EQ(parse(sample.text, options).accepted, 1u);
    char text[option_text_bytes_max];
    format_option_value(options, option_rows[static_cast<size_t>(OptionId::provider)], text,
                        sizeof text);
    EXPECT_STREQ(text, sample.value);
  }
  const std::string long_path(300, 'a');
  for (const std::string text :
       {"", "disk", "os,grow=1", "file:", "file:,grow=1", "file:/tmp,", "file:/tmp,grow",
        "file:/tmp,grow=yes", "file:/tmp,grow=0", "file:/tmp,size=5", "file:/tmp,fallback=1",
        "prealloc:", "prealloc:all", "prealloc:1M,grow=1", "prealloc:1M,fallback=2",
        "prealloc:999999999999999999999999999999999999999"}) {
    Options options;
    EXPECT_EQ(parse(text, options).invalid, 1u) << text;
    EXPECT_EQ(options.provider.kind, ProviderKind::os) << text;
  }
  // The longest that is taken fits, with all that follows it, where any text fits.
  const std::string most = "file:/" + std::string(198, 'a') + ",size=123456789K,grow=0";
  Options longest, again;
  EXPECT_EQ(parse(most, longest).accepted, 1u);
  char text[option_text_bytes_max];
  format_option_value(longest, option_rows[static_cast<size_t>(OptionId::provider)], text,
                      sizeof text);
  EXPECT_EQ(parse(text, again).accepted, 1u);
  EXPECT_EQ(again.provider.bytes, longest.provider.bytes);
  EXPECT_FALSE(again.provider.grows);
  Options options;
  EXPECT_EQ(parse("file:/" + long_path, options).invalid, 1u);
}

}  // namespace
}  // namespace talus::core
