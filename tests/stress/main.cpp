// SPDX-License-Identifier: MIT
// stress/main: runs one of the programs that this one holds: `stress pure_free`.
#include "stress.hpp"

int main(int argument_count, char** arguments) {
  const stress::Program* program =
      argument_count == 2 ? stress::Program::find(arguments[1]) : nullptr;
  if (program != nullptr) return program->run();
  fprintf(stderr, "usage: %s NAME, one of:\n", arguments[0]);
  stress::Program::for_each_name([](const char* name) { fprintf(stderr, "  %s\n", name); });
  return 2;
}
