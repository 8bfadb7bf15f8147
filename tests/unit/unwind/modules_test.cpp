// SPDX-License-Identifier: MIT
// tests/unit/unwind/modules: which module has code, and modules that come and go.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "compared.hpp"
#include "programs/shapes.hpp"
#include "unwind/modules.hpp"

namespace talus::core {
namespace {

using test::Comparison;
using unwind::Generation;
using unwind::Module;
using unwind::ModuleGenerations;
using unwind::ModuleList;

Module module_with(const void* code) {
  auto list = std::make_unique<ModuleList>();
  list->renew(0, 0, &talus_test_list_objects);
  return list->find(reinterpret_cast<uintptr_t>(code));
}

TEST(Modules, TheListHasWhatLibcHas) {
  const auto code = reinterpret_cast<const void*>(&test::dive);
  const Module listed = module_with(code);
  ASSERT_TRUE(listed.has(reinterpret_cast<uintptr_t>(code)));
  EXPECT_TRUE(listed.has(listed.header));
  EXPECT_EQ(module_with(&errno).end, 0u) << "no module";
  if (&talus_test_find_object == nullptr) GTEST_SKIP() << "this libc finds no module by address";
  unwind::FoundObject found{};
  ASSERT_EQ(talus_test_find_object(const_cast<void*>(code), &found), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(found.map_begin), listed.begin & ~uintptr_t{4095});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(found.unwind_header), listed.header);
}

TEST(Modules, TheProgramIsListedWithoutLibc) {
  auto list = std::make_unique<ModuleList>();
  list->renew(0, os::System::program_image(), nullptr);
  const auto code = reinterpret_cast<uintptr_t>(&test::dive);
  const Module by_libc = module_with(reinterpret_cast<const void*>(code));
  EXPECT_EQ(list->find(code).begin, by_libc.begin);
  EXPECT_EQ(list->find(code).end, by_libc.end);
  EXPECT_EQ(list->find(code).header, by_libc.header);
}

TEST(Modules, TheKernelsImageIsAlwaysListed) {
  const uintptr_t image = os::System::kernel_image();
  if (image == 0) GTEST_SKIP() << "the kernel has none here";
  auto list = std::make_unique<ModuleList>();
  list->renew(image, 0, nullptr);
  const Module module = list->find(image + 100);
  EXPECT_EQ(module.begin, image);
  EXPECT_TRUE(module.has(module.header) || module.header == 0);
}

// A list that is renewed all the time is read whole or not at all.
TEST(Modules, TheListIsRenewedBesideReaders) {
  auto list = std::make_unique<ModuleList>();
  list->renew(0, 0, &talus_test_list_objects);
  const auto code = reinterpret_cast<uintptr_t>(&test::dive);
  const Module expected = list->find(code);
  ASSERT_TRUE(expected.has(code));
  std::atomic<bool> is_over{false};
  std::thread renewer([&] {
    while (!is_over) list->renew(os::System::kernel_image(), 0, &talus_test_list_objects);
  });
  size_t found_count = 0;
  for (size_t i = 0; i < 200000; i++) {
    const Module found = list->find(code);
    if (found.end == 0) continue;
    found_count++;
    ASSERT_EQ(found.begin, expected.begin);
    ASSERT_EQ(found.end, expected.end);
    ASSERT_EQ(found.header, expected.header);
  }
  is_over = true;
  renewer.join();
  EXPECT_GT(found_count, 0u);
}

// Modules in memory of the test's own, which differ in one thing each.
struct Image {
  alignas(4096) unsigned char bytes[4 * 4096] = {};

