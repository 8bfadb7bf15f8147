// SPDX-License-Identifier: MIT
//
// Owns: see pprof_reader.hpp.
// Invariant: see pprof_reader.hpp.
// Must not know: see pprof_reader.hpp.

#include "profile/pprof_reader.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "profile/views.hpp"

namespace talus::tool {
namespace {

constexpr size_t bytes_max = size_t{1} << 30;

constexpr size_t live_measures = 4;  // of Go, and of files of an earlier Talus

struct Malformed {};

// One field of a message after the other.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  bool next() {
    if (text_.empty()) return false;
    const uint64_t key = varint(text_);
    field = key >> 3;
    number = 0;
    bytes = {};
    switch (key & 7) {
      case 0:
        number = varint(text_);
        break;
      case 1:
        bytes = cut(8);
        break;
      case 2:
        bytes = cut(varint(text_));
        break;
      case 5:
        bytes = cut(4);
        break;
      default:
        throw Malformed();
    }
    is_packed = (key & 7) == 2;
    return true;
  }
  // A repeated number may be packed.
  void append_to(std::vector<uint64_t>& all) const {
    if (!is_packed) return all.push_back(number);
    for (std::string_view rest = bytes; !rest.empty();) all.push_back(varint(rest));
  }

  uint64_t field = 0, number = 0;
  std::string_view bytes;
  bool is_packed = false;

 private:
  static uint64_t varint(std::string_view& text) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (text.empty()) throw Malformed();
      const auto byte = static_cast<unsigned char>(text.front());
      text.remove_prefix(1);
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    throw Malformed();
  }
  std::string_view cut(uint64_t length) {
    if (length > text_.size()) throw Malformed();
    const std::string_view found = text_.substr(0, length);
    text_.remove_prefix(length);
    return found;
  }
  std::string_view text_;
};

struct CloseGzip {
  void operator()(gzFile file) const { ::gzclose(file); }
};

