// SPDX-License-Identifier: MIT
// tests/unit/machine/cgroup: limits are found in made-up trees of groups of both versions, in
// containers of every kind, and nowhere where there is nothing or nonsense.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "made_up_tree.hpp"

namespace talus::core {
namespace {

using Cgroup = test::MadeUpTree;

TEST_F(Cgroup, NothingIsThere) { expect(0, 0); }

TEST_F(Cgroup, TheOwnGroupOfVersion2) {
  write_self("cgroup", "0::/service\n");
  make_group(mounts());
  make_group(mounts() + "/service", "268435456\n", "250000 100000\n");
  expect(268435456, 3);
}

TEST_F(Cgroup, NoLimitsAtAll) {
  write_self("cgroup", "0::/service\n");
  make_group(mounts());
  make_group(mounts() + "/service", "max\n", "max 100000\n");
  expect(0, 0);
}

TEST_F(Cgroup, TheLeastOfAllGroupsAboveCounts) {
  write_self("cgroup", "0::/a/b/c/d\n");
  make_group(mounts());
  make_group(mounts() + "/a", "900000\n", "400000 100000\n");
  make_group(mounts() + "/a/b", "500000\n", "max 100000\n");
  make_group(mounts() + "/a/b/c", "max\n", "60000 50000\n");
  make_group(mounts() + "/a/b/c/d", "700000\n", "900000 100000\n");
  make_group(mounts() + "/a/b/c/d/e", "4096\n", "1000 100000\n");
  make_group(mounts() + "/other", "4096\n", "1000 100000\n");
  expect(500000, 2);
}

// Controllers are often not handed down to the innermost groups.
TEST_F(Cgroup, AGroupWithoutTheControllers) {
  write_self("cgroup", "0::/a/b\n");
  make_group(mounts());
  make_group(mounts() + "/a", "600000\n", "50000 100000\n");
  make_group(mounts() + "/a/b");
  expect(600000, 1);
}

TEST_F(Cgroup, ANamespaceShowsItsGroupAsTheMount) {
  write_self("cgroup", "0::/\n");
  make_group(mounts(), "8388608\n", "100000 100000\n");
  expect(8388608, 1);
}

TEST_F(Cgroup, AContainerWithThePathOfItsHost) {
  write_self("cgroup", "0::/docker/0123\n");
  make_group(mounts(), "8388608\n", "150000 100000\n");
  expect(8388608, 2);
}

// The process is in a group of the container, and only mountinfo says what is mounted.
TEST_F(Cgroup, AGroupInAContainerWithThePathOfItsHost) {
  write_self("cgroup", "0::/docker/0123/inner\n");
  write_self("mountinfo",
             "22 1 0:20 / /proc rw shared:1 - proc proc rw\n"
             "29 22 0:26 /docker/012 " +
                 folder() +
                 "/wrong ro - cgroup2 cgroup rw\n"
                 "30 22 0:26 /docker/0123 " +
                 mounts() +
                 " ro,nosuid master:7 shared:3 - "
                 "cgroup2 cgroup rw,nsdelegate\n");
  make_group(folder() + "/wrong3/inner", "5000\n", "");
  make_group(mounts(), "8388608\n", "150000 100000\n");
  make_group(mounts() + "/inner", "6000000\n", "max 100000\n");
  expect(6000000, 2);
}

TEST_F(Cgroup, AGroupOutsideOfTheNamespace) {
  write_self("cgroup", "0::/../sibling\n");
  make_group(mounts(), "8388608\n");
  make_group(folder() + "/sibling", "4096\n");
  expect(8388608, 0);
}

TEST_F(Cgroup, MountedInAnUnusualPlace) {
  const std::string point = folder() + "/odd place";
  write_self("cgroup", "0::/a\n");
  write_self("mountinfo", "30 22 0:26 / " + folder() + "/odd\\040place rw - cgroup2 none rw\n");
  make_group(point);
  make_group(point + "/a", "70000\n", "200000 100000\n");
  expect(70000, 2);
}

TEST_F(Cgroup, ARemovedGroup) {
  write_self("cgroup", "0::/gone (deleted)\n");
  make_group(mounts());
  make_group(mounts() + "/gone2", "4096\n");
  expect(0, 0);
}

TEST_F(Cgroup, Version1) {
  write_self("cgroup", "12:memory:/a/b\n11:name=systemd:/\n4:cpu,cpuacct:/x\n2:cpuset:/\n");
  make_memory_group(mounts() + "/memory", "9223372036854771712\n");
  make_memory_group(mounts() + "/memory/a", "1000000\n");
  make_memory_group(mounts() + "/memory/a/b", "9223372036854771712\n");
  make_cpu_group(mounts() + "/cpu", "", "");
  make_cpu_group(mounts() + "/cpu/x", "50000\n");
  make_memory_group(mounts() + "/cpuset", "4096\n");
  expect(1000000, 1);
}

TEST_F(Cgroup, Version1WithoutAnyLimit) {
  write_self("cgroup", "12:memory:/a\n4:cpu:/x\n");
  make_memory_group(mounts() + "/memory", "9223372036854771712\n");
  make_memory_group(mounts() + "/memory/a", "9223372036854710272\n");  // pages of 64 KiB
  make_cpu_group(mounts() + "/cpu", "-1\n");
  make_cpu_group(mounts() + "/cpu/x", "-1\n");
  expect(0, 0);
}

TEST_F(Cgroup, Version1WithTwoControllersInOneMount) {
  write_self("cgroup", "4:cpu,cpuacct:/x\n");
  make_cpu_group(mounts() + "/cpu,cpuacct", "-1\n");
  make_cpu_group(mounts() + "/cpu,cpuacct/x", "700000\n", "200000\n");
  expect(0, 4);
}

TEST_F(Cgroup, Version1ContainerWithThePathOfItsHost) {
  write_self("cgroup", "9:memory:/docker/77\n8:cpuacct,cpu:/docker/77/in\n");
  write_self("mountinfo", "31 22 0:26 /docker/77 " + mounts() +
                              "/memory ro - cgroup cgroup rw,memory\n"
                              "32 22 0:27 /docker/77 " +
                              mounts() + "/cpuacct,cpu ro - cgroup c rw,cpuacct,cpu\n");
  make_memory_group(mounts() + "/memory", "30000000\n");
  make_cpu_group(mounts() + "/cpuacct,cpu", "300000\n");
  make_cpu_group(mounts() + "/cpuacct,cpu/in", "150000\n");
  expect(30000000, 2);
}

TEST_F(Cgroup, HybridWithMemoryInVersion1) {
  write_self("cgroup", "5:memory:/m\n3:cpu:/c\n1:name=systemd:/s\n0::/s\n");
  make_memory_group(mounts() + "/memory", "");
  make_memory_group(mounts() + "/memory/m", "20000000\n");
  make_cpu_group(mounts() + "/cpu", "");
  make_cpu_group(mounts() + "/cpu/c", "100001\n");
  make_group(mounts() + "/unified");
  make_group(mounts() + "/unified/s");
  expect(20000000, 2);
}

TEST_F(Cgroup, HybridWithMemoryInVersion2) {
  write_self("cgroup", "3:cpu:/c\n0::/s\n");
  make_cpu_group(mounts() + "/cpu", "");
  make_cpu_group(mounts() + "/cpu/c", "100000\n");
  make_group(mounts() + "/unified");
  make_group(mounts() + "/unified/s", "12000000\n");
  expect(12000000, 1);
}

// In a hybrid system the group of version 2 may have the name of a mount of version 1.
TEST_F(Cgroup, AGroupThatIsCalledLikeAMount) {
  write_self("cgroup", "0::/memory\n");
  make_memory_group(mounts() + "/memory", "1000000\n");
  write(mounts() + "/memory/memory.max", "4096\n");
  make_group(mounts() + "/unified");
  make_group(mounts() + "/unified/memory", "12000000\n");
  expect(12000000, 0);
}

TEST_F(Cgroup, MemoryOfNoPageIsLittleAndNotUnlimited) {
  write_self("cgroup", "0::/\n");
  make_group(mounts(), "0\n");
  expect(4096, 0);
}

TEST_F(Cgroup, ProcessorsAreRoundedUp) {
  const struct {
    const char* text;
    size_t processors;
  } samples[] = {{"1 100000\n", 1},      {"50000 100000\n", 1},    {"100000 100000\n", 1},
                 {"100001 100000\n", 2}, {"1600000 100000\n", 16}, {"5000 1000\n", 5}};
  write_self("cgroup", "0::/\n");
  for (const auto& sample : samples) {
    make_group(mounts(), "", sample.text);
    EXPECT_EQ(read().cpu_quota, sample.processors) << sample.text;
  }
}

TEST_F(Cgroup, NonsenseIsNoLimit) {
  write_self("cgroup", "0::/\n");
  for (const char* text : {"\n", " ", "-5\n", "abc\n", "12abc\n", "12K\n", "0x5000\n", "+9000\n",
                           "99999999999999999999999999\n", "18446744073709551615\n", "maximum\n"}) {
    make_group(mounts(), text, text);
    const MachineLimits found = read();
    EXPECT_EQ(found.memory_bytes, 0u) << text;
    EXPECT_EQ(found.cpu_quota, 0u) << text;
  }
  for (const char* text : {"5000\n", "5000 \n", "5000 0\n", "0 100000\n", " 5000 100\n",
                           "5000 max\n", "5000 100x\n", "99999999999999999999999 100000\n"}) {
    make_group(mounts(), "", text);
    EXPECT_EQ(read().cpu_quota, 0u) << text;
  }
}

TEST_F(Cgroup, NonsenseInTheListOfGroups) {
  make_group(mounts(), "8388608\n");
  for (const char* text : {"", "\n", "0\n", ":::\n", "0:memory\n", "memory\n", "1:name=memory:/\n",
                           "0::/", "9:memory,:\n", "x"}) {
    write_self("cgroup", text);
    expect(0, 0);
  }
}

// Lines that no buffer holds are left out; those around them are not.
TEST_F(Cgroup, EndlessLines) {
  make_group(mounts(), "8388608\n");
  const std::string endless(20000, 'x');
  write_self("cgroup", "1:" + endless + ":/\n7:cpuset:/\n2:memory" + endless + "\n0::/\n");
  expect(8388608, 0);
  write_self("cgroup", "0::/" + endless + "\n");
  expect(0, 0);
  // Nor is the end of such a line a line, wherever a buffer ends.
  for (const size_t length : {1023u, 1024u, 1025u, 2047u, 2048u, 2049u, 4096u, 8192u}) {
    write_self("cgroup", std::string(length, 'x') + "0::/\n");
    expect(0, 0);
  }
}

TEST_F(Cgroup, ManyMounts) {
  std::string mounts_text;
  for (int i = 0; i < 2000; i++) {
    mounts_text += std::to_string(i) + " 1 0:9 / /some/where/" + std::string(i % 1500, 'y') +
                   " rw shared:1 - ext4 /dev/x rw\n";
  }
  write_self("cgroup", "0::/x\n");
  write_self("mountinfo", mounts_text + "2 1 0:9 / " + folder() + "/far rw - cgroup2 x rw\n");
  make_group(folder() + "/far/x", "50000\n");
  expect(50000, 0);
}

// A path that fits in no buffer is not cut to one that names another group, nor is its line.
TEST_F(Cgroup, LongPaths) {
  make_group(mounts(), "8388608\n");
  for (size_t length = 900; length < 1100; length++) {
    const std::string parent = "/" + std::string(200, 'a');
    const std::string group = parent + "/" + std::string(200, 'b') + "/" + std::string(200, 'c') +
                              "/" + std::string(length - 603, 'd');
    make_group(mounts() + group.substr(0, 250), "4096\n");
    write_self("cgroup", "0::" + group + "\n");
    const size_t found = read().memory_bytes;
    EXPECT_TRUE(found == 8388608 || (found == 0 && length >= 1020)) << length << ' ' << found;
  }
}

TEST_F(Cgroup, DeepGroups) {
  std::string group;
  write_self("cgroup", "");
  make_group(mounts(), "8388608\n", "300000 100000\n");
  for (int depth = 0; depth < 100; depth++) {
    group += "/" + std::to_string(depth % 10);
    make_group(mounts() + group, "max\n", "max 100000\n");
  }
  write_self("cgroup", "0::" + group + "\n");
  expect(8388608, 3);
  write_self("cgroup", "0::" + group + "///\n");
  expect(8388608, 3);
}

TEST_F(Cgroup, APipeOrAFolderInTheirPlaceBlocksNoRead) {
  write_self("cgroup", "0::/\n");
  make_group(mounts());
  ASSERT_EQ(mkfifo((mounts() + "/memory.max").c_str(), 0600), 0);
  ASSERT_EQ(mkdir((mounts() + "/cpu.max").c_str(), 0700), 0);
  expect(0, 0);
}

TEST_F(Cgroup, NoFileStaysOpenAndErrnoIsKept) {
  write_self("cgroup", "5:memory:/m\n4:cpu:/nowhere\n0::/s/t\n");
  make_group(mounts() + "/unified", "max\n");
  make_memory_group(mounts() + "/memory/m", "20000000\n");
  const int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(before);
  errno = 4711;
  expect(20000000, 0);
  EXPECT_EQ(errno, 4711);
  const int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(after);
  EXPECT_EQ(after, before);
}

TEST_F(Cgroup, RandomTextsAreSurvived) {
  std::mt19937 random(20250101);
  const std::string letters = "0123456789:/,. \n-maxcpumemory\\\xff";
  const std::string words[] = {"0::/a\n", "3:memory:/a\n", "4:cpu:/a/b\n", "cgroup2 x rw\n", " - "};
  const auto make_text = [&] {
    std::string text;
    for (size_t count = random() % 300; count != 0; count--) {
      if (random() % 8 == 0) {
        text += words[random() % 5];
      } else {
        text += letters[random() % letters.size()];
      }
    }
    return text;
  };
  for (int round = 0; round < 300; round++) {
    write_self("cgroup", make_text());
    write_self("mountinfo", make_text());
    make_group(mounts(), make_text(), make_text());
    make_memory_group(mounts() + "/memory/a", make_text());
    static_cast<void>(read());
  }
}

// What this machine says must not be nonsense, whatever it is.
TEST(CgroupOfThisMachine, IsRead) {
  const MachineLimits found = read_machine_limits();
  EXPECT_TRUE(found.memory_bytes == 0 || found.memory_bytes >= 4096);
  EXPECT_LT(found.memory_bytes, size_t{1} << 62);
  EXPECT_LT(found.cpu_quota, 100000u);
}

}  // namespace
}  // namespace talus::core
