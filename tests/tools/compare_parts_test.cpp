// SPDX-License-Identifier: MIT
//
// Tests the parts of `talus compare` that need no program to run: the loader's cache, the
// arithmetic on samples, text that is no UTF-8, and the judgement of made-up samples.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "compare/judge.hpp"
#include "compare/loader_cache.hpp"
#include "compare/statistics.hpp"
#include "compare/strip_plot.hpp"
#include "compare/verdict.hpp"
#include "file_text.hpp"
#include "utf8.hpp"

namespace talus::tool {
namespace {

void put_number(std::string& bytes, std::size_t at, std::uint32_t number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

// A cache as ldconfig writes it, with one name and one path for each entry.
std::string cache_with(const std::vector<std::string>& paths) {
  std::string bytes = "glibc-ld.so.cache1.1" + std::string(28 + 24 * paths.size(), '\0');
  put_number(bytes, 20, static_cast<std::uint32_t>(paths.size()));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    put_number(bytes, 48 + 24 * i + 8, static_cast<std::uint32_t>(bytes.size()));
    bytes += paths[i] + '\0';
  }
  return bytes;
}

TEST(LoaderCache, TellsPathsInOrder) {
  const std::vector<std::string> paths{"/usr/lib/libb.so.2", "/lib/liba.so"};
  EXPECT_EQ(paths_in_cache(cache_with(paths)), paths);
  EXPECT_EQ(paths_in_cache("ld.so-1.7.0 and an old table" + cache_with(paths)), paths);
}

TEST(LoaderCache, DamageReadsAsAbsent) {
  const std::string whole = cache_with({"/usr/lib/libb.so.2", "/lib/liba.so"});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_LE(paths_in_cache(whole.substr(0, bytes)).size(), 1u) << bytes;
  std::string wild = whole;
  put_number(wild, 20, 0xffffffff);
  EXPECT_TRUE(paths_in_cache(wild).empty());
  wild = whole;
  put_number(wild, 48 + 8, 0xfffffff0);
  EXPECT_EQ(paths_in_cache(wild), std::vector<std::string>{"/lib/liba.so"});
}

TEST(FileText, AReadThatFailsReadsAsAbsent) {
  EXPECT_EQ(text_of_file("/no/such/file"), std::nullopt);
  EXPECT_EQ(text_of_file("/proc/self/mem"), std::nullopt) << "it opens, and page 0 is not there";
  EXPECT_NE(text_of_file("/proc/self/stat").value_or("").find("compare_parts"), std::string::npos);
}

TEST(Statistics, Quantiles) {
  EXPECT_DOUBLE_EQ(median({5}), 5);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(half_spread({1, 2, 3, 4, 100}), 1);
  EXPECT_DOUBLE_EQ(half_spread({7}), 0);
}

TEST(Statistics, IntervalHoldsTheRatioAndIsTheSameEachTime) {
  std::vector<std::pair<double, double>> rounds;
  for (int i = 0; i < 9; ++i) rounds.emplace_back(2.0 + 0.01 * (i % 3), 1.0 + 0.02 * (i % 2));
  const Interval interval = ratio_interval(rounds);
  EXPECT_LT(interval.low, interval.high);
  EXPECT_GT(interval.low, 1.9);
  EXPECT_LT(interval.high, 2.1);
  EXPECT_DOUBLE_EQ(interval.low, ratio_interval(rounds).low);
  EXPECT_DOUBLE_EQ(interval.high, ratio_interval(rounds).high);
}

TEST(Utf8, OnlyWhatIsNotIsReplaced) {
  EXPECT_EQ(as_utf8("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(as_utf8("\xff"
                    "a\xc3"),
            "\xef\xbf\xbd"
            "a\xef\xbf\xbd");
  EXPECT_EQ(utf8_length("\xc0\x80"), 0u);          // overlong
  EXPECT_EQ(utf8_length("\xed\xa0\x80"), 0u);      // surrogate
  EXPECT_EQ(utf8_length("\xf4\x90\x80\x80"), 0u);  // above the last
}

TEST(Printable, NothingSteersATerminal) {
  EXPECT_EQ(printable("a\x1b[2J\n\x7f"), "a?[2J??");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J \x9b"
                      "2J"),
            "?2J ?2J")
      << "one character that is Escape [";
  EXPECT_EQ(printable("\xc3\x9b \xe2\x82\xac \xf0\x9f\x98\x80 \xe4"),
            "\xc3\x9b \xe2\x82\xac \xf0\x9f\x98\x80 \xe4");
}

