// SPDX-License-Identifier: MIT
//
// Owns: the tests of what is said about numbers in other spellings than ours.
// Invariant: what is suggested is accepted.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "configuration/options_env.hpp"

namespace talus::core {
namespace {

std::vector<std::string> lines;
void gather(const char* line) { lines.emplace_back(line); }

OptionsResult parse(const std::string& setting, Options& out) {
  const std::string variable = "TALUS_" + setting;
  const char* const envp[] = {variable.c_str(), nullptr};
  lines.clear();
  return parse_options(envp, out, gather);
}

TEST(OptionSpelling, of_others_is_answered_with_ours) {
  const struct {
    const char* variable;
    const char* meant;  // empty: no guess
  } samples[] = {
      {"RETAIN_BYTES=1GB", "1GiB"},
      {"RETAIN_BYTES=1 GB", "1GiB"},
      {"RETAIN_BYTES=512mb", "512MiB"},
      {"RETAIN_BYTES= 64kb ", "64KiB"},
      {"RETAIN_BYTES=64 K", "64KiB"},
      {"RETAIN_BYTES=64Ki", "64KiB"},
      {"RETAIN_BYTES=1.5G", "1536MiB"},
      {"RETAIN_BYTES=0.5 TB", "512GiB"},
      {"RETAIN_BYTES=2 Mbytes", "2MiB"},
      {"RETAIN_BYTES=100 bytes", "100"},
      {"LIMIT_SOFT=2gb", "2GiB"},
      {"DECAY_MS=5sec", "5s"},
      {"DECAY_MS=0.25s", "250ms"},
      {"DECAY_MS=2min", "120s"},
      {"HEAPS= 3", "3"},
      {"RETAIN_BYTES=GB", ""},
      {"RETAIN_BYTES=-1GB", ""},
      {"RETAIN_BYTES=1XB", ""},
      {"RETAIN_BYTES=0.1G", ""},
      {"RETAIN_BYTES=1GBs", ""},
      {"RETAIN_BYTES=1000TB", ""},
      {"RETAIN_BYTES=99999999999999999999GB", ""},
      {"RETAIN_BYTES=1s", ""},
      {"RETAIN_BYTES=1.12345678G", ""},
      {"DECAY_MS=2h", ""},
      {"HEAPS=3K", ""},
      {"HEAPS=1GB", ""},
      {"DECAY_MS=1GB", ""},
      {"RETAIN_BYTES=1GB and some more words", ""},
  };
  for (const auto& sample : samples) {
    Options options;
    EXPECT_EQ(parse(sample.variable, options).invalid, 1u) << sample.variable;
    ASSERT_EQ(lines.size(), 1u) << sample.variable;
    const std::string meant = sample.meant;
    const std::string answer = meant.empty()
                                   ? " is not understood; allowed: "
                                   : " is not understood; did you mean " + meant + "? Allowed: ";
    EXPECT_NE(lines[0].find(sample.variable + answer), std::string::npos) << lines[0];
    if (meant.empty()) continue;
    const std::string name(sample.variable, std::strchr(sample.variable, '='));
    EXPECT_EQ(parse(name + "=" + meant, options).accepted, 1u) << meant;
  }
}

TEST(OptionSpelling, of_a_providers_size_is_answered_too) {
  const struct {
    const char* value;
    const char* meant;  // empty: no guess
  } samples[] = {
      {"prealloc:1GB", "1GiB"},
      {"prealloc:1 GB,fallback=1", "1GiB"},
      {"file:/tmp,size=512mb", "512MiB"},
      {"file:/tmp,grow=1,size=2 G", "2GiB"},
      {"prealloc:1G,fallback=2", ""},
      {"file:/1GB", ""},
      {"file:/tmp,size=", ""},
      {"prealloc:", ""},
      {"1GB", ""},
      {"prealloc:1KB", ""},
  };
  for (const auto& sample : samples) {
    Options options;
    parse(std::string("PROVIDER=") + sample.value, options);
    const std::string meant = sample.meant;
    const std::string answer = "did you mean " + meant + "? Allowed: ";
    const std::string said = lines.empty() ? "" : lines[0];
    EXPECT_EQ(said.find(meant.empty() ? "did you mean" : answer) != std::string::npos,
              !meant.empty())
        << sample.value << ": " << said;
  }
}

}  // namespace
}  // namespace talus::core
