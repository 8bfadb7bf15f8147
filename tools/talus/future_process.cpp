// SPDX-License-Identifier: MIT
//
// Owns: the facts about a program that is not yet started, see future_process.hpp.
// Invariant: names are those that the kernel will pass to the process.
// Must not know: what options mean.

#include "future_process.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace talus::tool {

std::vector<std::string> own_environment() {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; variable++) result.emplace_back(*variable);
  return result;
}

std::optional<std::string> program_text_of(const std::string& path,
                                           const std::optional<ElfFacts>& facts) {
  const bool has_talus = facts && facts->talus_version;
  return read_text_symbol(path, "talus_options",
                          has_talus ? SymbolScope::any : SymbolScope::exported);
}

ProcessFacts facts_of_program(const Program& program) {
  ProcessFacts facts;
  facts.environment = own_environment();
  facts.program_text = program_text_of(program.image, program.facts);
  facts.called_as = program.called_as;
  std::error_code error;
  facts.file = std::filesystem::canonical(program.image, error).string();
  if (error) facts.file = program.image;
  facts.user_id = ::geteuid();
  facts.is_secure = gains_privileges(program.image);
  return facts;
}

}  // namespace talus::tool