Contender contender_with(const std::string& name, const std::vector<double>& wall_s) {
  Contender contender;
  contender.allocator = {name, name == "libc" ? "" : "/lib/" + name, name == "talus", {}};
  contender.sighting.presence = name == "libc" ? Presence::not_needed : Presence::present;
  for (std::size_t i = 0; i < wall_s.size(); ++i) {
    Sample sample;
    sample.round = static_cast<int>(i) + 1;
    sample.end = {EndKind::exited, 0};
    sample.wall_s = wall_s[i];
    sample.peak_kib = 5000;
    contender.samples.push_back(sample);
  }
  return contender;
}

Comparison comparison_of(std::vector<Contender> contenders) {
  Comparison comparison;
  comparison.rounds = comparison.rounds_done = 5;
  comparison.contenders = std::move(contenders);
  return comparison;
}

TEST(Judge, AClearDifferenceIsShownAndNoiseIsNot) {
  const Judgement judgement =
      judge(comparison_of({contender_with("libc", {1.00, 1.01, 0.99, 1.02, 1.00}),
                           contender_with("quick", {0.50, 0.51, 0.49, 0.50, 0.52}),
                           contender_with("noisy", {0.70, 1.40, 0.98, 1.03, 0.80})}));
  EXPECT_TRUE(judgement.verdicts[1].figures[measure_wall].ratio.is_shown);
  EXPECT_NEAR(judgement.verdicts[1].figures[measure_wall].ratio.value, 0.5, 1e-9);
  EXPECT_FALSE(judgement.verdicts[2].figures[measure_wall].ratio.is_shown);
  EXPECT_TRUE(judgement.verdicts[1].figures[measure_wall].is_best);
  EXPECT_FALSE(judgement.verdicts[0].figures[measure_wall].is_best);
  EXPECT_FALSE(judgement.verdicts[0].figures[measure_peak].is_best) << "all are alike";
  EXPECT_EQ(judgement.ranking,
            "Of 3 allocators, quickest: quick; least memory: the first cannot be told from the "
            "next.");
  EXPECT_TRUE(judgement.failures.empty());
}

TEST(Judge, ARunThatCrashedIsAFindingAndNoFigure) {
  Comparison comparison = comparison_of(
      {contender_with("libc", {1, 1, 1, 1, 1}), contender_with("broken", {1, 0.01, 1, 1, 1})});
  comparison.contenders[1].samples[1].end = {EndKind::signalled, 11};
  const Judgement judgement = judge(comparison);
  EXPECT_EQ(judgement.verdicts[1].counted, 4u);
  EXPECT_DOUBLE_EQ(judgement.verdicts[1].figures[measure_wall].median, 1);
  ASSERT_EQ(judgement.failures.size(), 1u);
  EXPECT_EQ(judgement.failures[0].rfind("broken: 1 of 5 runs: signal 11", 0), 0u);
}

TEST(Judge, OneStarAtMost) {
  const Judgement judgement =
      judge(comparison_of({contender_with("libc", {1.00, 1.01, 0.99, 1.02, 1.00}),
                           contender_with("quick", {0.50, 0.51, 0.49, 0.50, 0.52}),
                           contender_with("alike", {0.51, 0.50, 0.52, 0.49, 0.50})}));
  for (const Verdict& verdict : judgement.verdicts)
    EXPECT_FALSE(verdict.figures[measure_wall].is_best) << "the two first are alike";
}

