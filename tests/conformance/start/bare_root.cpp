// Starts with an empty environment, and in a root that holds nothing but the program (N19).
//
// First with LD_PRELOAD as the only variable. Then inside a new root directory with copies of the
// executable and of the libraries mapped into this process, at the same paths: no /proc, no /sys,
// no /dev. Needs the right to chroot, or user namespaces; without both that half is skipped.
// SPDX-License-Identifier: MIT
#include "../pattern.hpp"
#include "../relaunch.hpp"

#include <climits>
#include <filesystem>
#include <malloc.h>
#include <sched.h>
#include <set>
#include <string>
#include <thread>

namespace {

namespace fs = std::filesystem;

void allocate_a_lot() {
  probe::Random random(4);
  void* blocks[64] = {};
  for (int i = 0; i < 20000; ++i) {
    void*& block = blocks[random.below(64)];
    free(block);
    const std::size_t size = i % 100 == 0 ? random.between(1, 4000000) : random.between(1, 5000);
    block = malloc(size);
    PROBE_EXPECT(block != nullptr, "malloc(%zu) gives null", size);
    if (block != nullptr) probe::fill(block, size, 1);
  }
  for (void* block : blocks) free(block);
}

int live_barely() {
  std::thread other(allocate_a_lot);
  allocate_a_lot();
  other.join();
  malloc_trim(0);
  return probe::verdict();
}

std::set<std::string> mapped_files() {
  std::set<std::string> files;
  probe::for_each_line("/proc/self/maps", [&](const char* line) {
    const char* path = std::strchr(line, '/');
    if (path != nullptr && std::strstr(path, ".so") != nullptr) files.insert(path);
  });
  // The loader is found by the path in the executable, which may be a link to what is mapped.
  for (const char* loader : {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"}) {
    if (fs::exists(loader)) files.insert(loader);
  }
  return files;
}

// The loader looks for names as linked (libm.so.6), the kernel maps files as stored. So copy under
// both; the linked names are those in the same folder that resolve to the mapped file.
void copy_library(const fs::path& root, const fs::path& library) {
  const fs::path folder = root / library.parent_path().relative_path();
  fs::create_directories(folder);
  const fs::path stored = fs::canonical(library);
  fs::copy_file(stored, folder / library.filename(), fs::copy_options::skip_existing);
  for (const auto& entry : fs::directory_iterator(library.parent_path())) {
    std::error_code error;
    if (!entry.is_symlink() || fs::canonical(entry.path(), error) != stored) continue;
    fs::copy_file(stored, folder / entry.path().filename(), fs::copy_options::skip_existing);
  }
}

fs::path make_root() {
  char name[] = "/tmp/conformance-root-XXXXXX";
  const fs::path root = mkdtemp(name) != nullptr ? name : "";
  if (root.empty()) return root;
  for (const std::string& file : mapped_files()) copy_library(root, file);
  // The preload's path as given may differ from the one mapped (a link in another folder).
  if (const char* preload = getenv("LD_PRELOAD")) {
    if (fs::exists(preload)) copy_library(root, preload);
  }
  fs::copy_file(fs::canonical("/proc/self/exe"), root / "program");
  return root;
}

bool enter(const std::string& root) {
  if (chroot(root.c_str()) != 0) {
    if (unshare(CLONE_NEWUSER) != 0 || chroot(root.c_str()) != 0) return false;
  }
  return chdir("/") == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (probe::is_role(argc, argv, "bare")) return live_barely();
  const char* preload = getenv("LD_PRELOAD");
  std::string variable = std::string("LD_PRELOAD=") + (preload != nullptr ? preload : "");
  char* const environment[] = {preload != nullptr ? &variable[0] : nullptr, nullptr};
  probe::expect_ok(probe::relaunch(
                       "bare", 10, [] { return true; }, environment),
                   "with an empty environment");
  const fs::path root = make_root();
  const std::string path = root.string();
  const probe::Outcome outcome = probe::relaunch(
      "bare", 10, [&] { return enter(path); }, environment, "/program");
  fs::remove_all(root);
  const bool is_refused = outcome.code == probe::exit_not_started;
  if (!is_refused) probe::expect_ok(outcome, "in a bare root");
  probe::figure("bare root tried", is_refused ? 0 : 1, "");
  return probe::verdict();
}
