// SPDX-License-Identifier: MIT
//
// Owns: the tests of the option table and of its parser: every type, every suffix, both ends of
// every range, every kind of mistake and the exact line it produces.
// Invariant: nothing here repeats the table; rows are named only where their own value is tested.

#include "configuration/options_env.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace talus::core {
namespace {

std::vector<std::string> lines;
void gather(const char* line) { lines.emplace_back(line); }

OptionsResult parse(std::initializer_list<std::string> variables, Options& out) {
  std::vector<const char*> envp;
  for (const std::string& variable : variables) envp.push_back(variable.c_str());
  envp.push_back(nullptr);
  lines.clear();
  return parse_options(envp.data(), out, gather);
}

std::string value_of(const Options& options, const OptionRow& row) {
  char buffer[option_text_bytes_max];
  const std::size_t length = format_option_value(options, row, buffer, sizeof buffer);
  EXPECT_EQ(length, std::strlen(buffer));
  return buffer;
}

const OptionRow& row_of(OptionId id) { return option_rows[static_cast<std::size_t>(id)]; }

bool is_equal(const Options& left, const Options& right) {
  for (const OptionRow& row : option_rows) {
    if (value_of(left, row) != value_of(right, row)) return false;
  }
  return true;
}

TEST(OptionTable, defaults_are_the_documented_ones) {
  const Options options;
  EXPECT_STREQ(options.print_stats.bytes, "");
  EXPECT_EQ(options.print_stats_format, StatsFormat::text);
  EXPECT_EQ(options.print_stats_trigger, 1u);
  EXPECT_EQ(options.print_stats_ms, 10000u);
  EXPECT_EQ(options.print_stats_bytes, 1u << 30);
  EXPECT_EQ(options.preset, Preset::usual);
  EXPECT_STREQ(options.config.bytes, "");
  EXPECT_EQ(options.list_bytes, 16u << 10);
  EXPECT_EQ(options.decay_ms, 1000u);
  EXPECT_EQ(options.retain_bytes, 64u << 20);
  EXPECT_EQ(options.arena_bytes, 4u << 20);
  EXPECT_EQ(options.on_foreign_free, ForeignFree::abort);
  EXPECT_FALSE(options.verbose);
  EXPECT_TRUE(options.helper);
  EXPECT_EQ(options.limit_soft.kind, AmountKind::unset);
  EXPECT_EQ(options.limit_hard.kind, AmountKind::unset);
  EXPECT_EQ(options.thp, HugePages::adaptive);
  EXPECT_FALSE(options.pressure);
}

TEST(OptionTable, rows_describe_the_defaults) {
  const Options options;
  for (const OptionRow& row : option_rows) {
    Options other;
    const std::string value = value_of(options, row);
    EXPECT_EQ(set_option(other, row, value.c_str()), OptionParse::accepted) << row.name;
    EXPECT_TRUE(is_equal(options, other)) << row.name;
    EXPECT_NE(row.help[0], '\0') << row.name;
    EXPECT_NE(row.help[std::strlen(row.help) - 1], '.') << row.name;
  }
}

TEST(OptionTable, names_are_lower_case_and_unique) {
  for (const OptionRow& row : option_rows) {
    for (const char* letter = row.name; *letter != '\0'; ++letter) {
      EXPECT_TRUE((*letter >= 'a' && *letter <= 'z') || *letter == '_') << row.name;
    }
    char upper[64];
    OptionLine line(upper, sizeof upper);
    add_option_env_name(line, row);
    ASSERT_EQ(std::string(upper).rfind("TALUS_", 0), 0u);
    EXPECT_EQ(find_option_env(upper + 6, std::strlen(upper) - 6), &row);
  }
}

TEST(OptionNumber, both_ends_of_every_range_round_trip_and_beyond_is_refused) {
  for (const OptionRow& row : option_rows) {
    if (row.kind != OptionKind::number && row.kind != OptionKind::amount) continue;
    Options options;
    for (const std::uint64_t value : {row.min, row.max, row.min + 1, row.max - 1}) {
      ASSERT_EQ(set_option(options, row, std::to_string(value).c_str()), OptionParse::accepted);
      Options again;
      ASSERT_EQ(set_option(again, row, value_of(options, row).c_str()), OptionParse::accepted);
      EXPECT_TRUE(is_equal(options, again)) << row.name << ' ' << value;
    }
    const std::string before = value_of(options, row);
    EXPECT_EQ(set_option(options, row, std::to_string(row.max + 1).c_str()),
              OptionParse::out_of_range);
    if (row.min != 0) {
      EXPECT_EQ(set_option(options, row, std::to_string(row.min - 1).c_str()),
                OptionParse::out_of_range);
    }
    EXPECT_EQ(value_of(options, row), before);
  }
}

TEST(OptionNumber, suffixes_multiply_in_the_unit_of_the_row_only) {
  Options options;
  const struct {
    const char* text;
    std::uint64_t value;
  } bytes[] = {{"8M", 8u << 20}, {"8MiB", 8u << 20},    {"8mib", 8u << 20}, {"2048K", 2u << 20},
               {"1G", 1u << 30}, {"2048KiB", 2u << 20}, {"1GiB", 1u << 30}, {"1048576", 1u << 20}};
  for (const auto& sample : bytes) {
    EXPECT_EQ(parse({std::string("TALUS_ARENA_BYTES=") + sample.text}, options).accepted, 1u);
    EXPECT_EQ(options.arena_bytes, sample.value) << sample.text;
  }
  EXPECT_EQ(parse({"TALUS_RETAIN_BYTES=2T"}, options).accepted, 1u);
  EXPECT_EQ(options.retain_bytes, std::uint64_t{2} << 40);
  EXPECT_EQ(parse({"TALUS_DECAY_MS=3s"}, options).accepted, 1u);
  EXPECT_EQ(options.decay_ms, 3000u);
  EXPECT_EQ(parse({"TALUS_DECAY_MS=250ms"}, options).accepted, 1u);
  EXPECT_EQ(options.decay_ms, 250u);
  EXPECT_EQ(parse({"TALUS_DECAY_MS=1K"}, options).invalid, 1u);
  EXPECT_EQ(parse({"TALUS_ARENA_BYTES=4s"}, options).invalid, 1u);
  EXPECT_EQ(parse({"TALUS_PRINT_STATS_TRIGGER=1K"}, options).invalid, 1u);
}

TEST(OptionNumber, what_is_no_number_is_refused_and_changes_nothing) {
  const Options defaults;
  for (const char* text : {"", " ", " 5", "5 ", "-1", "+1", "0x10", "1.5", "ms", "1e3", "5%", "1 s",
                           "18446744073709551616", "18446744073709552616",
                           "99999999999999999999999999999999999", "18446744073709551615s"}) {
    Options options;
    EXPECT_EQ(parse({std::string("TALUS_DECAY_MS=") + text}, options).invalid, 1u) << text;
    EXPECT_EQ(lines.size(), 1u) << text;
    EXPECT_TRUE(is_equal(options, defaults)) << text;
  }
}

TEST(OptionNumber, a_product_that_wraps_into_the_range_is_out_of_range) {
  Options options;
  const OptionRow& row = row_of(OptionId::arena_bytes);
  // 2^34 + 1 times 2^30 is 2^64 + 2^30, which would wrap to 1 GiB, the end of the range.
  EXPECT_EQ(set_option(options, row, "17179869185GiB"), OptionParse::out_of_range);
  EXPECT_EQ(options.arena_bytes, 4u << 20);
}

TEST(OptionAmount, bytes_and_percentages_and_nothing) {
  Options options;
  const OptionRow& row = row_of(OptionId::limit_soft);
  const struct {
    const char* text;
    OptionAmount amount;
    const char* shown;
  } samples[] = {{"64M", {64u << 20, AmountKind::bytes}, "64MiB"},
                 {"0", {0, AmountKind::bytes}, "0"},
                 {"80%", {80, AmountKind::percent}, "80%"},
                 {"1%", {1, AmountKind::percent}, "1%"},
                 {"0100%", {100, AmountKind::percent}, "100%"},
                 {"5000", {5000, AmountKind::bytes}, "5000"},
                 {"", {0, AmountKind::unset}, ""}};
  for (const auto& sample : samples) {
    EXPECT_EQ(parse({std::string("TALUS_LIMIT_SOFT=") + sample.text}, options).accepted, 1u);
    EXPECT_EQ(options.limit_soft.value, sample.amount.value) << sample.text;
    EXPECT_EQ(options.limit_soft.kind, sample.amount.kind) << sample.text;
    EXPECT_EQ(value_of(options, row), sample.shown);
  }
}

TEST(OptionAmount, what_is_none_is_refused_and_changes_nothing) {
  for (const char* text : {"%", "80 %", "80%%", "%80", "8.5%", "-1%", "80M%", "80%M", "M", " ",
                           "80p", "0%", "101%", "18446744073709551617%", "129T"}) {
    Options options;
    options.limit_hard = {7, AmountKind::percent};
    EXPECT_EQ(parse({std::string("TALUS_LIMIT_HARD=") + text}, options).invalid, 1u) << text;
    EXPECT_EQ(value_of(options, row_of(OptionId::limit_hard)), "7%") << text;
  }
  for (const char* text : {"0%", "101%", "18446744073709551617%"}) {
    Options options;
    EXPECT_EQ(set_option(options, row_of(OptionId::limit_hard), text), OptionParse::out_of_range);
  }
}

TEST(OptionAmount, a_refusal_tells_all_forms) {
  Options options;
  parse({"TALUS_LIMIT_SOFT=80p"}, options);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "talus: TALUS_LIMIT_SOFT=80p is not understood; allowed: 0 to 128TiB, 1% to 100%, "
            "or empty; keeping (empty)");
}

