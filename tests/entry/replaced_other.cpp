// SPDX-License-Identifier: MIT
// tests/entry/replaced_other: a second unit of replaced_main. It has malloc by its usual name, and
// the operators that the first unit defines.
#include <string>

#include <talus/override.hpp>

std::string* text_of_other_unit();
std::string* text_of_other_unit() { return new std::string(100, 'y'); }
void* block_of_other_unit();
void* block_of_other_unit() { return malloc(100); }