// Wall times, and processor times and peaks for all rounds.
Contender contender_of(const std::string& name, const std::vector<double>& wall_s, double cpu_s,
                       double peak_kib) {
  Contender contender = contender_with(name, wall_s);
  for (Sample& sample : contender.samples) {
    sample.cpu_s = cpu_s * (1 + 0.001 * sample.round);
    sample.peak_kib = peak_kib;
  }
  return contender;
}

const std::vector<double> calm{1.00, 1.01, 0.99, 1.00, 1.00};
const std::vector<double> noisy{1.00, 1.60, 0.99, 2.30, 1.20};

std::string verdict_with(const std::vector<double>& wall_s, double peak_kib) {
  return judge(comparison_of({contender_of("libc", calm, 1, 8000),
                              contender_of("quick", {0.1, 0.1, 0.1, 0.1, 0.1}, 0.1, 100),
                              contender_of("talus", wall_s, 1, peak_kib)}))
      .verdict;
}

TEST(Verdict, SaysWhatTheSamplesShow) {
  EXPECT_EQ(verdict_with({0.75, 0.76, 0.74, 0.75, 0.75}, 6000),
            "Talus is 1.33 times as fast as the C library and needs 0.75 of its memory; both "
            "differences are clear.");
  EXPECT_EQ(verdict_with({1.5, 1.51, 1.49, 1.5, 1.5}, 8000),
            "Talus takes 1.50 times as long as the C library; the difference is clear. By memory "
            "they cannot be told apart.");
  EXPECT_EQ(verdict_with(calm, 8040),
            "Talus needs 1.005 times the C library's memory; the difference is clear. By time they "
            "cannot be told apart.");
  EXPECT_EQ(verdict_with(calm, 8000),
            "Talus and the C library cannot be told apart, neither by time nor by memory.");
  EXPECT_EQ(verdict_with({0.5, 0.5, 0.5, 0.5}, 100),
            "Talus and the C library cannot be told apart by 4 rounds: at least 5 are needed.");
}

TEST(Verdict, ARunThatFailedIsSaid) {
  Comparison comparison =
      comparison_of({contender_of("libc", calm, 1, 8000), contender_of("talus", calm, 1, 8000)});
  for (Sample& sample : comparison.contenders[1].samples) sample.end = {EndKind::signalled, 11};
  EXPECT_EQ(judge(comparison).verdict,
            "Talus has no figures: none of its runs did what the program does under the C library. "
            "Not every run was good: see the failures.");
}

TEST(Judge, WhereWallTimeIsNoisyProcessorTimeDecides) {
  const auto judged = [](const std::vector<double>& wall_s, double cpu_s) {
    return judge(comparison_of(
        {contender_of("libc", noisy, 1, 8000), contender_of("talus", wall_s, cpu_s, 8000)}));
  };
  const Judgement judgement = judged({1.90, 0.80, 1.30, 0.75, 0.85}, 0.8);
  EXPECT_EQ(judgement.time.id, measure_cpu);
  EXPECT_EQ(judgement.verdict,
            "Talus needs 0.80 of the C library's processor time; the difference is clear. By "
            "memory they cannot be told apart.");
  EXPECT_TRUE(judgement.verdicts[1].figures[measure_cpu].is_best);
  EXPECT_FALSE(judgement.verdicts[1].figures[measure_wall].is_best);
  EXPECT_EQ(text_of_time(judgement.time).rfind("Processor time decides, since ", 0), 0u);
  EXPECT_EQ(judged({1.90, 0.80, 1.30, 0.75, 0.85}, 0).time.id, measure_wall) << "it only waited";

  const Judgement quiet = judge(
      comparison_of({contender_of("libc", calm, 1, 8000), contender_of("talus", calm, 0.8, 8000)}));
  EXPECT_EQ(quiet.time.id, measure_wall) << "it waited less, which its user does not notice";
  EXPECT_EQ(text_of_time(quiet.time).rfind("Wall time decides: ", 0), 0u);
}

