// SPDX-License-Identifier: MIT
//
// Owns: the tests of TALUS_FILL as text: every form, every kind of mistake, that what is printed
// reads back the same, and what MALLOC_PERTURB_ means.
#include "configuration/options_env.hpp"

#include <gtest/gtest.h>

#include <string>

namespace talus::core {
namespace {

OptionsResult parse(const std::string& value, Options& out) {
  const std::string variable = "TALUS_FILL=" + value;
  const char* const envp[] = {variable.c_str(), nullptr};
  return parse_options(envp, out, nullptr);
}

TEST(OptionFill, is_written_as_it_is_read) {
  const struct {
    const char* text;
    const char* value;
  } good[] = {{"none", "none"},
              {"NONE", "none"},
              {"junk", "junk"},
              {"Zero", "zero"},
              {"perturb", "perturb"},
              {"alloc=0xa5", "alloc=0xa5"},
              {"alloc=165,free=0X5A", "junk"},
              {"free=0,alloc=0", "zero"},
              {"alloc=0", "alloc=0x00"},
              {"FREE=255", "free=0xff"},
              {"free=7,alloc=0xFe", "alloc=0xfe,free=0x07"}};
  for (const auto& sample : good) {
    Options options, again;
    EXPECT_EQ(parse(sample.text, options).accepted, 1u) << sample.text;
    char text[option_text_bytes_max];
    format_option_value(options, option_rows[static_cast<size_t>(OptionId::fill)], text,
                        sizeof text);
    EXPECT_STREQ(text, sample.value);
    EXPECT_EQ(parse(text, again).accepted, 1u);
    EXPECT_TRUE(is_same_fill(options.fill, again.fill)) << text;
  }
  for (const std::string text :
       {"", "junky", "alloc", "alloc=", "alloc=256", "alloc=0x100", "alloc=-1", "alloc=0x",
        "free=g", "free=1,", ",free=1", "free=1,free=2", "alloc=1;free=2", "junk,free=1",
        "free=1,none", "alloc= 1", "alloc=99999999999999999999999"}) {
    Options options;
    EXPECT_EQ(parse(text, options).invalid, 1u) << text;
    EXPECT_EQ(options.fill.kind, FillKind::none) << text;
  }
}

TEST(OptionFill, of_malloc_perturb_is_glibcs) {
  const char* const absent = nullptr;
  for (const char* text : {"0", "", "x", "1x", "99999999999999", absent}) {
    const FillChoice choice = fill_of_perturb(text);
    EXPECT_FALSE(choice.on_allocate.is_on || choice.on_free.is_on);
  }
  const struct {
    const char* text;
    int on_allocate, on_free;
  } good[] = {{"165", 0x5a, 0xa5}, {"0xa5", 0x5a, 0xa5}, {"1", 0xfe, 1}, {"256", 0xff, 0}};
  for (const auto& sample : good) {
    const FillChoice choice = fill_of_perturb(sample.text);
    EXPECT_TRUE(choice.on_allocate.is_on && choice.on_free.is_on);
    EXPECT_EQ(choice.on_allocate.byte, sample.on_allocate);
    EXPECT_EQ(choice.on_free.byte, sample.on_free);
  }
}

}  // namespace
}  // namespace talus::core
