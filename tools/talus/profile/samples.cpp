// SPDX-License-Identifier: MIT
//
// Owns: see samples.hpp.
// Invariant: see samples.hpp.
// Must not know: see samples.hpp.

#include "profile/samples.hpp"

#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "modes/sample_weight.hpp"
#include "observe/layout.hpp"

namespace talus::tool {
namespace {

constexpr uint64_t tags_max = 65536;
constexpr int steady_looks = 8;
constexpr uint64_t sites_max = 1 << 20, frames_max = 1 << 24, depth_max = 4096;

// An array of equal objects, as it was at one moment.
struct Rows {
  std::vector<char> bytes;
  size_t stride = 0;

  size_t count() const { return stride == 0 ? 0 : bytes.size() / stride; }
  const char* at(size_t index) const { return bytes.data() + index * stride; }
};
Rows read_rows(const Memory& memory, uint64_t address, uint64_t count, uint64_t stride) {
  Rows rows;
  rows.stride = stride;
  if (count != 0) rows.bytes = bytes_at(memory, address, count * stride);
  return rows;
}

class SampleReader {
 public:
  SampleReader(const Memory& memory, const Layout& layout) : memory_(memory), layout_(layout) {}

  Samples read() {
    Samples samples;
    const uint64_t profile = layout_.root("profile");
    samples.mean_bytes = number("profile", "mean_bytes", profile);
    samples.is_on = number("profile", "is_on", profile) != 0;
    sites_ = number("profile", "sites", profile);
    if (sites_ == 0) return samples;
    samples.lost = number("sites", "lost", sites_);
    // Records first: the site of each is there then.
    const std::vector<LiveSample> records = live_records();
    samples.records_begin = sites_ + layout_.constant("sites.first_record");
    samples.records_end =
        samples.records_begin + count("record_count", sites_max) * layout_.constant("record.size");
    read_sites(samples);
    for (LiveSample record : records) {
      if (record.site == 0 || record.site > samples.sites.size()) continue;
      SampledSite& site = samples.sites[--record.site];
      site.live++;
      site.live_bytes += record.bytes;
      samples.live.push_back(record);
    }
    return samples;
  }

 private:
  uint64_t number(std::string_view type, const char* name, uint64_t object) const {
    const View view(layout_, type, {name});
    return view.get(bytes_at(memory_, object + view.first_byte(), view.bytes()).data(), 0);
  }
  uint64_t count(const char* name, uint64_t most) const {
    const uint64_t found = number("sites", name, sites_);
    if (found > most) throw Implausible("the profile has more than it can have");
    return found;
  }
  // Their sites are counted from 1.
  std::vector<LiveSample> live_records() const {
    const uint64_t first = sites_ + layout_.constant("sites.first_record");
    const uint64_t size = layout_.constant("record.size");
    const uint64_t made = count("record_count", sites_max);
    const Rows once = read_rows(memory_, first, made, size);
    const Rows again = read_rows(memory_, first, made, size);
    const View record(layout_, "record", {"block", "site", "bytes", "made_ns", "thread"});
    const bool tells_place = layout_.has("record.place");  // an older Talus does not
    const View place = tells_place ? View(layout_, "record", {"place"}) : View();
    std::vector<LiveSample> found;
    for (size_t i = 0; i < once.count(); i++) {
      if (std::memcmp(once.at(i), again.at(i), size) != 0) continue;
      const char* const row = once.at(i) + record.first_byte();
      if (record.get(row, 0) == 0) continue;
      found.push_back({record.get(row, 1), record.get(row, 0), record.get(row, 2),
                       record.get(row, 3), static_cast<uint32_t>(record.get(row, 4)), 0});
      if (tells_place) found.back().place = place.get(once.at(i) + place.first_byte(), 0);
    }
    return found;
  }
  // By number; 0 is none. An older Talus has no tags.
  std::vector<std::string> read_tags() const {
    std::vector<std::string> tags(1);
    if (!layout_.has("site.tag")) return tags;
    const uint64_t names = number("all_tags", "names", layout_.root("all_tags"));
    if (names == 0) return tags;
    const uint64_t count = number("tags", "count", names);
    const uint64_t size = layout_.constant("tag.size");
    if (count > tags_max || size > tags_max) throw Implausible("there are too many tags");
    const Rows rows = read_rows(memory_, names + layout_.constant("tags.first_tag"), count, size);
    for (size_t i = 0; i < rows.count(); i++) {
      tags.emplace_back(rows.at(i), ::strnlen(rows.at(i), size));
    }
    return tags;
  }
  // All of one peak, if the process rests that long. While it grows, a site of an earlier peak is
  // off by what was sampled meanwhile.
  Rows read_site_rows(uint64_t site_count, Samples& samples) {
    const uint64_t first = sites_ + layout_.constant("sites.first_site");
    tells_peak_ = layout_.has("site.peak_bytes");
    for (int look = 1;; look++) {
      const uint64_t before = tells_peak_ ? number("sites", "peak_turn", sites_) : 0;
      if (tells_peak_) samples.peak_ns = number("sites", "peak_ns", sites_);
      Rows rows = read_rows(memory_, first, site_count, layout_.constant("site.size"));
      peak_turn_ = tells_peak_ ? number("sites", "peak_turn", sites_) : 0;
      if (peak_turn_ == before || look == steady_looks) return rows;
    }
  }
  void read_peak_and_lives(const char* row, SampledSite& site) const {
    const View fields(layout_, "site",
                      {"peak_turn", "live_blocks", "live_bytes", "peak_blocks", "peak_bytes",
                       "freed_bytes", "lives", "lives_ns"});
    row += fields.first_byte();
    const bool has_changed = fields.get(row, 0) == peak_turn_;
    site.peak = fields.get(row, has_changed ? 3 : 1);
    site.peak_bytes = fields.get(row, has_changed ? 4 : 2);
    double freed = 0;
    for (size_t i = 0; i < Lives::count; i++) {
      LifeBin& bin = site.lives.freed.bins[i];
      freed += bin.blocks = static_cast<double>(fields.get(row, 6, i));
      bin.seconds = static_cast<double>(fields.get(row, 7, i)) / 1e9;
    }
    // Blocks of a site have about one size.
    const double mean_bytes = freed > 0 ? static_cast<double>(fields.get(row, 5)) / freed : 0;
    for (LifeBin& bin : site.lives.freed.bins) bin.bytes = bin.blocks * mean_bytes;
  }
  void read_sites(Samples& samples) {
    const uint64_t site_count = count("count", sites_max);
    const uint64_t frame_count = count("frame_count", frames_max);
    const Rows rows = read_site_rows(site_count, samples);
    const Rows frames = read_rows(memory_, sites_ + layout_.constant("sites.first_frame"),
                                  frame_count, sizeof(uint64_t));
    const View fields(
        layout_, "site",
        {"first_frame", "frame_count", "block_bytes", "allocations", "allocated_bytes"});
    const std::vector<std::string> tags = read_tags();  // later than the sites that have them
    const bool has_tags = layout_.has("site.tag");
    const View tag_field = has_tags ? View(layout_, "site", {"tag"}) : View();
    for (size_t i = 0; i < rows.count(); i++) {
      const char* const row = rows.at(i) + fields.first_byte();
      SampledSite site;
      const uint64_t tag = has_tags ? tag_field.get(rows.at(i) + tag_field.first_byte(), 0) : 0;
      if (tag >= tags.size()) throw Implausible("a site has a tag that does not exist");
      site.tag = tags[tag];
      const uint64_t first = fields.get(row, 0), depth = fields.get(row, 1);
      if (depth > depth_max || first > frame_count || depth > frame_count - first) {
        throw Implausible("a stack of the profile lies outside of it");
      }
      site.frames.resize(depth);
      if (depth != 0) std::memcpy(site.frames.data(), frames.at(first), depth * sizeof(uint64_t));
      site.block_bytes = fields.get(row, 2);
      site.allocations = fields.get(row, 3);
      site.allocated_bytes = fields.get(row, 4);
      if (tells_peak_) read_peak_and_lives(rows.at(i), site);
      samples.sites.push_back(std::move(site));
    }
  }

