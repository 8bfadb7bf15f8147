// SPDX-License-Identifier: MIT
// tests/unit/machine/made_up_tree: a folder that stands for /proc/self and /sys/fs/cgroup.
//
// Owns: a temporary folder with made-up files of the kernel, removed at the end.
// Called on: a test's main thread.
#ifndef TALUS_TESTS_UNIT_MACHINE_MADE_UP_TREE_HPP
#define TALUS_TESTS_UNIT_MACHINE_MADE_UP_TREE_HPP

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "machine/cgroup.hpp"

namespace talus::core::test {

class MadeUpTree : public testing::Test {
 protected:
  MadeUpTree() {
    char name[] = "/tmp/talus-groups-XXXXXX";
    folder_ = mkdtemp(name);
    self_ = folder_ + "/self";
    mounts_ = folder_ + "/mounts";
    std::filesystem::create_directories(self_);
    std::filesystem::create_directories(mounts_);
  }
  ~MadeUpTree() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  const std::string& folder() const { return folder_; }
  const std::string& mounts() const { return mounts_; }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  void write_self(const std::string& name, const std::string& text) const {
    write(self_ + "/" + name, text);
  }

  // A group of version 2 with these texts in its files; empty: it has no such file.
  void make_group(const std::string& path, const std::string& memory = "",
                  const std::string& cpu = "") const {
    write(path + "/cgroup.controllers", "cpu memory\n");
    write(path + "/cgroup.procs", "1\n");
    if (!memory.empty()) write(path + "/memory.max", memory);
    if (!cpu.empty()) write(path + "/cpu.max", cpu);
  }
  // Groups of version 1.
  void make_memory_group(const std::string& path, const std::string& memory) const {
    write(path + "/cgroup.procs", "1\n");
    if (!memory.empty()) write(path + "/memory.limit_in_bytes", memory);
  }
  void make_cpu_group(const std::string& path, const std::string& quota,
                      const std::string& period = "100000\n") const {
    write(path + "/cgroup.procs", "1\n");
    if (!quota.empty()) write(path + "/cpu.cfs_quota_us", quota);
    if (!period.empty()) write(path + "/cpu.cfs_period_us", period);
  }

  MachineLimits read() const {
    const std::string own_groups = self_ + "/cgroup";
    const std::string mount_table = self_ + "/mountinfo";
    return read_machine_limits({own_groups.c_str(), mount_table.c_str(), mounts_.c_str()});
  }
  void expect(size_t memory_bytes, size_t cpu_quota) const {
    const MachineLimits found = read();
    EXPECT_EQ(found.memory_bytes, memory_bytes);
    EXPECT_EQ(found.cpu_quota, cpu_quota);
  }

 private:
  std::string folder_, self_, mounts_;  // constant
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_MACHINE_MADE_UP_TREE_HPP
