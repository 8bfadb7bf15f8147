// SPDX-License-Identifier: MIT
// tests/unit/statistics/escaped: names of any bytes, as each form of output carries them.
#include <gtest/gtest.h>

#include <string>

#include "statistics/escaped.hpp"

namespace talus::core {
namespace {

std::string escaped(const std::string& name, NameForm form) {
  TextBuffer<512> text;
  put_escaped(text, name.c_str(), form);
  return text.data();
}

const std::string unknown = "\xef\xbf\xbd";

TEST(Escaped, EachFormHasItsOwnWay) {
  const std::string name = "a\"b\\c\nd\te&<f>'\x01\x1f\x7f";
  EXPECT_EQ(escaped(name, NameForm::people), "a\"b\\c?d?e&<f>'???");
  EXPECT_EQ(escaped(name, NameForm::json), "a\\\"b\\\\c\\u000ad\\u0009e&<f>'\\u0001\\u001f\x7f");
  EXPECT_EQ(escaped(name, NameForm::openmetrics), "a\\\"b\\\\c\\nd\te&<f>'\x01\x1f\x7f");
  EXPECT_EQ(escaped(name, NameForm::xml),
            "a&quot;b\\c&#10;d&#9;e&amp;&lt;f&gt;'" + unknown + unknown + "\x7f");
  EXPECT_EQ(escaped("\r\xef\xbf\xbf", NameForm::xml), "&#13;" + unknown);
}

TEST(Escaped, WholeCharactersStay) {
  for (const std::string name : {"", "\xc2\xa0", "\xc3\xa9\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                 "\xed\x9f\xbf\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\xe0\xa0\x80"}) {
    for (const NameForm form :
         {NameForm::people, NameForm::json, NameForm::openmetrics, NameForm::xml}) {
      EXPECT_EQ(escaped(name, form), name);
    }
  }
  EXPECT_EQ(escaped("\xc2\x9b"
                    "31m",
                    NameForm::people),
            "?31m");  // steers terminals, too
}

// Cut short, out of order, longer than needed, half of a pair, or beyond the last: each byte is
// told, and what follows is read on.
TEST(Escaped, WhatIsNoUtf8IsMarked) {
  const auto marks = [](size_t count) {
    std::string text;
    while (count-- > 0) text += unknown;
    return text;
  };
  const struct {
    const char* name;
    size_t marked;
  } cases[] = {{"\x80", 1},
               {"\xff", 1},
               {"\xc3", 1},
               {"\xe2\x82", 2},
               {"\xf0\x9f\x98", 3},
               {"\xc0\x80", 2},
               {"\xc1\xbf", 2},
               {"\xe0\x9f\xbf", 3},
               {"\xf0\x8f\xbf\xbf", 4},
               {"\xed\xa0\x80", 3},
               {"\xf4\x90\x80\x80", 4},
               {"\xf8\x88\x80\x80\x80", 5}};
  for (const auto& at : cases) {
    const std::string name = at.name;
    for (const NameForm form : {NameForm::json, NameForm::openmetrics, NameForm::xml}) {
      EXPECT_EQ(escaped("x" + name + "y", form), "x" + marks(at.marked) + "y");
      EXPECT_EQ(escaped(name, form), marks(at.marked));
    }
    EXPECT_EQ(escaped(name, NameForm::people), std::string(at.marked, '?'));
  }
}

TEST(Escaped, NoByteBecomesMoreThanWasSaid) {
  for (int byte = 1; byte < 256; byte++) {
    const std::string name(1, static_cast<char>(byte));
    for (const NameForm form :
         {NameForm::people, NameForm::json, NameForm::openmetrics, NameForm::xml}) {
      EXPECT_LE(escaped(name, form).size(), escaped_bytes_max) << byte;
    }
  }
}

}  // namespace
}  // namespace talus::core
