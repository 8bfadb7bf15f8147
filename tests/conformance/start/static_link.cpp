// The allocator as a static library: programs linked with -static pass the probes too (N47).
//
// CONFORMANCE_STATIC_LIB names the archive; without it, or without a compiler or static libc, the
// probe is skipped. Each listed probe is linked with it, without a clash of symbols. It must hold
// the archive's malloc and no part of libc's own (glibc's inner _int_malloc tells), and it must
// pass.
// SPDX-License-Identifier: MIT
#include "../relaunch.hpp"

#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

const char* const programs[] = {"api/plain_c.c",       "api/alignment.cpp",
                                "api/overflow.cpp",    "api/alignment_errors.cpp",
                                "api/zero_size.cpp",   "api/realloc_contents.cpp",
                                "api/usable_size.cpp", "api/mallinfo2.cpp",
                                "cxx/operators.cpp",   "threads/tls_destructors.cpp"};

bool runs(const std::string& command) { return std::system(command.c_str()) == 0; }

std::string shell_word(const fs::path& path) { return "'" + path.string() + "'"; }

std::string compiler_for(const char* source) {
  const bool is_c = fs::path(source).extension() == ".c";
  const char* given = getenv(is_c ? "CC" : "CXX");
  if (given != nullptr && *given != 0) return given;
  return is_c ? "cc -std=c11" : "c++ -std=c++17";
}

// The archive comes first and whole, so that no call is bound to the libc before it is seen.
std::string link_command(const char* source, const std::string& library, const fs::path& out) {
  std::string archive;
  if (!library.empty()) {
    archive = " -Wl,--whole-archive " + shell_word(library) + " -Wl,--no-whole-archive";
  }
  return compiler_for(source) + " -O1 -fno-builtin -static -pthread " +
         shell_word(fs::path(CONFORMANCE_SOURCE_DIR) / source) + archive + " -o " + shell_word(out);
}

void check(const char* source, const std::string& library, const fs::path& folder) {
  const fs::path program = folder / fs::path(source).stem();
  if (!runs(link_command(source, library, program))) {
    probe::fail("%s does not link statically", source);
    return;
  }
  PROBE_EXPECT(!runs("nm " + shell_word(program) + " | grep -q ' [tT] _int_malloc$'"),
               "%s holds the libc's malloc", source);
  PROBE_EXPECT(runs("env -u LD_PRELOAD timeout 20 " + shell_word(program) + " >/dev/null"),
               "%s linked statically", source);
  fs::remove(program);
}

}  // namespace

int main() {
  const char* library = getenv("CONFORMANCE_STATIC_LIB");
  if (library == nullptr || *library == 0) probe::skip("CONFORMANCE_STATIC_LIB is not set");
  PROBE_EXPECT(fs::exists(library), "%s does not exist", library);
  // The compiler itself must not run on the allocator under test.
  unsetenv("LD_PRELOAD");
  char name[] = "/tmp/conformance-static-XXXXXX";
  if (mkdtemp(name) == nullptr) probe::skip("no temporary folder");
  const fs::path folder = name;
  const bool is_able =
      runs(link_command("api/zero_size.cpp", "", folder / "trial") + " 2>/dev/null");
  if (is_able) {
    PROBE_EXPECT(runs("nm " + shell_word(library) + " 2>/dev/null | grep -q ' [TW] malloc$'"),
                 "%s defines no malloc", library);
    for (const char* source : programs) check(source, library, folder);
  }
  fs::remove_all(folder);
  if (!is_able) probe::skip("no compiler, or no static libc");
  return probe::verdict();
}
