// SPDX-License-Identifier: MIT
//
// Owns: the page of `talus why`: one line of all memory, a bar for each part, slabs by class, and
// what would help.
// Invariant: a line has at most 80 columns.
// Must not know: where the bytes come from.

#include "why/show_why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "command.hpp"

namespace talus::tool {
namespace {

struct GroupLook {
  const char* colour;
  const char* cell;  // of the line of all memory
  char plain_cell;
};
constexpr GroupLook groups[part_group_count] = {
    {"32", "█", '#'}, {"33", "▒", 'o'}, {"36", "▓", '+'}, {"34", "░", '.'}};

constexpr size_t bar_cells = 22, classes_max = 8, name_bytes_max = 40, site_bytes_max = 51,
                 pinning_bytes_max = 36;

const GroupLook& look_of(PartGroup group) { return groups[static_cast<size_t>(group)]; }

std::string percent(uint64_t part, uint64_t all) {
  if (all == 0) return "";
  const double share = 100 * static_cast<double>(part) / static_cast<double>(all);
  return part != 0 && share < 0.5 ? "<1 %" : fmt::format("{:.0f} %", share);
}

std::string cells_of(const Terminal& terminal, PartGroup group, size_t cells) {
  const GroupLook& look = look_of(group);
  std::string text;
  for (size_t i = 0; i < cells; i++) {
    if (terminal.has_unicode) {
      text += look.cell;
    } else {
      text += look.plain_cell;
    }
  }
  return coloured(terminal, look.colour, text);
}

// All memory in one line, and what its characters mean.
std::string line_of_all(const Terminal& terminal, const Picture& picture) {
  constexpr size_t cells = 76;
  const uint64_t sum = picture.total + picture.beyond_total;
  std::string line = "  ", legend = " ";
  uint64_t before = 0;
  const auto cell_at = [&](uint64_t bytes) {
    return sum == 0 ? 0
                    : static_cast<size_t>(
                          static_cast<double>(bytes) / static_cast<double>(sum) * cells + 0.5);
  };
  for (size_t i = 0; i < part_group_count; i++) {
    const auto group = static_cast<PartGroup>(i);
    const uint64_t bytes = picture.group(group);
    line += cells_of(terminal, group, cell_at(before + bytes) - cell_at(before));
    before += bytes;
    legend += fmt::format(" {} {} {} ", cells_of(terminal, group, 1), group_words[i].label,
                          percent(bytes, picture.total));
  }
  return line + "\n" + legend + "\n";
}

std::string bars(const Terminal& terminal, const Picture& picture) {
  std::string text;
  uint64_t largest = 1;
  for (const Part& part : picture.parts) largest = std::max(largest, part.bytes);
  for (size_t i = 0; i < part_group_count; i++) {
    const auto group = static_cast<PartGroup>(i);
    const uint64_t bytes = picture.group(group);
    text += coloured(terminal, "1",
                     fmt::format("{:<34}{:>12}{:>7}", group_words[i].label, as_size(bytes),
                                 percent(bytes, picture.total))) +
            "\n";
    for (const Part& part : picture.parts) {
      if (part.group != group || part.bytes == 0) continue;
      text += fmt::format("  {:<32}{:>12}{:>7}  {}\n", part.label, as_size(part.bytes),
                          percent(part.bytes, picture.total),
                          coloured(terminal, look_of(group).colour,
                                   bar_of(terminal, part.bytes, largest, bar_cells)));
    }
  }
  if (picture.beyond_total != 0) {
    text += fmt::format("{:<34}{:>12}\n", "less: pages of zeros, only read",
                        "-" + as_size(picture.beyond_total));
  }
  return text;
}

// What stands beside resident memory.
std::string beside(const Picture& picture) {
  std::string text;
  if (picture.huge_bytes != 0) {
    text += fmt::format("in huge pages: {}, of which {} have no live block\n",
                        as_size(picture.huge_bytes), as_size(picture.huge_free_bytes));
  }
  if (picture.burst_bytes != 0) {
    text +=
        fmt::format("kept for the next burst: {} of free memory, until three bursts fail to come\n",
                    as_size(picture.burst_bytes));
  }
  if (picture.sample_areas != 0) {
    text += fmt::format("areas of sampled blocks: {} of {}, {} samples, {} free\n",
                        picture.sample_areas, as_size(picture.sample_area_bytes), picture.samples,
                        as_size(picture.sample_room_bytes));
  }
  if (picture.guards != 0) text += fmt::format("guards: {}, without memory\n", picture.guards);
  if (picture.is_resident) {
    text += fmt::format("beside resident memory: page tables {}, swapped out {}\n",
                        as_size(picture.page_table_bytes), as_size(picture.swapped_bytes));
  }
  for (const MappedArea& area : picture.largest_others) {
    if (area.resident_bytes < picture.total / 20) continue;
    const std::string file = area.path.substr(area.path.rfind('/') + 1);
    const std::string name =
        area.path.empty() ? fmt::format("anonymous memory at {:x}", area.begin) : printable(file);
    text += fmt::format("not Talus', large: {} of {}\n", as_size(area.resident_bytes),
                        name.substr(0, name_bytes_max));
  }
  return text;
}

std::string as_time(uint64_t ms) {
  if (ms < 10000) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000);
  if (ms < 100000) return fmt::format("{} s", ms / 1000);
  return ms < 6000000 ? fmt::format("{} min", ms / 60000) : fmt::format("{} h", ms / 3600000);
}

std::string class_table(const Terminal& terminal, const Picture& picture) {
  std::string text =
      coloured(terminal, "1", "slabs by class") + "\n" +
      fmt::format("  {:>8} {:>6} {:>10} {:>5} {:>10} {:>10} {:>7} {}\n", "class", "slabs",
                  "resident", "live", "pinned", "can go", "age", "0 to 100 %");
  size_t shown = 0;
  for (const ClassPicture& row : picture.classes) {
    if (row.pinned + row.free_pages == 0 || shown == classes_max) break;
    shown++;
    text += fmt::format("  {:>6} B {:>6} {:>10} {:>5} {:>10} {:>10} {:>7} |{}|\n", row.block_bytes,
                        row.slabs, as_size(row.resident), percent(row.live, row.resident),
                        as_size(row.pinned), as_size(row.free_pages),
                        row.age_ms ? as_time(*row.age_ms) : "?", spark_of(terminal, row.occupancy));
  }
  return shown == 0 ? "" : text;
}

std::string survivor_table(const Terminal& terminal, const Picture& picture) {
  std::string text =
      coloured(terminal, "1", "slabs by survivors") + "\n" +
      fmt::format("  {:<18}{:>8}{:>13}{:>13}\n", "live blocks", "slabs", "resident", "free");
  for (const SurvivorPicture& row : picture.survivors) {
    if (row.slabs == 0) continue;
    text += fmt::format("  {:<18}{:>8}{:>13}{:>13}\n", row.label, row.slabs, as_size(row.resident),
                        as_size(row.free));
  }
  return text;
}

std::string age_table(const Terminal& terminal, const Picture& picture) {
  if (picture.ages.empty()) return "";
  std::string text =
      coloured(terminal, "1", "slabs by age") + "\n" +
      fmt::format("  {:<18}{:>8}{:>13}{:>13}\n", "since last served", "slabs", "resident", "free");
  for (const AgePicture& row : picture.ages) {
    if (row.slabs == 0) continue;
    text += fmt::format("  {:<18}{:>8}{:>13}{:>13}\n", row.label, row.slabs, as_size(row.resident),
                        as_size(row.free));
  }
  return text;
}

std::string site_table(const Terminal& terminal, const std::vector<SitePicture>& sites) {
  if (sites.empty()) return "";
  std::string text =
      coloured(terminal, "1", fmt::format("{:<54}{:>12}{:>12}", "call sites", "live", "pinned")) +
      "\n";
  for (const SitePicture& site : sites) {
    text += fmt::format("  {:<52}{:>12}{:>12}\n", printable(site.name).substr(0, site_bytes_max),
                        as_size(site.live), as_size(site.pinned));
  }
  return text + "\n";
}

std::string advice_text(const Terminal& terminal, const Picture& picture,
                        const std::vector<Advice>& advice) {
  if (!picture.is_resident) {
    return "What would help is known of a running process only.\n";
  }
  if (advice.empty()) {
    return fmt::format("{} No option or call would give back as much as a hundredth.\n",
                       coloured(terminal, "1;32", "Nothing would help."));
  }
  std::string text = fmt::format("{} {}.\n  It gives back up to {}. It {}.\n",
                                 coloured(terminal, "1;32", "What helps most:"), advice[0].what,
                                 as_size(advice[0].bytes), advice[0].why);
  for (size_t i = 1; i < advice.size(); i++) {
    text += fmt::format("  or {:<40}{:>12}\n", advice[i].what, as_size(advice[i].bytes));
  }
  return text;
}

// What no option and no call of the allocator changes.
std::string limits_of_advice(const Picture& picture, const std::vector<SitePicture>& sites) {
  std::string text;
  if (picture.part("pinned") > picture.total / 10) {
    text += fmt::format(
        "{} are free blocks on pages with live ones.\n"
        "  They serve new blocks of their size. Their pages go back once the blocks\n"
        "  beside them are freed.\n",
        as_size(picture.part("pinned")));
    const auto most = std::max_element(
        sites.begin(), sites.end(),
        [](const SitePicture& a, const SitePicture& b) { return a.pinned < b.pinned; });
    if (most != sites.end() && most->pinned > picture.part("pinned") / 20) {
      text += fmt::format("  Of them {} lie beside blocks of {}.\n", as_size(most->pinned),
                          printable(most->name).substr(0, pinning_bytes_max));
    }
  }
  if (picture.group(PartGroup::others) > picture.total / 2) {
    text +=
        fmt::format("Most of it, {}, is not Talus'.\n", as_size(picture.group(PartGroup::others)));
  } else if (picture.group(PartGroup::in_use) > picture.total / 2) {
    text += fmt::format("Most of it, {}, is in use by the program.\n",
                        as_size(picture.group(PartGroup::in_use)));
  }
  return text;
}

}  // namespace

std::string show_why(const Terminal& terminal, const PictureTitle& title, const Picture& picture,
                     const std::vector<Advice>& advice) {
  std::string text =
      coloured(terminal, "1",
               fmt::format("{}, process {}: {} {}", printable(title.name), title.process_id,
                           as_size(picture.total), picture.is_resident ? "resident" : "in use"));
  text += fmt::format("\ntalus {}\n", printable(title.version));
  if (!title.is_consistent) text += fmt::format("not consistent: {}\n", title.why_not);
  text += "\n";
  if (!picture.is_resident) {
    text += "The pages are not known, so all of Talus counts as resident.\n\n";
  }
  text += line_of_all(terminal, picture) + "\n" + bars(terminal, picture) + "\n";
  const std::string more = beside(picture);
  if (!more.empty()) text += more + "\n";
  const std::string classes = class_table(terminal, picture);
  if (!classes.empty()) {
    text += classes + survivor_table(terminal, picture) + age_table(terminal, picture) + "\n";
  }
  return text + site_table(terminal, title.sites) + limits_of_advice(picture, title.sites) +
         advice_text(terminal, picture, advice);
}

}  // namespace talus::tool