  Module module(size_t header) {
    const auto begin = reinterpret_cast<uintptr_t>(bytes);
    return {begin, begin + sizeof bytes, begin + header};
  }
};

TEST(Modules, GenerationsStandForContents) {
  auto image = std::make_unique<Image>();
  auto generations = std::make_unique<ModuleGenerations>();
  const Module module = image->module(4096);
  const Generation first = generations->of(module);
  EXPECT_NE(first, Generation::none);
  EXPECT_EQ(generations->of(module), first);
  image->bytes[4096 + 9] = 1;  // the table for unwinding
  const Generation second = generations->of(module);
  EXPECT_NE(second, first);
  image->bytes[4096 + 9] = 0;
  EXPECT_EQ(generations->of(module), first) << "the same module is back";
  Module longer = module;
  longer.end -= 4096;
  EXPECT_NE(generations->of(longer), first);
  EXPECT_NE(generations->of(image->module(8192)), first);
  EXPECT_EQ(generations->of(image->module(0)), generations->of(image->module(0)));
  EXPECT_EQ(generations->of(Module{module.begin, module.end, 0}), Generation::none);
}

TEST(Modules, ABuildIdDistinguishes) {
  auto image = std::make_unique<Image>();
  unwind::ImageHead head{};
  std::memcpy(head.magic, "\177ELF", 4);
  head.facts[0] = 2;
  head.segments = 64;
  head.segment_bytes = 56;
  head.segment_count = 1;
  const unwind::ProgramSegment note{unwind::segment_note, 4, 512, 512, 512, 36, 36, 4};
  const uint32_t words[] = {4, 20, 3, 0x554e47, 1, 2, 3, 4, 5};
  std::memcpy(image->bytes, &head, sizeof head);
  std::memcpy(image->bytes + 64, &note, sizeof note);
  std::memcpy(image->bytes + 512, words, sizeof words);
  const Module module = image->module(4096);
  EXPECT_EQ(unwind::build_id_of(module), module.begin + 512 + 16);
  auto generations = std::make_unique<ModuleGenerations>();
  const Generation first = generations->of(module);
  image->bytes[512 + 20] = 9;
  EXPECT_NE(generations->of(module), first);
}

TEST(Modules, GenerationsEnd) {
  auto generations = std::make_unique<ModuleGenerations>();
  std::set<Generation> all;
  uintptr_t begin = uintptr_t{1} << 32;
  const auto header = reinterpret_cast<uintptr_t>(test::dive) & ~uintptr_t{7};
  for (size_t i = 0; i < 2 * ModuleGenerations::module_count_max; i++, begin += 4096 + 1) {
    all.insert(generations->of(Module{begin, header + 4096, header}));
  }
  EXPECT_EQ(all.count(Generation::none), 1u);
  EXPECT_GT(all.size(), ModuleGenerations::module_count_max * 9 / 10);
}

#if defined(LOADED_A)
// Two libraries come and go in turn, at the same addresses. Rules of one do not serve the other.
void come_and_go(const char* const (&paths)[2]) {
  Comparison comparison;
  std::set<void*> places[2];
  for (size_t i = 0; i < 100; i++) {
    void* loaded = dlopen(paths[i % 2], RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(loaded, nullptr) << dlerror();
    void* place = dlsym(loaded, "loaded_call");
    const auto call = reinterpret_cast<int (*)(void (*)(void*), void*)>(place);
    ASSERT_NE(call, nullptr);
    places[i % 2].insert(place);
    call(Comparison::look, &comparison);
    ASSERT_EQ(dlclose(loaded), 0);
    ASSERT_EQ(comparison.equal, comparison.frames) << i;
  }
  size_t shared = 0;
  for (void* place : places[0]) shared += places[1].count(place);
  EXPECT_GT(shared, 0u) << "both stood at one address, or this tells nothing";
}

TEST(Modules, LibrariesComeAndGo) { come_and_go({LOADED_A, LOADED_B}); }

TEST(Modules, LibrariesComeAndGoBesideWalks) {
  std::atomic<bool> is_over{false};
  Comparison comparison;
  std::thread walker([&] {
    while (!is_over) test::dive(20, Comparison::look, &comparison);
  });
  come_and_go({LOADED_A, LOADED_B});
  is_over = true;
  walker.join();
  EXPECT_EQ(comparison.equal, comparison.frames);
}
#endif

}  // namespace
}  // namespace talus::core
