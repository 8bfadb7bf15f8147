// malloc_info writes well-formed XML that shows 64 MiB in use; other options are EINVAL (N29, F17).
//
// Well-formed: one root element, tags that nest, attributes quoted. True: after 64 MiB have been
// taken some number in it has grown by at least 56 MiB; a report on the libc's empty heap shows
// none. The checker below knows just the XML such a report needs.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../probe.hpp"

#include <cctype>
#include <malloc.h>
#include <string>
#include <vector>

namespace {

std::string report() {
  char* text = nullptr;
  std::size_t size = 0;
  FILE* stream = open_memstream(&text, &size);
  const int result = malloc_info(0, stream);
  std::fclose(stream);
  PROBE_EXPECT(result == 0, "malloc_info returns %d", result);
  std::string copy(text, size);
  free(text);
  return copy;
}

// The tag's inside without the brackets: "name a="1" b='2'" with an optional final slash.
bool has_sound_attributes(const std::string& tag, std::size_t from) {
  std::size_t at = from;
  while (true) {
    while (at < tag.size() && std::isspace(static_cast<unsigned char>(tag[at]))) ++at;
    if (at == tag.size()) return true;
    const std::size_t equals = tag.find('=', at);
    if (equals == std::string::npos || equals + 1 >= tag.size()) return false;
    const char quote = tag[equals + 1];
    if (quote != '"' && quote != '\'') return false;
    const std::size_t end = tag.find(quote, equals + 2);
    if (end == std::string::npos) return false;
    at = end + 1;
  }
}

std::string name_of(const std::string& tag) {
  std::size_t end = 0;
  while (end < tag.size() && !std::isspace(static_cast<unsigned char>(tag[end]))) ++end;
  return tag.substr(0, end);
}

// One tag of the text; false when it breaks the nesting. `roots` counts elements at depth 0.
bool accept_tag(std::string tag, std::vector<std::string>& open, int& roots) {
  if (tag.empty()) return false;
  if (tag[0] == '?' || tag[0] == '!') return open.empty() && roots == 0;
  if (tag[0] == '/') {
    if (open.empty() || open.back() != name_of(tag.substr(1))) return false;
    open.pop_back();
    return true;
  }
  const bool is_closed = tag.back() == '/';
  if (is_closed) tag.pop_back();
  const std::string name = name_of(tag);
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0]))) return false;
  if (!has_sound_attributes(tag, name.size())) return false;
  if (open.empty()) ++roots;
  if (!is_closed) open.push_back(name);
  return true;
}

bool is_well_formed(const std::string& text) {
  std::vector<std::string> open;
  int roots = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] != '<') {
      const bool is_space = std::isspace(static_cast<unsigned char>(text[at])) != 0;
      if (text[at] == '>' || (open.empty() && !is_space)) return false;
      ++at;
      continue;
    }
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return false;
    if (!accept_tag(text.substr(at + 1, end - at - 1), open, roots)) return false;
    at = end + 1;
  }
  return open.empty() && roots == 1;
}

unsigned long long largest_number(const std::string& text) {
  unsigned long long largest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) continue;
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text.c_str() + i, &end, 10);
    if (value > largest && value < probe::gib) largest = value;
    i = static_cast<std::size_t>(end - text.c_str());
  }
  return largest;
}

}  // namespace

int main() {
  const std::string before = report();
  PROBE_EXPECT(is_well_formed(before), "malloc_info's XML: %.300s", before.c_str());
  std::vector<void*> blocks(64 * 1024);
  for (void*& block : blocks) {
    block = probe::opaque(malloc(1024));
    probe::fill(block, 1024, 1);
  }
  const std::string after = report();
  PROBE_EXPECT(is_well_formed(after), "malloc_info's XML under load: %.300s", after.c_str());
  PROBE_EXPECT(largest_number(after) >= largest_number(before) + 56 * probe::mib,
               "64 MiB in use, largest number grew from %llu to %llu", largest_number(before),
               largest_number(after));
  for (void* block : blocks) free(block);

  FILE* sink = std::fopen("/dev/null", "w");
  PROBE_EXPECT(malloc_info(1, sink) != 0, "malloc_info takes an unknown option");
  std::fclose(sink);
  return probe::verdict();
}
