// SPDX-License-Identifier: MIT
// tests/unit/process/configuration: which place wins, for every pair of places; presets; the format
// of files; files that are left out. Each process is made up: a folder stands for the root.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "process/configuration.hpp"

namespace talus {
namespace {

std::vector<std::string> warnings;
void gather(const char* line) { warnings.emplace_back(line); }

// What a made-up process finds.
struct Surroundings {
  std::string program, system_file, user_file, xdg_file, named_file;
  std::vector<std::string> environment;
};

struct Configured {
  Options values;
  OptionOrigins origins;
  ConfigurationResult files;

  std::string value(OptionId id) const {
    char text[option_text_bytes_max];
    format_option_value(values, option_row_of(id), text, sizeof text);
    return text;
  }
  std::string source(OptionId id) const {
    char text[2 * option_text_bytes_max];
    OptionLine line(text, sizeof text);
    add_option_origin(line, origins[id], values);
    return text;
  }
};

class ConfigurationTest : public testing::Test {
 protected:
  ConfigurationTest() {
    char name[] = "/tmp/talus-configuration-XXXXXX";
    root_ = mkdtemp(name);
    for (const char* folder : {"/etc", "/home/.config", "/xdg"}) {
      std::filesystem::create_directories(root_ + folder);
    }
    facts_.root = root_.c_str();
    facts_.user_id = geteuid();
    facts_.called_as = "/usr/bin/tool";
    facts_.file = "/usr/lib/tool-1.2";
    warnings.clear();
  }
  ~ConfigurationTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    if (!text.empty()) std::ofstream(root_ + path) << text;
  }
  Configured configured(const Surroundings& found) {
    std::filesystem::remove(root_ + "/etc/talus.conf");
    std::filesystem::remove(root_ + "/home/.config/talus.conf");
    write("/etc/talus.conf", found.system_file);
    write("/home/.config/talus.conf", found.user_file);
    write("/xdg/talus.conf", found.xdg_file);
    write("/named", found.named_file);
    std::vector<std::string> environment = found.environment;
    if (!found.user_file.empty()) environment.push_back("HOME=/home");
    if (!found.xdg_file.empty()) environment.push_back("XDG_CONFIG_HOME=/xdg");
    if (!found.named_file.empty()) environment.push_back("TALUS_CONFIG=/named");
    return configured_in(environment, found.program);
  }
  Configured configured_in(const std::vector<std::string>& environment,
                           const std::string& program = "") {
    std::vector<const char*> envp;
    for (const std::string& variable : environment) envp.push_back(variable.c_str());
    envp.push_back(nullptr);
    facts_.environment = envp.data();
    facts_.program_text = program.empty() ? nullptr : program.c_str();
    Configured done;
    done.files = configure(facts_, OptionTarget{done.values, done.origins}, gather);
    return done;
  }

