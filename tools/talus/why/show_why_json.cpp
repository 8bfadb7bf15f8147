// SPDX-License-Identifier: MIT
//
// Owns: the JSON form of `talus why`: one object on one line.
// Invariant: `parts` sum to total_bytes and beyond_total_bytes. What is not known is null.
// Must not know: where the bytes come from.

#include <fmt/format.h>

#include "json.hpp"
#include "why/show_why.hpp"

namespace talus::tool {
namespace {

template <typename Rows, typename Show>
Json list_of(const Rows& rows, Show show) {
  Json list = Json::array();
  for (const auto& row : rows) list.push_back(show(row));
  return list;
}

Json class_object(const ClassPicture& row) {
  return {{"block_bytes", row.block_bytes},     {"slabs", row.slabs},
          {"resident_bytes", row.resident},     {"live_bytes", row.live},
          {"pinned_bytes", row.pinned},         {"free_page_bytes", row.free_pages},
          {"free_age_ms", or_null(row.age_ms)}, {"slabs_by_eighths_live", row.occupancy}};
}

Json survivor_object(const SurvivorPicture& row) {
  return {{"live_blocks", row.label},
          {"slabs", row.slabs},
          {"resident_bytes", row.resident},
          {"free_bytes", row.free}};
}

Json age_object(const AgePicture& row) {
  return {{"least_ms", row.least_ms},
          {"slabs", row.slabs},
          {"resident_bytes", row.resident},
          {"free_bytes", row.free}};
}

Json area_object(const MappedArea& area) {
  return {{"address", fmt::format("{:#x}", area.begin)},
          {"name", area.path},
          {"resident_bytes", area.resident_bytes}};
}

Json site_object(const SitePicture& site) {
  return {{"name", site.name},
          {"live_bytes", site.live},
          {"pinned_bytes", site.pinned},
          {"purgeable_bytes", site.purgeable}};
}

Json advice_object(const Advice& advice) {
  return {{"name", advice.name}, {"what", advice.what}, {"bytes", advice.bytes}};
}

}  // namespace

std::string show_why_json(const PictureTitle& title, const Picture& picture,
                          const std::vector<Advice>& advice) {
  Json all = {{"program", title.name},
              {"process", title.process_id},
              {"version", title.version},
              {"consistent", title.is_consistent},
              {"pages_known", picture.is_resident},
              {"total_bytes", picture.total},
              {"beyond_total_bytes", picture.beyond_total}};
  Json& groups = all["parts"];
  for (const Part& part : picture.parts) {
    groups[group_words[static_cast<size_t>(part.group)].name][std::string(part.name) + "_bytes"] =
        part.bytes;
  }
  all["huge_bytes"] = picture.huge_bytes;
  all["huge_free_bytes"] = picture.huge_free_bytes;
  all["burst_bytes"] = picture.burst_bytes;
  all["sample_areas"] = {{"areas", picture.sample_areas},
                         {"bytes", picture.sample_area_bytes},
                         {"samples", picture.samples},
                         {"room_bytes", picture.sample_room_bytes}};
  all["guards"] = picture.guards;
  all["page_table_bytes"] = picture.page_table_bytes;
  all["swapped_bytes"] = picture.swapped_bytes;
  all["classes"] = list_of(picture.classes, class_object);
  all["survivors"] = list_of(picture.survivors, survivor_object);
  all["ages"] = list_of(picture.ages, age_object);
  all["largest_others"] = list_of(picture.largest_others, area_object);
  all["sites"] = list_of(title.sites, site_object);
  all["advice"] = list_of(advice, advice_object);
  return one_line(all) + "\n";
}

}  // namespace talus::tool
