// SPDX-License-Identifier: MIT
// tests/unit/configuration/option_lines: how files and the program's own text are written, and what
// is said about what cannot be understood.
#include "made_up_process.hpp"

namespace talus::core {
namespace {

using test::Configured;
using test::Surroundings;
using test::warnings;
class OptionLinesTest : public test::MadeUpProcess {};

TEST_F(OptionLinesTest, LinesMayBeWrittenInManyWays) {
  Surroundings found;
  found.system_file =
      "# comment\r\n\n  TALUS_Decay_ms\t=  5s   # five\r\n"
      "print_stats = /tmp/a#b\nretain_bytes=1M#2\n[ tool ]\nthp=NEVER";
  const Configured done = configured(found);
  EXPECT_EQ(done.source(OptionId::decay_ms), "/etc/talus.conf:3");
  EXPECT_EQ(done.value(OptionId::decay_ms), "5s");
  EXPECT_EQ(done.value(OptionId::print_stats), "/tmp/a#b") << "no blank before it";
  EXPECT_EQ(done.value(OptionId::thp), "never") << "a last line without an end";
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0],
            "talus: /etc/talus.conf:5: retain_bytes=1M#2 is not understood; allowed: 0 to 128TiB; "
            "keeping 64MiB");
}

TEST_F(OptionLinesTest, SectionsAreForProgramsByTheirNames) {
  const char* const ours[] = {"tool", "tool-1.2", "tool-*", "to*"};
  const char* const others[] = {"too", "tools", "Tool", "tool-1", "usr", "bin/tool", "*tool"};
  for (const char* name : ours) {
    Surroundings found;
    found.user_file = std::string("[") + name + "]\nheaps=3\n[other]\nheaps=4\n";
    EXPECT_EQ(configured(found).value(OptionId::heaps), "3") << name;
  }
  for (const char* name : others) {
    Surroundings found;
    found.user_file = std::string("[") + name + "]\nheaps=3\nnonsense\n[*]\ndecay_ms=5s\n";
    const Configured done = configured(found);
    EXPECT_EQ(done.value(OptionId::heaps), "0") << name;
    EXPECT_EQ(done.value(OptionId::decay_ms), "5s") << name;
  }
  EXPECT_TRUE(warnings.empty()) << "what others' sections say is theirs";
}

TEST_F(OptionLinesTest, EachBadLineIsOneWarningThatNamesItsPlace) {
  Surroundings found;
  found.user_file =
      "decayms=1\njust words\n= 5\n[tool\nheaps=9\n[]\n[*]\nconfig=/x\nheaps=1000000\n";
  found.program = "heaps=2; heapz=1";
  const Configured done = configured(found);
  const std::vector<std::string> expected = {
      "talus: talus_options: unknown option heapz; did you mean heaps?",
      "talus: ~/.config/talus.conf:1: unknown option decayms; did you mean decay_ms?",
      "talus: ~/.config/talus.conf:2: not understood: just words; an option is written "
      "name = value",
      "talus: ~/.config/talus.conf:3: not understood: = 5; an option is written name = value",
      "talus: ~/.config/talus.conf:4: a section is written [program], or [*] for all programs",
      "talus: ~/.config/talus.conf:6: a section is written [program], or [*] for all programs",
      "talus: ~/.config/talus.conf:8: config counts in the environment only",
      "talus: ~/.config/talus.conf:9: heaps=1000000 is out of range; allowed: 0 to 1023; "
      "keeping 2"};
  EXPECT_EQ(warnings, expected);
  EXPECT_EQ(done.value(OptionId::heaps), "2");
}

TEST_F(OptionLinesTest, TheProgramsOwnTextHasNoSections) {
  Surroundings found;
  found.program = "thp=never; [tool]; heaps=3 # four; [*]; decay_ms=5s # six; pressure=1";
  const Configured done = configured(found);
  EXPECT_EQ(done.value(OptionId::thp), "never");
  EXPECT_EQ(done.value(OptionId::heaps), "0");
  EXPECT_EQ(done.value(OptionId::decay_ms), "5s");
  EXPECT_EQ(done.value(OptionId::pressure), "1") << "a comment ends with its part";
  EXPECT_EQ(warnings, std::vector<std::string>{"talus: talus_options: sections of programs are for "
                                               "files"});
}