  std::string root_;
  ConfigurationFacts facts_;
};

// All places, from weak to strong, and how an option is said there.
struct Place {
  const char* source;
  void (*say)(Surroundings&, const std::string& option, const std::string& value);
};
void say_in(std::string& text, const std::string& option, const std::string& value) {
  text += option + " = " + value + "\n";
}
std::string upper(std::string text) {
  for (char& letter : text) letter = option_upper(letter);
  return text;
}
// A section comes first in its file, so that places are not only told apart by their order.
const Place places[] = {
    {"program", [](Surroundings& all, const std::string& option,
                   const std::string& value) { say_in(all.program, option, value); }},
    {"/etc/talus.conf:",
     [](Surroundings& all, const std::string& option, const std::string& value) {
       all.system_file += "[*]\n";
       say_in(all.system_file, option, value);
     }},
    {"/etc/talus.conf:",
     [](Surroundings& all, const std::string& option, const std::string& value) {
       all.system_file = "[tool]\n" + option + "=" + value + "\n" + all.system_file;
     }},
    {"~/.config/talus.conf:",
     [](Surroundings& all, const std::string& option, const std::string& value) {
       all.user_file += "[*]\n";
       say_in(all.user_file, option, value);
     }},
    {"~/.config/talus.conf:",
     [](Surroundings& all, const std::string& option, const std::string& value) {
       all.user_file = "[tool-1*]\n" + option + "=" + value + "\n" + all.user_file;
     }},
    {"environment",
     [](Surroundings& all, const std::string& option, const std::string& value) {
       all.environment.push_back("TALUS_" + upper(option) + "=" + value);
     }},
};
constexpr std::size_t place_count = sizeof places / sizeof places[0];

TEST_F(ConfigurationTest, WithoutAnythingAllIsDefaultAndNobodySaysAnything) {
  const Configured done = configured({});
  for (const OptionRow& row : option_rows) EXPECT_EQ(done.source(row.id), "default") << row.name;
  EXPECT_EQ(done.files.system_file, OptionFile::absent);
  EXPECT_EQ(done.files.own_file, OptionFile::not_asked);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(ConfigurationTest, OfEachTwoPlacesTheStrongerWins) {
  for (std::size_t weak = 0; weak < place_count; weak++) {
    Surroundings alone;
    places[weak].say(alone, "decay_ms", "5s");
    const Configured first = configured(alone);
    EXPECT_EQ(first.value(OptionId::decay_ms), "5s");
    EXPECT_EQ(first.source(OptionId::decay_ms).rfind(places[weak].source, 0), 0u);
    for (std::size_t strong = weak + 1; strong < place_count; strong++) {
      Surroundings both;
      places[weak].say(both, "decay_ms", "5s");
      places[weak].say(both, "heaps", "5");
      places[strong].say(both, "decay_ms", "7s");
      const Configured done = configured(both);
      EXPECT_EQ(done.value(OptionId::decay_ms), "7s") << weak << " under " << strong;
      EXPECT_EQ(done.source(OptionId::decay_ms).rfind(places[strong].source, 0), 0u) << strong;
      EXPECT_EQ(done.value(OptionId::heaps), "5") << "of which " << strong << " says nothing";
    }
  }
  EXPECT_TRUE(warnings.empty()) << warnings.front();
}

TEST_F(ConfigurationTest, APresetStandsWhereItIsSaid) {
  for (std::size_t weak = 0; weak < place_count; weak++) {
    for (std::size_t strong = weak + 1; strong < place_count; strong++) {
      Surroundings preset_above;
      places[weak].say(preset_above, "decay_ms", "5s");
      places[weak].say(preset_above, "pressure", "1");
      places[strong].say(preset_above, "preset", "small");
      Configured done = configured(preset_above);
      EXPECT_EQ(done.value(OptionId::decay_ms), "250ms") << weak << " under " << strong;
      EXPECT_EQ(done.source(OptionId::decay_ms).rfind("preset small, ", 0), 0u);
      EXPECT_EQ(done.value(OptionId::pressure), "1") << "no preset says anything of it";
      Surroundings preset_below;
      places[weak].say(preset_below, "preset", "small");
      places[strong].say(preset_below, "decay_ms", "5s");
      done = configured(preset_below);
      EXPECT_EQ(done.value(OptionId::decay_ms), "5s") << weak << " under " << strong;
      EXPECT_EQ(done.value(OptionId::list_bytes), "4KiB");
      Surroundings two;
      places[weak].say(two, "preset", "tiny");
      places[strong].say(two, "preset", "default");
      done = configured(two);
      EXPECT_EQ(done.value(OptionId::decay_ms), "1s") << weak << " under " << strong;
      EXPECT_EQ(done.value(OptionId::heaps), "0");
    }
  }
}

TEST_F(ConfigurationTest, InOnePlaceAnOptionWinsOverAPresetInAnyOrder) {
  for (const char* text : {"preset=fast\ndecay_ms=5s\n", "decay_ms=5s\npreset=fast\n"}) {
    Surroundings found;
    found.system_file = text;
    const Configured done = configured(found);
    EXPECT_EQ(done.value(OptionId::decay_ms), "5s") << text;
    EXPECT_EQ(done.value(OptionId::retain_bytes), "1GiB") << text;
    Surroundings in_environment;
    in_environment.environment = {"TALUS_DECAY_MS=5s", "TALUS_PRESET=fast"};
    EXPECT_EQ(configured(in_environment).value(OptionId::decay_ms), "5s");
  }
}

TEST_F(ConfigurationTest, OfEqualPlacesTheLastLineWinsAndAPresetTakesTheOtherAway) {
  Surroundings found;
  found.system_file = "decay_ms=1ms\npreset=tiny\ndecay_ms=2ms\npreset=fast\n";
  const Configured done = configured(found);
  EXPECT_EQ(done.value(OptionId::decay_ms), "2ms");
  EXPECT_EQ(done.source(OptionId::decay_ms), "/etc/talus.conf:3");
  EXPECT_EQ(done.value(OptionId::heaps), "0");
  EXPECT_EQ(done.source(OptionId::heaps), "preset fast, /etc/talus.conf:4");
}

TEST_F(ConfigurationTest, LinesMayBeWrittenInManyWays) {
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

TEST_F(ConfigurationTest, SectionsAreForProgramsByTheirNames) {
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

TEST_F(ConfigurationTest, EachBadLineIsOneWarningThatNamesItsPlace) {
  Surroundings found;
  found.user_file = "decayms=1\njust words\n= 5\n[tool\nheaps=9\n[]\n[*]\nconfig=/x\nheaps=1000000\n";
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

TEST_F(ConfigurationTest, AFileOfMistakesIsGivenUp) {
  Surroundings found;
  for (int i = 0; i < 1000; i++) found.system_file += "nonsense\n";
  found.system_file += "heaps=3\n";
  EXPECT_EQ(configured(found).value(OptionId::heaps), "0");
  EXPECT_EQ(warnings.size(), line_warnings_max);
  EXPECT_NE(warnings.back().find("the rest is not read"), std::string::npos);
}

TEST_F(ConfigurationTest, LongLinesAndLongFilesAreCutWithAWord) {
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

TEST_F(ConfigurationTest, LinesAcrossTheBoundsOfReadsAreWhole) {
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

TEST_F(ConfigurationTest, BytesThatAreNoTextAreRefused) {
  Surroundings found;
  found.system_file = std::string("heaps=3\0x\n\0\xff\x01\nthp=never\n", 24);
  const Configured done = configured(found);
  EXPECT_EQ(done.value(OptionId::heaps), "0");
  EXPECT_EQ(done.value(OptionId::thp), "never");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[1].find("not understood: ???"), std::string::npos) << warnings[1];
}

TEST_F(ConfigurationTest, XdgTakesThePlaceOfTheUsersFile) {
  Surroundings found;
  found.user_file = "heaps=3\ndecay_ms=5s\n";
  found.xdg_file = "heaps=4\n";
  const Configured done = configured(found);
  EXPECT_EQ(done.source(OptionId::heaps), "$XDG_CONFIG_HOME/talus.conf:1");
  EXPECT_EQ(done.source(OptionId::decay_ms), "default");
  found.xdg_file.clear();
  found.environment = {"XDG_CONFIG_HOME=relative", "HOME="};
  EXPECT_EQ(configured(found).source(OptionId::heaps), "~/.config/talus.conf:1");
}

TEST_F(ConfigurationTest, ANamedFileIsReadInsteadOfBothAndNoneIsNone) {
  Surroundings found;
  found.program = "pressure=1";
  found.system_file = found.user_file = "decay_ms=5s\n";
  found.named_file = "heaps=4\n[tool]\nthp=never\n";
  Configured done = configured(found);
  EXPECT_EQ(done.source(OptionId::heaps), "/named:1");
  EXPECT_EQ(done.source(OptionId::thp), "/named:3");
  EXPECT_EQ(done.source(OptionId::decay_ms), "default");
  EXPECT_EQ(done.source(OptionId::pressure), "program");
  EXPECT_EQ(done.source(OptionId::config), "environment");
  found.named_file.clear();
  found.environment = {"TALUS_CONFIG=None"};
  done = configured(found);
  EXPECT_EQ(done.source(OptionId::decay_ms), "default");
  EXPECT_EQ(done.files.system_file, OptionFile::not_asked);
  EXPECT_TRUE(warnings.empty());
  found.environment = {"TALUS_CONFIG=/nowhere"};
  EXPECT_EQ(configured(found).source(OptionId::decay_ms), "default");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "talus: /nowhere: cannot be opened");
}

TEST_F(ConfigurationTest, OnlyRegularFilesAreReadAndNobodyWaits) {
  ASSERT_EQ(mkfifo((root_ + "/etc/talus.conf").c_str(), 0644), 0);
  EXPECT_EQ(configured_in({}).files.system_file, OptionFile::no_file);
  EXPECT_TRUE(warnings.empty());
  ASSERT_EQ(mkfifo((root_ + "/named").c_str(), 0644), 0);
  EXPECT_EQ(configured_in({"TALUS_CONFIG=/named"}).files.own_file, OptionFile::no_file);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "talus: /named: is no regular file");
  EXPECT_EQ(configured_in({"TALUS_CONFIG=/etc"}).files.own_file, OptionFile::no_file);
}

TEST_F(ConfigurationTest, AFileOfAnotherUserInOnesHomeIsLeftOut) {
  Surroundings found;
  found.user_file = "heaps=3\n";
  facts_.user_id = geteuid() + 1;
  const Configured done = configured(found);
  // Root's files are everybody's.
  const bool is_root = geteuid() == 0;
  EXPECT_EQ(done.files.own_file, is_root ? OptionFile::read : OptionFile::not_trusted);
  EXPECT_EQ(done.value(OptionId::heaps), is_root ? "3" : "0");
  if (!is_root) return;
  ASSERT_EQ(chown((root_ + "/home/.config/talus.conf").c_str(), 4711, 4711), 0);
  EXPECT_EQ(configured_in({"HOME=/home"}).files.own_file, OptionFile::not_trusted);
  facts_.user_id = 4711;
  EXPECT_EQ(configured_in({"HOME=/home"}).files.own_file, OptionFile::read);
}

TEST_F(ConfigurationTest, WhoGainedPrivilegesListensToRootAlone) {
  facts_.is_secure = true;
  Surroundings found;
  found.program = "pressure=1; nonsense";
  found.system_file = "heaps=3\n[tool]\nthp=never\n[tool-1.2]\ndecay_ms=5s\nnonsense\n";
  found.user_file = found.xdg_file = "list_bytes=1\n";
  found.environment = {"TALUS_ARENA_BYTES=1G", "TALUS_CONFIG=none"};
  Configured done = configured(found);
  EXPECT_EQ(done.value(OptionId::pressure), "1");
  EXPECT_EQ(done.value(OptionId::list_bytes), "16KiB");
  EXPECT_EQ(done.value(OptionId::arena_bytes), "4MiB");
  EXPECT_EQ(done.value(OptionId::thp), "adaptive") << "the name is its caller's choice";
  EXPECT_TRUE(warnings.empty()) << "which would show what the file says";
  if (geteuid() != 0) {
    EXPECT_EQ(done.files.system_file, OptionFile::not_trusted);
    return;
  }
  EXPECT_EQ(done.value(OptionId::heaps), "3");
  EXPECT_EQ(done.value(OptionId::decay_ms), "5s");
  ASSERT_EQ(chmod((root_ + "/etc/talus.conf").c_str(), 0664), 0);
  EXPECT_EQ(configured_in({}).files.system_file, OptionFile::not_trusted);
  ASSERT_EQ(chmod((root_ + "/etc/talus.conf").c_str(), 0644), 0);
  ASSERT_EQ(chown((root_ + "/etc/talus.conf").c_str(), 4711, 0), 0);
  EXPECT_EQ(configured_in({}).files.system_file, OptionFile::not_trusted);
  facts_.is_secure = false;
  EXPECT_EQ(configured_in({}).files.system_file, OptionFile::read);
}

TEST_F(ConfigurationTest, RandomFilesNeverBreakTheOptions) {
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
}  // namespace talus