TEST(Judge, ABusyMachineIsTold) {
  Comparison comparison = comparison_of(
      {contender_with("libc", {1, 1, 1, 1, 1}), contender_with("other", {1, 1, 1, 1, 1})});
  const auto has_note = [&] {
    for (const std::string& note : judge(comparison).notes)
      if (note.rfind("other work on this machine", 0) == 0) return true;
    return false;
  };
  for (Sample& sample : comparison.contenders[0].samples) sample.user_s = 0.4;
  EXPECT_FALSE(has_note()) << "it may have waited for a disk";
  for (Sample& sample : comparison.contenders[0].samples) sample.involuntary = 100;
  EXPECT_TRUE(has_note());
  for (Sample& sample : comparison.contenders[0].samples) sample.user_s = 0.95;
  EXPECT_FALSE(has_note());
}

TEST(Judge, WithoutAnyGoodRunThereIsNoFigure) {
  Comparison comparison =
      comparison_of({contender_with("libc", {1, 1}), contender_with("other", {1, 1})});
  for (Contender& contender : comparison.contenders)
    for (Sample& sample : contender.samples) sample.end = {EndKind::timed_out, 0};
  const Judgement judgement = judge(comparison);
  EXPECT_EQ(judgement.verdicts[0].counted, 0u);
  EXPECT_EQ(judgement.failures.size(), 1u) << "told once, blamed on none";
}

// What stands at the steps of the scale.
std::vector<std::string> labels_of(const std::string& drawing) {
  static constexpr char mark[] = "text-anchor=\"middle\">";
  std::vector<std::string> labels;
  std::size_t at = 0;
  while ((at = drawing.find(mark, at)) != std::string::npos) {
    at += sizeof mark - 1;
    labels.push_back(drawing.substr(at, drawing.find('<', at) - at));
  }
  return labels;
}

TEST(StripPlot, NoTwoStepsOfTheScaleHaveOneLabel) {
  for (const MeasureId id : {measure_wall, measure_peak}) {
    for (double value = 0.001; value < 1e7; value *= 1.7) {
      for (const double more : {1.0, 1.001, 1.02, 1.3, 9.0}) {
        const StripPlot plot{"", {{"libc", "", {{value, 1}, {value * more, 2}}, value}}};
        const std::vector<std::string> labels = labels_of(svg_of(plot, id));
        EXPECT_EQ(std::set<std::string>(labels.begin(), labels.end()).size(), labels.size())
            << value << " and " << value * more << ": " << labels.front();
      }
    }
    EXPECT_NE(labels_of(svg_of({"", {{"libc", "", {}, 0}}}, id)),
              std::vector<std::string>(2, "0.00 MiB"));
  }
}

TEST(StripPlot, ALongNameHasRoom) {
  const std::string name(60, 'm');
  const std::string drawing = svg_of({"", {{name, "", {{1, 1}}, 1}}}, measure_wall);
  static constexpr char mark[] = "min-width: ";
  const std::size_t at = drawing.find(mark);
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::stod(drawing.substr(at + sizeof mark - 1)), 60 * 7.5);
}

TEST(StripPlot, AScaleThatDoesNotBeginAtZeroSaysSo) {
  const auto drawing_of = [](double least) {
    return svg_of({"", {{"libc", "", {{least, 1}, {1.0, 2}}, 1}}}, measure_wall);
  };
  EXPECT_NE(drawing_of(0.9).find(">The scale begins at 900 ms, not at 0.<"), std::string::npos);
  EXPECT_EQ(drawing_of(0.1).find("not at 0"), std::string::npos);
  EXPECT_EQ(labels_of(drawing_of(0.1)).front(), "0.00 ms");
}

}  // namespace
}  // namespace talus::tool