TEST(OptionBoolean, all_eight_words_in_any_case) {
  for (const char* yes : {"1", "true", "on", "yes", "TRUE", "On"}) {
    Options options;
    EXPECT_EQ(parse({std::string("TALUS_VERBOSE=") + yes}, options).accepted, 1u);
    EXPECT_TRUE(options.verbose) << yes;
  }
  for (const char* no : {"0", "false", "off", "no", "OFF", "No"}) {
    Options options;
    options.verbose = true;
    EXPECT_EQ(parse({std::string("TALUS_VERBOSE=") + no}, options).accepted, 1u);
    EXPECT_FALSE(options.verbose) << no;
  }
  for (const char* other : {"", "2", "y", "tru", "truee", "0|1", "|"}) {
    Options options;
    EXPECT_EQ(parse({std::string("TALUS_VERBOSE=") + other}, options).invalid, 1u) << other;
  }
}

TEST(OptionWords, each_word_and_nothing_else) {
  Options options;
  EXPECT_EQ(parse({"TALUS_ON_FOREIGN_FREE=ignore"}, options).accepted, 1u);
  EXPECT_EQ(options.on_foreign_free, ForeignFree::ignore);
  EXPECT_EQ(value_of(options, row_of(OptionId::on_foreign_free)), "ignore");
  EXPECT_EQ(parse({"TALUS_ON_FOREIGN_FREE=Abort"}, options).accepted, 1u);
  EXPECT_EQ(options.on_foreign_free, ForeignFree::abort);
  for (const char* other : {"", "abor", "abortt", "abort|ignore", "|", "1"}) {
    EXPECT_EQ(parse({std::string("TALUS_ON_FOREIGN_FREE=") + other}, options).invalid, 1u);
  }
}

