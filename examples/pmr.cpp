// SPDX-License-Identifier: MIT
// examples/pmr: Talus as a std::pmr::memory_resource, directly and below a pool of the standard
// library that is dropped as a whole.
#include <cstdio>
#include <list>
#include <memory_resource>
#include <string>
#include <talus/talus.hpp>
#include <vector>

int main() {
  std::pmr::vector<std::pmr::string> names{talus::default_resource()};
  for (int i = 0; i < 1000; i++) {
    names.emplace_back("a name that is too long for the string itself, number ");
    names.back() += std::to_string(i);
  }
  if (names.back().get_allocator().resource() != talus::default_resource()) return 1;
  std::printf("%zu names, the last: %s\n", names.size(), names.back().c_str());

  // All that a request needs comes from a few blocks of Talus, which go when the request ends.
  std::pmr::monotonic_buffer_resource request{4096, talus::default_resource()};
  std::pmr::list<std::pmr::string> words{&request};
  for (int i = 0; i < 1000; i++) words.emplace_back("word");
  std::printf("%zu words\n", words.size());

  // Everything that does not name a resource.
  std::pmr::set_default_resource(talus::default_resource());
  const std::pmr::vector<int> numbers(1000, 1);
  return talus_usable_size(numbers.data()) >= 1000 * sizeof(int) ? 0 : 1;
}
