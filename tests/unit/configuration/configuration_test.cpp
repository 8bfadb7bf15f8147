// SPDX-License-Identifier: MIT
// tests/unit/configuration/configuration: which place wins, for every pair of places; presets;
// files that are left out.
#include <fcntl.h>
#include <sys/stat.h>

#include "made_up_process.hpp"

namespace talus::core {
namespace {

using test::Configured;
using test::Surroundings;
using test::warnings;
class ConfigurationTest : public test::MadeUpProcess {};

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

TEST_F(ConfigurationTest, WithoutAnythingAllIsDefaultAndNoMessageIsPrinted) {
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

TEST_F(ConfigurationTest, ANameThatIsTooLongNamesNoFile) {
  Surroundings found;
  found.system_file = "heaps=3\n";
  found.user_file = "decay_ms=5s\n";
  const std::string word = "TALUS_CONFIG=/" + std::string(option_text_bytes_max - 1, 'x');
  found.environment = {word.c_str()};
  const Configured done = configured(found);
  EXPECT_EQ(done.source(OptionId::heaps), "/etc/talus.conf:1");
  EXPECT_EQ(done.source(OptionId::decay_ms), "~/.config/talus.conf:1");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("keeping (empty)"), std::string::npos) << warnings[0];
}

TEST_F(ConfigurationTest, OnlyRegularFilesAreReadWithoutAWait) {
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

TEST_F(ConfigurationTest, AProcessWithGainedPrivilegesObeysRootAlone) {
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

}  // namespace
}  // namespace talus::core