TEST_F(OptionLinesTest, ASectionMayEndWhereItBegins) {
  Surroundings found;
  found.program = "[";
  found.user_file = "[\n[ ]\n]\n[";
  configured(found);
  EXPECT_EQ(warnings.size(), 4u) << "the lone ] is in no section for this program";
}

TEST_F(OptionLinesTest, AFileOfMistakesIsGivenUp) {
  Surroundings found;
  for (int i = 0; i < 1000; i++) found.system_file += "nonsense\n";
  found.system_file += "heaps=3\n";
  EXPECT_EQ(configured(found).value(OptionId::heaps), "0");
  EXPECT_EQ(warnings.size(), line_warnings_max);
  EXPECT_NE(warnings.back().find("the rest is not read"), std::string::npos);
}

TEST_F(OptionLinesTest, LongLinesAndLongFilesAreCutWithAWord) {
  Surroundings found;
  found.system_file = "heaps=3\nprint_stats=" + std::string(5000, 'x') + "\nthp=never\n";
  Configured done = configured(found);
  EXPECT_EQ(done.value(OptionId::heaps), "3");
  EXPECT_EQ(done.value(OptionId::print_stats), "");
  EXPECT_EQ(done.source(OptionId::thp), "/etc/talus.conf:3");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "talus: /etc/talus.conf:2: the line is too long");

  found.system_file = "heaps=3\n";
  while (found.system_file.size() < 3 * option_file_bytes_max) found.system_file += "# long\n";
  found.system_file += "thp=never\n";
  warnings.clear();
  done = configured(found);
  EXPECT_EQ(done.value(OptionId::heaps), "3");
  EXPECT_EQ(done.value(OptionId::thp), "adaptive");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("the file is too long"), std::string::npos);
}

TEST_F(OptionLinesTest, LinesAcrossTheBoundsOfReadsAreWhole) {
  for (std::size_t before = 900; before < 1030; before++) {
    Surroundings found;
    found.system_file = std::string(before, '#') + "\nheaps=3\ndecay_ms=5s\n";
    const Configured done = configured(found);
    ASSERT_EQ(warnings.size(), before <= 1023 ? 0u : 1u) << before;
    warnings.clear();
    ASSERT_EQ(done.source(OptionId::heaps), "/etc/talus.conf:2") << before;
    ASSERT_EQ(done.source(OptionId::decay_ms), "/etc/talus.conf:3") << before;
  }
}

TEST_F(OptionLinesTest, BytesThatAreNoTextAreRefused) {
  Surroundings found;
  found.system_file = std::string("heaps=3\0x\n\0\xff\x01\nthp=never\n", 24);
  const Configured done = configured(found);
  EXPECT_EQ(done.value(OptionId::heaps), "0");
  EXPECT_EQ(done.value(OptionId::thp), "never");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[1].find("not understood: ???"), std::string::npos) << warnings[1];
}

TEST_F(OptionLinesTest, RandomFilesNeverBreakTheOptions) {
  unsigned state = 12345;
  const auto next = [&state] { return (state = state * 1103515245u + 12345u) >> 16; };
  const std::string letters = "[]*=#; \n\r\tpresetdecay_mstinyfast0179MK\x01\xff%";
  for (int round = 0; round < 3000; round++) {
    Surroundings found;
    for (unsigned i = next() % 200; i != 0; i--) {
      found.system_file += letters[next() % letters.size()];
      if (next() % 50 == 0) found.system_file += "\npreset=small\n";
      if (next() % 50 == 0) found.system_file += "\ndecay_ms=";
    }
    found.program = found.system_file;
    const Configured done = configured(found);
    for (const OptionRow& row : option_rows) {
      Options again;
      ASSERT_EQ(set_option(again, row, done.value(row.id).c_str()), OptionParse::accepted);
    }
  }
}

}  // namespace
}  // namespace talus::core
