// SPDX-License-Identifier: MIT
// tests/unit/machine/pressure: the number in the kernel's line about memory pressure.
#include "machine/pressure.hpp"

#include "made_up_tree.hpp"

namespace talus::core {
namespace {

constexpr const char second_line[] =
    "some avg10=12.34 avg60=1.00 avg300=0.26 total=9939545\n"
    "full avg10=56.78 avg60=0.00 avg300=0.00 total=8753274\n";

TEST(Pressure, IsReadInHundredths) {
  EXPECT_EQ(pressure_in("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"), 0u);
  EXPECT_EQ(pressure_in("some avg10=0.07 avg60=0.00"), 7u);
  EXPECT_EQ(pressure_in(second_line), 1234u);
  EXPECT_EQ(pressure_in("some avg10=99.99 avg60=0.00"), 9999u);
  EXPECT_EQ(pressure_in("some avg10=100.00 avg60=0.00"), pressure_max);
}

TEST(Pressure, NonsenseIsNone) {
  for (const char* text :
       {"", "\n", "some", "some avg10=", "some avg10=5", "some avg10=5 ", "some avg10=5. ",
        "some avg10=5.1 ", "some avg10=5.123 ", "some avg10=-5.12 ", "some avg60=5.12 ",
        "full avg10=5.12 ", "some avg10=.12 ", "some avg10=5.12", "some avg10=x.12 ",
        "some avg10=99999999999999999999999.12 "}) {
    EXPECT_EQ(pressure_in(text), 0u) << text;
  }
}

using PressureFile = test::MadeUpTree;

TEST_F(PressureFile, IsRead) {
  write_self("memory", second_line);
  EXPECT_EQ(read_memory_pressure((folder() + "/self/memory").c_str()), 1234u);
  EXPECT_EQ(read_memory_pressure((folder() + "/self/none").c_str()), 0u);
  EXPECT_EQ(read_memory_pressure(folder().c_str()), 0u);
  EXPECT_LE(read_memory_pressure(), pressure_max);
}

}  // namespace
}  // namespace talus::core
