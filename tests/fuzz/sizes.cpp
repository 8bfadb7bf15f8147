// SPDX-License-Identifier: MIT
// fuzz/sizes.cpp: the distributions, in parts of a thousand.
#include "sizes.hpp"

#include "places.hpp"
#include "talus/talus.h"

namespace fuzz {

size_t draw_size() {
  size_t part = draw(1000);
  const bool must_be_small = is_crowded() || self().prefers_small;
  if (must_be_small || (!settings.large && part >= 800)) part %= 600;
  if (part < 400) return draw(513);
  if (part < 600) return draw(8 * kib + 1);
  if (part < 720) return draw(40000);
  if (part < 800) {  // about the end of a class
    const size_t bytes = talus_good_size(draw(300000));
    return bytes + draw(3) - (bytes > 0 ? 1 : 0);
  }
  if (part < 900) return 30000 + draw(270000);
  if (part < 970) return draw(2 * mib);
  if (part < 990) return draw(8 * mib);
  if (part < 996) {  // about a power of two
    const size_t bytes = size_t{1} << draw(25);
    return bytes + draw(34) - (bytes > 17 ? 17 : 0);
  }
  if (settings.huge && part >= 998 && one_in(3)) return draw(400 * mib);
  return draw(24 * mib);
}

size_t draw_alignment() {
  const size_t part = draw(100);
  return size_t{1} << draw(part < 80 ? 13 : part < 97 ? 18 : 23);
}

size_t draw_senseless_size() {
  switch (draw(8)) {
    case 0:
      return SIZE_MAX;
    case 1:
      return SIZE_MAX - draw(70000);
    case 2:
      return PTRDIFF_MAX;
    case 3:
      return size_t{PTRDIFF_MAX} + 1 + draw(100000);
    case 4:
      return size_t{PTRDIFF_MAX} - draw(200000);
    case 5:
      return size_t{1} << 62;
    case 6:
      return (size_t{1} << 47) - draw(100000);
    default:
      return size_t{1} << (48 + draw(16));
  }
}

size_t draw_new_size(size_t bytes, size_t usable) {
  size_t wanted = 0;
  switch (draw(8)) {
    case 0:
      wanted = bytes + draw(64);
      break;
    case 1:
      wanted = bytes - draw(bytes < 64 ? bytes + 1 : 64);
      break;
    case 2:
      wanted = usable + draw(3);
      break;
    case 3:
      wanted = usable + usable / 8 + 1;
      break;
    case 4:
      wanted = bytes / 2;
      break;
    case 5:
      wanted = usable == 0 ? 0 : usable - draw(2);
      break;
    default:
      wanted = draw_size();
  }
  if (is_crowded() && wanted > usable) wanted = draw(usable + 1);
  return wanted == 0 ? 1 : wanted;
}

}  // namespace fuzz
