// SPDX-License-Identifier: MIT
//
// Owns: see pprof.hpp.
// Invariant: see pprof.hpp.
// Must not know: see pprof.hpp.

#include "profile/pprof.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/own_frames.hpp"

namespace talus::tool {
namespace {

// The two forms of a field that profiles need: a number, and bytes with their length.
class Message {
 public:
  void number(unsigned field, uint64_t value) {
    if (value == 0) return;
    varint(field << 3);
    varint(value);
  }
  void bytes(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    text_ += value;
  }
  void numbers(unsigned field, const std::vector<uint64_t>& values) {
    Message packed;
    for (const uint64_t value : values) packed.varint(value);
    bytes(field, packed.text_);
  }
  void message(unsigned field, const Message& inner) { bytes(field, inner.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

using ValueTypes = std::vector<std::pair<const char*, const char*>>;

size_t value_count(ProfileView view) {
  return view == ProfileView::pins ? measure_count : usual_measure_count;
}
ValueTypes types_of(ProfileView view) {
  if (view == ProfileView::threads) return {{"inuse_objects", "count"}, {"inuse_space", "bytes"}};
  if (view == ProfileView::lifetimes) {  // of TCMalloc
    return {{"allocated_objects", "count"},          {"allocated_space", "bytes"},
            {"deallocated_objects", "count"},        {"deallocated_space", "bytes"},
            {"censored_allocated_objects", "count"}, {"censored_allocated_space", "bytes"}};
  }
  ValueTypes types;
  for (const MeasureWords& words : std::span(measure_words).first(value_count(view))) {
    types.emplace_back(words.type, words.is_bytes ? "bytes" : "count");
  }
  return types;
}
const char* first_type_of(ProfileView view) {
  if (view == ProfileView::threads) return "inuse_space";
  if (view == ProfileView::lifetimes) return "deallocated_space";
  return types_of(view)[measure_of(view)].first;
}

// What labels say of a sample.
struct SampleLabels {
  uint64_t block_bytes = 0;  // 0: several sizes
  std::string tag, thread;
  double life_s = -1;  // the mean; negative: not told
};

class PprofWriter {
 public:
  PprofWriter() { word(""); }

  std::string write(const std::vector<Place>& places, CodeNames& names, uint64_t mean_bytes,
                    const ProfileHead& head) {
    begin(head.view);
    for (const Place& place : places) add_place(place, names, head.view);
    return end(mean_bytes, head);
  }
  std::string write(const NamedProfile& profile) {
    const ProfileView view = profile.has_pins ? ProfileView::pins : ProfileView::live;
    begin(view);
    for (size_t i = 0; i < profile.frames.size(); i++) {
      Message location;
      location.number(1, i + 1);
      add_line(location, profile.frames[i]);
      all_.message(4, location);
    }
    for (const NamedStack& stack : profile.stacks) {
      std::vector<uint64_t> locations;
      for (const uint32_t frame : stack.frames) locations.push_back(frame + 1);
      add_sample(locations, values_of(stack.measures, view), {stack.block_bytes, stack.tag, ""});
    }
    return end(profile.mean_bytes, {profile.at_ns, profile.span_ns, view});
  }

 private:
  void begin(ProfileView view) {
    for (const auto& [type, unit] : types_of(view)) all_.message(1, value_type(type, unit));
  }
  std::string end(uint64_t mean_bytes, const ProfileHead& head) {
    all_.message(11, value_type("space", "bytes"));
    all_.number(12, mean_bytes);
    all_.number(9, head.at_ns);
    all_.number(10, head.span_ns);
    all_.number(14, word(first_type_of(head.view)));
    for (const std::string& text : in_order_) all_.bytes(6, text);
    return all_.text();
  }
  uint64_t word(const std::string& text) {
    const auto [place, is_new] = words_.try_emplace(text, in_order_.size());
    if (is_new) in_order_.push_back(text);
    return place->second;
  }
  Message value_type(const char* type, const char* unit) {
    Message made;
    made.number(1, word(type));
    made.number(2, word(unit));
    return made;
  }
  // Negative numbers are written as the largest ones.
  static uint64_t rounded(double value) { return static_cast<uint64_t>(std::llround(value)); }

  static std::vector<double> values_of(const Measures& measures, ProfileView view) {
    return {measures.data(), measures.data() + value_count(view)};
  }
  void add_place(const Place& place, CodeNames& names, ProfileView view) {
    std::vector<uint64_t> locations;
    for (const uint64_t frame : place.frames) locations.push_back(location_of(frame - 1, names));
    const SampleLabels labels{place.block_bytes, place.tag, place.thread};
    if (view == ProfileView::lifetimes) {
      add_lives(locations, place.lives.freed, labels, false);
      add_lives(locations, place.lives.live, labels, true);
    } else if (view == ProfileView::threads) {
      add_sample(locations, {place.measures[live_blocks], place.measures[live_bytes]}, labels);
    } else {
      add_sample(locations, values_of(place.measures, view), labels);
    }
  }
  // One sample for each length of life. Of a block that lives, the length is not known: its age is
  // the least.
  void add_lives(const std::vector<uint64_t>& locations, const Lives& lives, SampleLabels labels,
                 bool is_live) {
    for (const LifeBin& bin : lives.bins) {
      if (bin.blocks < 0.5) continue;
      labels.life_s = bin.seconds / bin.blocks;
      std::vector<double> values = {bin.blocks, bin.bytes, 0, 0, 0, 0};
      values[is_live ? 4 : 2] = bin.blocks;
      values[is_live ? 5 : 3] = bin.bytes;
      add_sample(locations, values, labels);
    }
  }
  void add_sample(const std::vector<uint64_t>& locations, const std::vector<double>& doubles,
                  const SampleLabels& labels) {
    std::vector<uint64_t> values;
    for (const double value : doubles) values.push_back(rounded(value));
    Message sample;
    sample.numbers(1, locations);
    sample.numbers(2, values);
    if (labels.block_bytes != 0) add_label(sample, "bytes", labels.block_bytes, "bytes");
    if (labels.life_s >= 0) {
      add_label(sample, "avg_lifetime", rounded(labels.life_s * 1e9), "nanoseconds");
    }
    if (!labels.tag.empty()) add_label(sample, "tag", labels.tag);
    if (!labels.thread.empty()) add_label(sample, "thread", labels.thread);
    all_.message(2, sample);
  }
  void add_label(Message& sample, const char* key, uint64_t number, const char* unit) {
    Message label;
    label.number(1, word(key));
    label.number(3, number);
    label.number(4, word(unit));
    sample.message(3, label);
  }
  void add_label(Message& sample, const char* key, const std::string& text) {
    Message label;
    label.number(1, word(key));
    label.number(2, word(text));
    sample.message(3, label);
  }
  void add_line(Message& location, const CodeLine& known) {
    Message line;
    line.number(1, function_of(known));
    line.number(2, known.line);
    location.message(4, line);
  }
  uint64_t location_of(uint64_t address, CodeNames& names) {
    const auto [place, is_new] = locations_.try_emplace(address, locations_.size() + 1);
    if (!is_new) return place->second;
    Message location;
    location.number(1, place->second);
    location.number(2, mapping_of(address, names));
    location.number(3, address);
    // What has no name is left to the reader, who may have symbols for the build id.
    const bool is_named = !names.lines_at(address).back().function.empty();
    for (const CodeLine& known :
         is_named ? lines_of_frame(address + 1, names) : std::vector<CodeLine>{}) {
      add_line(location, known);
    }
    all_.message(4, location);
    return place->second;
  }
  uint64_t mapping_of(uint64_t address, CodeNames& names) {
    const CodeArea* const area = names.area_of(address);
    if (area == nullptr) return 0;
    const auto [place, is_new] = mappings_.try_emplace(area->mapping.begin, mappings_.size() + 1);
    if (!is_new) return place->second;
    Message mapping;
    mapping.number(1, place->second);
    mapping.number(2, area->mapping.begin);
    mapping.number(3, area->mapping.end);
    mapping.number(4, area->mapping.offset);
    mapping.number(5, word(area->mapping.path));
    mapping.number(6, word(area->build_id));
    for (unsigned has = 7; has <= 10; has++) mapping.number(has, 1);  // names and lines are there
    all_.message(3, mapping);
    return place->second;
  }
  uint64_t function_of(const CodeLine& line) {
    const std::string key = fmt::format("{}\n{}\n{}", line.function, line.file, line.first_line);
    const auto [place, is_new] = functions_.try_emplace(key, functions_.size() + 1);
    if (!is_new) return place->second;
    Message function;
    function.number(1, place->second);
    function.number(2, word(line.function));
    function.number(3, word(line.symbol.empty() ? line.function : line.symbol));
    function.number(4, word(line.file));
    function.number(5, line.first_line);
    all_.message(5, function);
    return place->second;
  }

  Message all_;
  std::map<std::string, uint64_t> words_, functions_;
  std::vector<std::string> in_order_;
  std::map<uint64_t, uint64_t> locations_, mappings_;
};

}  // namespace

std::string pprof_of(const std::vector<Place>& places, uint64_t mean_bytes, CodeNames& names,
                     const ProfileHead& head) {
  return PprofWriter().write(places, names, mean_bytes, head);
}
std::string pprof_of(const NamedProfile& profile) { return PprofWriter().write(profile); }

std::string gzipped(const std::string& text) {
  z_stream stream{};
  constexpr int gzip = 15 + 16, memory_level = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, memory_level,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string result(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int end = deflate(&stream, Z_FINISH);
  result.resize(end == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  return result;
}

}  // namespace talus::tool
