// SPDX-License-Identifier: MIT
// configuration/configuration: all sources of options, from the weakest to the strongest.
//
//   configure(facts, target)
//     -> read_program_text     talus_options, which the program defines
//     -> read_file             /etc/talus.conf, then the user's file; or the named file
//     -> read_environment      options_env.hpp
//
// Owns: which files are read, and which are trusted. A file must be regular and has at most 64 KiB.
// The user's file must belong to the process's user or to root. A process that gained privileges
// reads only the system's file, and only if no user but root can write it. Invariants: opening
// never waits. A missing file costs one failed call. It allocates nothing and keeps errno.
// ConfigurationFacts holds all facts about the process, so `talus` uses the same code for other
// processes. Called on: the thread that allocates first, or starts the process.
#ifndef TALUS_CONFIGURATION_CONFIGURATION_HPP
#define TALUS_CONFIGURATION_CONFIGURATION_HPP

#include "base/base.hpp"
#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "parsing/option_letters.hpp"
#include "machine/kernel_file.hpp"
#include "configuration/option_lines.hpp"
#include "configuration/option_target.hpp"
#include "configuration/options_env.hpp"

namespace talus::core {

inline constexpr size_t option_file_bytes_max = 64 * kib;

struct ConfigurationFacts {
  const char* const* environment = nullptr;  // null-ended; null: there is none
  const char* program_text = nullptr;        // talus_options; null: none
  const char* called_as = nullptr;           // the path that was executed; null: not known
  const char* file = nullptr;                // path of the executable; null: ask the kernel
  const char* root = "";                     // in front of the paths of files
  const char* system_file = "/etc/talus.conf";
  uint32_t user_id = 0;  // the effective one
  bool is_secure = false;
};

// The outcome for a file.
enum class OptionFile : uint8_t { not_asked, absent, no_file, not_trusted, read };

// The value of NAME in an environment entry; null: another name.
TALUS_START const char* environment_value(const char* variable, const char* name) noexcept {
  size_t i = 0;
  while (name[i] != '\0' && variable[i] == name[i]) i++;
  return name[i] == '\0' && variable[i] == '=' ? variable + i + 1 : nullptr;
}

// The files that the environment names. An empty value counts as absent, the rule of the XDG
// variables. A name that is too long counts as absent too: read_environment refuses it and reports
// it.
struct FileNames {
  const char* named = nullptr;
  const char* config_home = nullptr;
  const char* home = nullptr;

  TALUS_START explicit FileNames(const char* const* environment) noexcept {
    for (; environment != nullptr && *environment != nullptr; environment++) {
      const char first = **environment;
      if (first == 'T') keep_first(named, environment_value(*environment, "TALUS_CONFIG"));
      if (first == 'X') keep_first(config_home, environment_value(*environment, "XDG_CONFIG_HOME"));
      if (first == 'H') keep_first(home, environment_value(*environment, "HOME"));
    }
    if (named != nullptr && option_length(named) >= option_text_bytes_max) named = nullptr;
  }

 private:
  TALUS_START static void keep_first(const char*& kept, const char* found) noexcept {
    if (kept == nullptr && found != nullptr && *found != '\0') kept = found;
  }
};

// The path of the user's file or of the named file, as `folder` followed by `name`.
struct OwnFile {
  OptionSource source = OptionSource::user_file;
  const char* folder = nullptr;  // from the environment; null: none
  const char* name = "";

  OwnFile() noexcept = default;
  TALUS_START explicit OwnFile(const FileNames& names) noexcept {
    if (names.named != nullptr) {
      source = OptionSource::named_file;
      folder = names.named;
    } else if (names.config_home != nullptr && names.config_home[0] == '/') {
      source = OptionSource::xdg_file;
      folder = names.config_home;
      name = "/talus.conf";
    } else if (names.home != nullptr) {
      folder = names.home;
      name = "/.config/talus.conf";
    }
  }
};

struct ConfigurationResult {
  OwnFile own;
  OptionFile own_file = OptionFile::not_asked;
  OptionFile system_file = OptionFile::not_asked;
};

class Configuration {
 public:
  Configuration(const ConfigurationFacts& facts, OptionTarget target, WarningSink sink) noexcept
      : facts_{facts}, target_{target}, sink_{facts.is_secure ? nullptr : sink} {}

  TALUS_START ConfigurationResult read() noexcept {
    const char* const* environment = facts_.is_secure ? nullptr : facts_.environment;
    ConfigurationResult result{OwnFile{FileNames{environment}}};
    const OwnFile& own = result.own;
    const bool is_named = own.source == OptionSource::named_file;
    if (facts_.program_text != nullptr) read_program_text();
    if (!is_named) {
      result.system_file = read_file(OptionSource::system_file, facts_.system_file, "");
    }
    if (own.folder != nullptr && (!is_named || is_file_name(own.folder))) {
      result.own_file = read_file(own.source, own.folder, own.name);
    }
    read_environment(environment, target_, sink_);
    return result;
  }

