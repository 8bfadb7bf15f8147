// SPDX-License-Identifier: MIT
// tests/unit/configuration/made_up_process: a process that is not there, with files of its own: a
// folder stands for the root. Owns: what configure() says of it, and the warnings.
#ifndef TALUS_TESTS_UNIT_CONFIGURATION_MADE_UP_PROCESS_HPP
#define TALUS_TESTS_UNIT_CONFIGURATION_MADE_UP_PROCESS_HPP

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "configuration/configuration.hpp"

namespace talus::core::test {

inline std::vector<std::string> warnings;
inline void gather(const char* line) { warnings.emplace_back(line); }

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

class MadeUpProcess : public testing::Test {
 protected:
  MadeUpProcess() {
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
  ~MadeUpProcess() override { std::filesystem::remove_all(root_); }

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

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_CONFIGURATION_MADE_UP_PROCESS_HPP