TEST(OptionWords, stand_in_the_order_of_their_values) {
  Options options;
  const struct {
    const char* word;
    HugePages value;
  } samples[] = {{"never", HugePages::never},
                 {"adaptive", HugePages::adaptive},
                 {"always", HugePages::always}};
  for (const auto& sample : samples) {
    EXPECT_EQ(parse({std::string("TALUS_THP=") + sample.word}, options).accepted, 1u);
    EXPECT_EQ(options.thp, sample.value);
    EXPECT_EQ(value_of(options, row_of(OptionId::thp)), sample.word);
  }
}

TEST(OptionText, copied_whole_or_refused) {
  Options options;
  const std::string longest(option_text_bytes_max - 1, 'x');
  EXPECT_EQ(parse({"TALUS_PRINT_STATS=" + longest}, options).accepted, 1u);
  EXPECT_EQ(options.print_stats.bytes, longest);
  EXPECT_EQ(parse({"TALUS_PRINT_STATS=" + longest + "y"}, options).invalid, 1u);
  EXPECT_EQ(options.print_stats.bytes, longest);
  EXPECT_EQ(parse({"TALUS_PRINT_STATS=/tmp/a=b %p"}, options).accepted, 1u);
  EXPECT_STREQ(options.print_stats.bytes, "/tmp/a=b %p");
  EXPECT_EQ(parse({"TALUS_PRINT_STATS="}, options).accepted, 1u);
  EXPECT_STREQ(options.print_stats.bytes, "");
}