 private:
  static bool is_file_name(const char* name) noexcept {
    return !option_is_word(name, option_length(name), "none");
  }

  // Options between semicolons or ends of lines.
  void read_program_text() noexcept {
    OptionLineReader reader{target_, OptionSource::program, "talus_options", names_, sink_};
    TextPart rest{facts_.program_text, option_length(facts_.program_text)};
    for (uint32_t number = 1; rest.length != 0; number++) {
      TextPart line = rest.take_until('\n');
      while (line.length != 0) {
        if (!reader.take(line.take_until(';'), number)) return;
      }
    }
  }

  TALUS_START OptionFile read_file(OptionSource source, const char* folder,
                                   const char* name) noexcept {
    PathBuffer path;
    path.put(folder).put(name);
    const bool is_named = source == OptionSource::named_file;
    const char* place = is_named ? path.data() : place_of_file(source);
    OptionLineReader reader{target_, source, place, names_, sink_};
    const long file = open_file(path);
    if (file < 0) {
      if (is_named) reader.complain(0, "cannot be opened");
      return OptionFile::absent;
    }
    const OptionFile found = judge(file, source);
    if (found == OptionFile::read) {
      learn_names();
      read_lines(file, reader);
    } else if (is_named) {
      reader.complain(0, "is no regular file");
    }
    os::System::close_file(file);
    return found;
  }

  TALUS_START long open_file(const PathBuffer& path) const noexcept {
    if (!path.is_whole()) return -1;
    // A relative path begins in the process's directory.
    if (facts_.root[0] == '\0' || path.data()[0] != '/') {
      return os::System::open_file(path.data());
    }
    PathBuffer whole;
    whole.put(facts_.root).put(path.data());
    return whole.is_whole() ? os::System::open_file(whole.data()) : -1;
  }

  OptionFile judge(long file, OptionSource source) const noexcept {
    os::FileFacts found;
    if (!os::System::look_at_file(file, found) || !found.is_regular) return OptionFile::no_file;
    const bool is_roots = found.owner == 0;
    bool is_trusted = true;  // the environment may set options, too
    if (source == OptionSource::system_file) {
      is_trusted = !facts_.is_secure || (is_roots && !found.is_writable_by_others);
    } else if (source != OptionSource::named_file) {
      is_trusted = is_roots || found.owner == facts_.user_id;
    }
    return is_trusted ? OptionFile::read : OptionFile::not_trusted;
  }

  // Sections are compared with these names, so they are read once a file exists. The caller of a
  // process that gained privileges chooses what it is called, so that name does not count.
  void learn_names() noexcept {
    if (names_.file.length != 0) return;
    if (facts_.called_as != nullptr && !facts_.is_secure) {
      names_.called_as = last_part_of({facts_.called_as, option_length(facts_.called_as)});
    }
    if (facts_.file != nullptr) {
      names_.file = last_part_of({facts_.file, option_length(facts_.file)});
      return;
    }
    char path[1024];
    const long length = os::System::read_link("/proc/self/exe", path, sizeof path);
    if (length <= 0) return;
    const TextPart name = last_part_of({path, static_cast<size_t>(length)});
    if (name.length > sizeof file_) return;
    for (size_t i = 0; i < name.length; i++) file_[i] = name.text[i];
    names_.file = TextPart{file_, name.length};
  }

  static void read_lines(long file, OptionLineReader& reader) noexcept {
    char buffer[1024];
    size_t used = 0, total = 0;
    bool is_too_long = false;
    uint32_t number = 1;
    for (;;) {
      const long read = os::System::read_file(file, buffer + used, sizeof buffer - used);
      const bool is_end = read <= 0;
      used += is_end ? 0 : static_cast<size_t>(read);
      total += is_end ? 0 : static_cast<size_t>(read);
      size_t start = 0;
      for (size_t at = 0; at < used; at++) {
        if (buffer[at] != '\n') continue;
        if (!is_too_long && !reader.take({buffer + start, at - start}, number)) return;
        is_too_long = false;
        start = at + 1;
        number++;
      }
      for (size_t i = start; i < used; i++) buffer[i - start] = buffer[i];
      used -= start;
      if (is_end) {
        if (used != 0 && !is_too_long) reader.take({buffer, used}, number);
        return;
      }
      if (used == sizeof buffer) {
        if (!is_too_long && !reader.complain(number, "the line is too long")) return;
        is_too_long = true;
        used = 0;
      }
      if (total > option_file_bytes_max) {
        reader.complain(number, "the file is too long; the rest is not read");
        return;
      }
    }
  }

  const ConfigurationFacts& facts_;
  OptionTarget target_;
  WarningSink sink_;
  ProgramNames names_;
  char file_[256];  // longer than any file name
};

inline ConfigurationResult configure(const ConfigurationFacts& facts, OptionTarget target,
                                     WarningSink sink) noexcept {
  return Configuration{facts, target, sink}.read();
}

}  // namespace talus::core

#endif  // TALUS_CONFIGURATION_CONFIGURATION_HPP
