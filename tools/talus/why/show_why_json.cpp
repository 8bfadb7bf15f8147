// SPDX-License-Identifier: MIT
//
// Owns: the JSON form of `talus why`: one object on one line.
// Invariant: `parts` sum to total_bytes and beyond_total_bytes.
// Must not know: where the bytes come from.

#include <fmt/format.h>

#include "json_text.hpp"
#include "why/show_why.hpp"

namespace talus::tool {
namespace {

template <typename Rows, typename Show>
std::string list_of(const Rows& rows, const Show& show) {
  std::string text;
  for (const auto& row : rows) text += (text.empty() ? "" : ",") + show(row);
  return "[" + text + "]";
}

std::string joined(std::span<const uint64_t> values) {
  std::string text;
  for (const uint64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

std::string class_object(const ClassPicture& row) {
  return fmt::format(
      "{{\"block_bytes\":{},\"slabs\":{},\"resident_bytes\":{},\"live_bytes\":{},"
      "\"pinned_bytes\":{},\"free_page_bytes\":{},\"slabs_by_eighths_live\":[{}]}}",
      row.block_bytes, row.slabs, row.resident, row.live, row.pinned, row.free_pages,
      joined(row.occupancy));
}

std::string survivor_object(const SurvivorPicture& row) {
  return fmt::format("{{\"live_blocks\":{},\"slabs\":{},\"resident_bytes\":{},\"free_bytes\":{}}}",
                     json_string(row.label), row.slabs, row.resident, row.free);
}

std::string area_object(const MappedArea& area) {
  return fmt::format("{{\"address\":\"{:#x}\",\"name\":{},\"resident_bytes\":{}}}", area.begin,
                     json_string(area.path), area.resident_bytes);
}

std::string advice_object(const Advice& advice) {
  return fmt::format("{{\"name\":{},\"what\":{},\"bytes\":{}}}", json_string(advice.name),
                     json_string(advice.what), advice.bytes);
}

}  // namespace

std::string show_why_json(const PictureTitle& title, const Picture& picture,
                          const std::vector<Advice>& advice) {
  std::string text = fmt::format(
      "{{\"program\":{},\"process\":{},\"version\":{},\"consistent\":{},\"pages_known\":{},"
      "\"total_bytes\":{},\"beyond_total_bytes\":{},\"parts\":{{",
      json_string(title.name), title.process_id, json_string(title.version), title.is_consistent,
      picture.is_resident, picture.total, picture.beyond_total);
  const char* separator = "";
  for (size_t i = 0; i < part_group_count; i++) {
    text += fmt::format("{}\"{}\":{{", separator, group_words[i].name);
    separator = "";
    for (const Part& part : picture.parts) {
      if (part.group != static_cast<PartGroup>(i)) continue;
      text += fmt::format("{}\"{}_bytes\":{}", separator, part.name, part.bytes);
      separator = ",";
    }
    text += "}";
  }
  text += fmt::format(
      "}},\"huge_bytes\":{},\"huge_free_bytes\":{},\"guards\":{},\"page_table_bytes\":{},"
      "\"swapped_bytes\":{},\"classes\":{},\"survivors\":{},\"largest_others\":{},\"advice\":{}}}",
      picture.huge_bytes, picture.huge_free_bytes, picture.guards, picture.page_table_bytes,
      picture.swapped_bytes, list_of(picture.classes, class_object),
      list_of(picture.survivors, survivor_object), list_of(picture.largest_others, area_object),
      list_of(advice, advice_object));
  return text + "\n";
}

}  // namespace talus::tool