TEST(OptionWarning, unknown_name_tells_the_nearest) {
  Options options;
  const OptionsResult result = parse({"TALUS_DECAY_MSS=5", "TALUS_FOO=1"}, options);
  EXPECT_EQ(result.unknown, 2u);
  EXPECT_EQ(result.accepted + result.invalid, 0u);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "talus: unknown option TALUS_DECAY_MSS; did you mean TALUS_DECAY_MS?");
  EXPECT_EQ(lines[1].rfind("talus: unknown option TALUS_FOO; the nearest is TALUS_", 0), 0u);
  EXPECT_NE(lines[1].find("`talus options`"), std::string::npos);
}

TEST(OptionWarning, slips_of_every_row_lead_back_to_it) {
  for (const OptionRow& row : option_rows) {
    const std::string name = row.name.text();
    std::string swapped = name;
    std::swap(swapped[1], swapped[2]);
    for (const std::string& slip : {name + "x", name.substr(1), swapped, "x" + name}) {
      const OptionGuess guess = nearest_option(slip.data(), slip.size());
      EXPECT_EQ(guess.row, &row) << slip;
      EXPECT_TRUE(guess.close) << slip;
    }
  }
}

TEST(OptionWarning, swapped_neighbours_are_one_step) {
  EXPECT_EQ(option_distance("vrebose", 7, "verbose"), 1u);
  EXPECT_EQ(option_distance("verbose", 7, "verbose"), 0u);
  EXPECT_EQ(option_distance("", 0, "verbose"), 7u);
  EXPECT_EQ(option_distance("VERBOSE", 7, "verbose"), 0u);
}

TEST(OptionWarning, refused_value_tells_range_and_what_is_kept) {
  Options options;
  parse({"TALUS_DECAY_MS=1d"}, options);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "talus: TALUS_DECAY_MS=1d is not understood; allowed: 0 to 3600s; "
            "keeping 1s");
  parse({"TALUS_ARENA_BYTES=1"}, options);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "talus: TALUS_ARENA_BYTES=1 is out of range; allowed: 1MiB to 1GiB; "
            "keeping 4MiB");
  parse({"TALUS_ON_FOREIGN_FREE=die"}, options);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "talus: TALUS_ON_FOREIGN_FREE=die is not understood; allowed: abort|ignore; "
            "keeping abort");
}