  const Memory& memory_;
  const Layout& layout_;
  uint64_t sites_ = 0;
  bool tells_peak_ = false;  // an older Talus does not
  uint64_t peak_turn_ = 0;
};

}  // namespace

Samples read_samples(const Memory& memory, const TalusCopy& copy) {
  return SampleReader(memory, copy.layout).read();
}

void add_ages(Samples& samples, uint64_t now_ns) {
  for (const LiveSample& sample : samples.live) {
    const uint64_t age_ns = now_ns > sample.made_ns ? now_ns - sample.made_ns : 0;
    samples.sites[sample.site].lives.live.add(static_cast<double>(age_ns) / 1e9,
                                              static_cast<double>(sample.bytes), 1);
  }
}

// Sites only grow in number, and keep their places.
void subtract_allocations(Samples& now, const Samples& before) {
  for (size_t i = 0; i < now.sites.size() && i < before.sites.size(); i++) {
    now.sites[i].allocations -= before.sites[i].allocations;
    now.sites[i].allocated_bytes -= before.sites[i].allocated_bytes;
    now.sites[i].lives.freed.add(before.sites[i].lives.freed, -1);
  }
}

double weight_of(const Samples& samples, const SampledSite& site) {
  return core::profile::weight_of(site.block_bytes, samples.mean_bytes);
}

namespace {

Place place_of(const SampledSite& site) {
  Place place;
  place.frames = site.frames;
  place.tag = site.tag;
  place.block_bytes = site.block_bytes;
  return place;
}

}  // namespace

std::vector<Place> estimate(const Samples& samples) {
  std::vector<Place> places;
  for (const SampledSite& site : samples.sites) {
    const double weight = weight_of(samples, site);
    const uint64_t counts[usual_measure_count] = {site.allocations, site.allocated_bytes,
                                                  site.live,        site.live_bytes,
                                                  site.peak,        site.peak_bytes};
    Place place = place_of(site);
    bool has_blocks = false;
    for (size_t i = 0; i < usual_measure_count; i++) {
      place.measures[i] = weight * static_cast<double>(counts[i]);
      has_blocks |= counts[i] != 0;
    }
    place.measures[pinned_bytes] = weight * site.pinned_bytes;
    place.measures[purgeable_bytes] = weight * site.purgeable_bytes;
    place.lives.add(site.lives, weight);
    if (has_blocks || site.lives.freed.sum().blocks > 0) places.push_back(std::move(place));
  }
  return places;
}

std::vector<Place> estimate_by_thread(const Samples& samples,
                                      const std::map<uint32_t, std::string>& thread_names) {
  std::map<std::pair<size_t, uint32_t>, Place> places;
  for (const LiveSample& sample : samples.live) {
    const SampledSite& site = samples.sites[sample.site];
    const double weight = weight_of(samples, site);
    const auto [found, is_new] = places.try_emplace({sample.site, sample.thread}, place_of(site));
    Place& place = found->second;
    if (is_new) place.thread = thread_names.at(sample.thread);
    place.measures[live_blocks] += weight;
    place.measures[live_bytes] += weight * static_cast<double>(sample.bytes);
  }
  std::vector<Place> result;
  for (auto& [key, place] : places) result.push_back(std::move(place));
  return result;
}

}  // namespace talus::tool
