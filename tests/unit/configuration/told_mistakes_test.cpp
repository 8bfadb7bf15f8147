// SPDX-License-Identifier: MIT
//
// Owns: the tests of configuration/told_mistakes: what is inherited is silent, what is handed on is
// what a child inherits, and no value of the variable does harm.
#include "configuration/told_mistakes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace talus::core {
namespace {

std::string value_of(const ToldMistakes& told) {
  ToldText text;
  told.put(text);
  const std::string whole = text.data();
  return whole.substr(whole.find('=') + 1);
}

TEST(ToldMistakes, AreToldOnceAndHandedOn) {
  ToldMistakes parent;
  EXPECT_FALSE(parent.has_new());
  EXPECT_TRUE(parent.is_new("one"));
  EXPECT_FALSE(parent.is_new("one"));
  EXPECT_TRUE(parent.is_new("two"));
  EXPECT_TRUE(parent.has_new());
  ToldMistakes child;
  child.inherit(value_of(parent).c_str());
  EXPECT_FALSE(child.is_new("one"));
  EXPECT_FALSE(child.is_new("two"));
  EXPECT_FALSE(child.has_new());
  EXPECT_TRUE(child.is_new("three"));
  EXPECT_EQ(value_of(child).substr(0, value_of(parent).size()), value_of(parent));
}

TEST(ToldMistakes, BeyondTheirBoundAreToldAgain) {
  ToldMistakes told;
  for (size_t i = 0; i < told_mistakes_max; i++) {
    EXPECT_TRUE(told.is_new(std::to_string(i).c_str()));
  }
  EXPECT_TRUE(told.is_new("beyond"));
  EXPECT_TRUE(told.is_new("beyond"));
  ToldMistakes child;
  child.inherit(value_of(told).c_str());
  for (size_t i = 0; i < told_mistakes_max; i++) {
    EXPECT_FALSE(child.is_new(std::to_string(i).c_str())) << i;
  }
  EXPECT_TRUE(child.is_new("beyond"));
  EXPECT_FALSE(child.has_new());
  EXPECT_EQ(value_of(child).size(), told_mistakes_max * (told_hash_letters + 1) - 1);
}

TEST(ToldMistakes, WhatIsNoListOfHashesEndsIt) {
  for (const char* value : {"", ",", "1234567", "123456789", "1234567g", "zzzzzzzz", "-1234567"}) {
    ToldMistakes told;
    told.inherit(value);
    EXPECT_TRUE(told.is_new("one")) << value;
  }
  ToldMistakes parent;
  EXPECT_TRUE(parent.is_new("one"));
  ToldMistakes child;
  child.inherit((value_of(parent) + ",x," + std::string(100000, '1')).c_str());
  EXPECT_FALSE(child.is_new("one"));
}

}  // namespace
}  // namespace talus::core