TEST(OptionWarning, foreign_text_cannot_steer_the_terminal_and_is_cut) {
  Options options;
  parse({"TALUS_VERBOSE=\x1b[2J\n\x07", "TALUS_" + std::string(5000, 'Z') + "=1"}, options);
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string& line : lines) {
    EXPECT_LT(line.size(), option_warning_bytes_max - 1);
    for (const char letter : line) EXPECT_TRUE(letter >= ' ' && letter <= '~');
  }
  EXPECT_NE(lines[1].find("ZZZ...; "), std::string::npos);
}

TEST(OptionEnvironment, only_our_names_are_looked_at) {
  Options options;
  const OptionsResult result = parse(
      {"PATH=/bin", "TALUS=1", "XTALUS_VERBOSE=1", "talus_verbose=1", "TALUS_BENCH_ROUNDS=x",
       "TALUS_TEST_SAY=1", "TALUS_BENCH_=", "TALUS_VERBOSE", "", "=", "TALUS_TEST_DECAY_MS=9"},
      options);
  EXPECT_EQ(result.accepted + result.unknown + result.invalid, 0u);
  EXPECT_TRUE(lines.empty());
  EXPECT_FALSE(options.verbose);
  EXPECT_EQ(parse({"TALUS_TESTS=1", "TALUS_=1", "TALUS_verbose=1"}, options).unknown, 3u);
}

TEST(OptionEnvironment, first_of_a_name_counts_as_for_getenv) {
  Options options;
  const OptionsResult result = parse({"TALUS_DECAY_MS=5", "TALUS_DECAY_MS=7"}, options);
  EXPECT_EQ(result.accepted, 1u);
  EXPECT_EQ(options.decay_ms, 5u);
}

TEST(OptionEnvironment, no_environment_and_no_sink_are_fine) {
  Options options;
  EXPECT_EQ(parse_options(nullptr, options, gather).accepted, 0u);
  const char* const envp[] = {"TALUS_VERBOSE=maybe", "TALUS_VERBOS=1", nullptr};
  const OptionsResult result = parse_options(envp, options, nullptr);
  EXPECT_EQ(result.invalid, 1u);
  EXPECT_EQ(result.unknown, 1u);
}

TEST(OptionFormat, is_cut_to_the_buffer_and_always_ends) {
  Options options;
  parse({"TALUS_PRINT_STATS=abcdef"}, options);
  char buffer[8] = "zzzzzzz";
  EXPECT_EQ(format_option_value(options, row_of(OptionId::print_stats), buffer, 4), 3u);
  EXPECT_STREQ(buffer, "abc");
  EXPECT_EQ(buffer[4], 'z');
  EXPECT_EQ(format_option_value(options, row_of(OptionId::print_stats), buffer, 1), 0u);
  EXPECT_STREQ(buffer, "");
  EXPECT_EQ(format_option_value(options, row_of(OptionId::print_stats), nullptr, 0), 0u);
}

TEST(OptionEnvironment, random_words_never_break_the_rows) {
  std::mt19937 random(20240501);
  const std::string letters = "TALUS_DECAYMSVERBOtrue=019KMGiBs|%\x01\xff ";
  for (int round = 0; round < 20000; ++round) {
    std::string variable = "TALUS_";
    if (round % 2 == 0) {
      const OptionRow& row = option_rows[random() % option_count];
      for (const char* letter = row.name; *letter != '\0'; ++letter) {
        variable += option_upper(*letter);
      }
      variable += '=';
    }
    for (std::size_t i = random() % 40; i != 0; --i) variable += letters[random() % letters.size()];
    Options options;
    const OptionsResult result = parse({variable}, options);
    ASSERT_LE(result.accepted + result.unknown + result.invalid, 1u) << variable;
    ASSERT_EQ(lines.size(), result.unknown + result.invalid) << variable;
    for (const OptionRow& row : option_rows) {
      Options again;
      ASSERT_EQ(set_option(again, row, value_of(options, row).c_str()), OptionParse::accepted);
    }
  }
}

}  // namespace
}  // namespace talus::core