std::optional<std::string> unpacked(const std::string& path) {
  const std::unique_ptr<gzFile_s, CloseGzip> file(::gzopen(path.c_str(), "rbe"));
  if (file == nullptr) return {};
  std::string text;
  std::array<char, 65536> part;
  int count = 0;
  while ((count = ::gzread(file.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<size_t>(count));
    if (text.size() > bytes_max) return {};
  }
  if (count < 0) return {};
  return text;
}

class PprofReader {
 public:
  NamedProfile read(std::string_view text) {
    for (Fields all(text); all.next();) {
      if (all.field == 6) texts_.emplace_back(all.bytes);
    }
    std::vector<std::string_view> samples;
    std::vector<std::string> found;
    for (Fields all(text); all.next();) {
      switch (all.field) {
        case 1:
          found.push_back(type_of(all.bytes));
          break;
        case 2:
          samples.push_back(all.bytes);
          break;
        case 4:
          read_location(all.bytes);
          break;
        case 5:
          read_function(all.bytes);
          break;
        case 9:
          profile_.at_ns = all.number;
          break;
        case 10:
          profile_.span_ns = all.number;
          break;
        case 12:
          profile_.mean_bytes = all.number;
          break;
        default:
          break;
      }
    }
    const bool is_known = found.size() >= live_measures && found.size() <= measure_count &&
                          std::equal(found.begin(), found.end(), std::begin(measure_words),
                                     [](const std::string& type, const MeasureWords& words) {
                                       return type == words.type;
                                     });
    if (!is_known) throw Malformed();
    profile_.has_pins = found.size() == measure_count;
    for (const std::string_view sample : samples) read_sample(sample);
    return std::move(profile_);
  }

 private:
  struct Location {
    uint64_t address = 0;
    std::vector<std::pair<uint64_t, uint32_t>> lines;  // function, line
    std::vector<uint32_t> frames;                      // made when first used
  };

  const std::string& text_at(uint64_t place) const {
    if (place >= texts_.size()) throw Malformed();
    return texts_[place];
  }
  std::string type_of(std::string_view text) const {
    std::string name;
    for (Fields type(text); type.next();) {
      if (type.field == 1) name = text_at(type.number);
    }
    return name;
  }
  void read_function(std::string_view text) {
    uint64_t id = 0;
    CodeLine line;
    for (Fields function(text); function.next();) {
      if (function.field == 1) id = function.number;
      if (function.field == 2) line.function = text_at(function.number);
      if (function.field == 3) line.symbol = text_at(function.number);
      if (function.field == 4) line.file = text_at(function.number);
      if (function.field == 5) line.first_line = static_cast<uint32_t>(function.number);
    }
    functions_[id] = line;
  }
  void read_location(std::string_view text) {
    uint64_t id = 0;
    Location made;
    for (Fields location(text); location.next();) {
      if (location.field == 1) id = location.number;
      if (location.field == 3) made.address = location.number;
      if (location.field != 4) continue;
      uint64_t function = 0, number = 0;
      for (Fields line(location.bytes); line.next();) {
        if (line.field == 1) function = line.number;
        if (line.field == 2) number = line.number;
      }
      made.lines.emplace_back(function, static_cast<uint32_t>(number));
    }
    locations_[id] = made;
  }
  const std::vector<uint32_t>& frames_of(uint64_t id) {
    const auto found = locations_.find(id);
    if (found == locations_.end()) throw Malformed();
    Location& location = found->second;
    if (!location.frames.empty()) return location.frames;
    for (const auto& [function, number] : location.lines) {
      CodeLine line = functions_[function];
      line.line = number;
      add_frame(location, line);
    }
    if (location.lines.empty()) {
      CodeLine unknown;
      unknown.function = fmt::format("{:#x}", location.address);
      add_frame(location, unknown);
    }
    return location.frames;
  }
  void add_frame(Location& location, const CodeLine& line) {
    location.frames.push_back(static_cast<uint32_t>(profile_.frames.size()));
    profile_.frames.push_back(line);
  }
  void read_label(std::string_view text, NamedStack& stack) const {
    uint64_t key = 0, word = 0, number = 0;
    for (Fields label(text); label.next();) {
      if (label.field == 1) key = label.number;
      if (label.field == 2) word = label.number;
      if (label.field == 3) number = label.number;
    }
    if (text_at(key) == "bytes") stack.block_bytes = std::max(stack.block_bytes, number);
    if (text_at(key) == "tag") stack.tag = text_at(word);
  }
  void read_sample(std::string_view text) {
    NamedStack stack;
    std::vector<uint64_t> locations, values;
    for (Fields sample(text); sample.next();) {
      if (sample.field == 1) sample.append_to(locations);
      if (sample.field == 2) sample.append_to(values);
      if (sample.field == 3) read_label(sample.bytes, stack);
    }
    if (values.size() < live_measures || values.size() > measure_count) throw Malformed();
    for (size_t i = 0; i < values.size(); i++) {
      stack.measures[i] = static_cast<double>(static_cast<int64_t>(values[i]));
    }
    for (const uint64_t location : locations) {
      const std::vector<uint32_t>& frames = frames_of(location);
      stack.frames.insert(stack.frames.end(), frames.begin(), frames.end());
    }
    profile_.stacks.push_back(std::move(stack));
  }

  NamedProfile profile_;
  std::vector<std::string> texts_;
  std::map<uint64_t, CodeLine> functions_;
  std::map<uint64_t, Location> locations_;
};

}  // namespace

bool is_pprof_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const std::unique_ptr<gzFile_s, CloseGzip> file(::gzopen(path.c_str(), "rbe"));
  char first = 0;
  return file != nullptr && ::gzread(file.get(), &first, 1) == 1 && ::gzdirect(file.get()) == 0;
}

std::optional<NamedProfile> read_pprof(const std::string& path) {
  const std::optional<std::string> text = unpacked(path);
  if (!text) return {};
  try {
    NamedProfile profile = PprofReader().read(*text);
    profile.title = path;
    return profile;
  } catch (const Malformed&) {
    return {};
  }
}

}  // namespace talus::tool
