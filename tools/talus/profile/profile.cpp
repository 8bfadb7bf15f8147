// SPDX-License-Identifier: MIT
//
// Owns: `talus profile`: its words, and which form goes where.
// Invariant: the process writes nothing; see sampling_span.hpp for what changes in it.
// Must not know: how samples are read and drawn.

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "command.hpp"
#include "profile/code_names.hpp"
#include "profile/heap_source.hpp"
#include "profile/named_profile.hpp"
#include "profile/pprof.hpp"
#include "profile/pprof_reader.hpp"
#include "profile/profile_view.hpp"
#include "profile/samples.hpp"
#include "profile/sampling_span.hpp"
#include "profile/show_lives.hpp"
#include "profile/show_places.hpp"
#include "profile/show_tags.hpp"
#include "profile/speedscope.hpp"
#include "profile/views.hpp"
#include "profile/with_complaints.hpp"
#include "subcommand.hpp"

namespace talus::tool {
namespace {

struct ProfileRequest {
  std::string process;               // its id, the path of its core file, or a file for pprof
  std::string before;                // --diff; likewise. Empty: none
  std::vector<std::string> outputs;  // -o: for pprof, or a page if it ends with .html
  double span_s = 0;                 // --for; 0: what there is now
  std::string debug_folder = usual_debug_folder;
  bool asks_servers = false;  // --debuginfod
  double server_limit_s = 60;
  std::string view;  // empty: what lives or, for a span, what was allocated
  bool is_collapsed = false;
  bool is_text = false;
  bool has_lines = false;

  DebugFiles debug_files() const { return {debug_folder, asks_servers ? server_limit_s : 0}; }
  ProfileView chosen() const {
    if (!view.empty()) return view_words.at(view);
    return span_s > 0 ? ProfileView::allocated : ProfileView::live;
  }
};

// What is read of one word.
struct Loaded {
  NamedProfile profile;
  std::string pprof;  // with addresses; empty: there are none
  PlacesTitle title;
  std::string sizes;  // their table
};

bool write_file(const std::string& path, const std::string& bytes) {
  std::FILE* const file = path == "-" ? stdout : std::fopen(path.c_str(), "we");
  bool is_written = file != nullptr &&
                    std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
                    std::fflush(file) == 0;
  const int error = errno;
  if (file != nullptr && file != stdout && std::fclose(file) != 0) is_written = false;
  if (!is_written) complain(fmt::format("profile: {}: {}", path, std::strerror(error)));
  return is_written;
}

bool is_json(const std::string& path) { return path.ends_with(".json"); }
bool is_page(const std::string& path) { return path.ends_with(".html") || path.ends_with(".htm"); }

std::string text_of(const Loaded& loaded) {
  const NamedProfile& profile = loaded.profile;
  switch (loaded.title.view) {
    case ProfileView::sizes:
      return places_head(loaded.title, profile) + loaded.sizes;
    case ProfileView::lifetimes:
      return show_lives(loaded.title, profile);
    case ProfileView::tags:
      return show_tags(loaded.title, profile);
    default:
      return show_places(loaded.title, profile);
  }
}

int show(const Loaded& loaded, const ProfileRequest& request) {
  const bool is_by_tag = loaded.title.view == ProfileView::tags;
  const NamedProfile by_tag = is_by_tag ? with_tags_outermost(loaded.profile) : NamedProfile{};
  const NamedProfile& profile = is_by_tag ? by_tag : loaded.profile;
  const PlacesTitle& title = loaded.title;
  const Measure measure =
      title.is_span && request.view.empty() ? allocated_bytes : measure_of(title.view);
  for (const std::string& path : request.outputs) {
    if (is_json(path) && profile.is_difference) {
      complain("profile: a difference has negative numbers, which speedscope does not show");
      return exit_usage;
    }
    const std::string bytes =
        is_json(path)   ? speedscope_of(profile, measure)
        : is_page(path) ? profile_as_page(loaded.title, profile)
                        : gzipped(loaded.pprof.empty() ? pprof_of(loaded.profile) : loaded.pprof);
    if (!write_file(path, bytes)) return exit_usage;
  }
  if (request.is_collapsed) fmt::print("{}", collapsed(profile, measure, title.detail));
  if (request.is_text || (request.outputs.empty() && !request.is_collapsed)) {
    fmt::print("{}", text_of(loaded));
  }
  return exit_yes;
}

// A file for pprof does not tell.
bool needs_process(ProfileView view) {
  return view == ProfileView::lifetimes || view == ProfileView::threads ||
         view == ProfileView::sizes;
}

int load_samples(const HeapSource& source, const ProfileRequest& request, Loaded& loaded) {
  const double span_s = request.span_s;
  Samples samples = source.read();
  // Counting looks at the whole heap.
  const bool is_counted = request.chosen() == ProfileView::sizes;
  CountsBySize counts;
  if (span_s > 0) {
    const Samples before = samples;
    CountsBySize counts_before = is_counted ? source.counts(before) : CountsBySize{};
    SamplingSpan span(source);
    if (!span.begin(usual_mean_bytes, before.is_on)) return exit_refused;
    wait_for_process(span_s, source.target().pid);
    samples = source.read();
    span.end();
    if (is_counted) counts = source.counts(samples);
    for (auto& [size, row] : counts) row.allocated -= counts_before[size].allocated;
    subtract_allocations(samples, before);
  } else if (is_counted) {
    counts = source.counts(samples);
  }
  if (is_counted) loaded.sizes = show_sizes(counts, samples);
  if (samples.mean_bytes == 0) {
    complain(
        fmt::format("profile: {} has no profile; --for 30s takes one, and so does a start "
                    "with TALUS_PROFILE=512KiB",
                    source.title()));
    return exit_no;
  }
  loaded.title.lost = samples.lost;
  loaded.title.live_bytes = source.live_bytes(samples);
  loaded.title.is_span = span_s > 0;
  if (samples.peak_ns != 0) {
    const uint64_t now_ns = source.now_ns(samples);
    loaded.title.peak_ago_s = static_cast<double>(now_ns - samples.peak_ns) / 1e9;
  }
  loaded.profile = source.named_of(samples, static_cast<uint64_t>(span_s * 1e9), request.chosen(),
                                   &loaded.pprof);
  return exit_yes;
}

int load(const std::string& word, const ProfileRequest& request, Loaded& loaded) {
  if (is_pprof_file(word)) {
    if (needs_process(request.chosen())) {
      complain(fmt::format("profile: --view {} needs a process or a core file", request.view));
      return exit_usage;
    }
    std::optional<NamedProfile> read = read_pprof(word);
    if (!read) {
      complain(fmt::format("profile: {}: no heap profile in the form of pprof", word));
      return exit_usage;
    }
    loaded.profile = std::move(*read);
    loaded.title.is_span = loaded.profile.span_ns != 0;
    return exit_yes;
  }
  const std::optional<Target> target = read_target("profile", word);
  if (!target) return exit_usage;
  if (!target->is_process && request.span_s > 0) {
    complain("profile: --for needs a running process");
    return exit_usage;
  }
  return with_complaints("profile", word, "profile", [&] {
    std::string why;
    int code = exit_yes;
    const auto source = HeapSource::reach(*target, request.debug_files(), why, code);
    if (source == nullptr) {
      complain(why);
      return code;
    }
    return load_samples(*source, request, loaded);
  });
}

int profile(const ProfileRequest& request) {
  if (!request.before.empty() && needs_process(request.chosen())) {
    complain(fmt::format("profile: --view {} has no difference", request.view));
    return exit_usage;
  }
  Loaded loaded;
  int code = load(request.process, request, loaded);
  if (code == exit_yes && !request.before.empty()) {
    Loaded before;
    code = load(request.before, request, before);
    loaded.profile = difference(before.profile, loaded.profile);
    loaded.title = {};
    loaded.pprof.clear();
  }
  loaded.title.view = request.chosen();
  loaded.title.detail = request.has_lines ? NameDetail::lines : NameDetail::functions;
  return code == exit_yes ? show(loaded, request) : code;
}

}  // namespace

Subcommand add_profile(CLI::App& app) {
  const auto wanted = std::make_shared<ProfileRequest>();
  CLI::App* const command =
      app.add_subcommand("profile", "Show which functions hold memory, and which allocate it");
  command->footer(
      "talus profile [--text] [--collapsed] [-o FILE] [--for SECONDS] PID\ntalus profile "
      "[--text] [--collapsed] [-o FILE] CORE|FILE.pb.gz\ntalus profile --diff BEFORE [-o FILE] "
      "AFTER\n\nReads the samples of a process that runs with TALUS_PROFILE=512KiB. With --for, "
      "samples are\nswitched on for that time where there are none. FILE.html is a page with a "
      "flame graph,\nFILE.json is for speedscope, and any other FILE for `pprof`; -o may stand "
      "twice. Collapsed\nstacks are for other flame graphs. --view says what comes first: the peak "
      "is the moment with\nmost live bytes since the profile began, and pins are free bytes that "
      "live blocks hold back.\nOther views tell how long blocks lived, which thread made those "
      "that live, and the\ntags of talus_tag_push. BEFORE and AFTER are each a file for pprof, a "
      "core file or a process.\nExit status: as of `talus stats`, and 1 if there is no profile.");
  command->add_option("process", wanted->process, "a process, a core file, or a file for pprof")
      ->type_name("PID|FILE")
      ->required();
  command
      ->add_option("-o,--output", wanted->outputs,
                   "a page (.html), for speedscope (.json) or pprof; - is standard output")
      ->type_name("FILE")
      ->allow_extra_args(false);
  std::vector<std::string> words;
  for (const auto& [word, view] : view_words) words.push_back(word);
  command->add_option("--view", wanted->view, "what comes first, or what is told instead")
      ->check(CLI::IsMember(words))
      ->type_name("live|allocated|peak|pins|sizes|lifetimes|threads|tags");
  command->add_option("--diff", wanted->before, "show what there is beyond this one")
      ->type_name("BEFORE");
  command->add_option("--for", wanted->span_s, "allocations of that time, such as 30s")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"min", 60}}))
      ->check(CLI::Range(0.001, 1e6))
      ->type_name("SECONDS");
  command->add_flag("--collapsed", wanted->is_collapsed, "stacks, one on a line, with their bytes");
  command->add_flag("--lines", wanted->has_lines, "names with their file and line");
  command->add_option("--debug-files", wanted->debug_folder, "where debug files lie, by build id")
      ->type_name("FOLDER")
      ->capture_default_str();
  CLI::Option* const servers = command->add_flag(
      "--debuginfod", wanted->asks_servers,
      "debug files that are not here come from DEBUGINFOD_URLS, by debuginfod-find");
  command->add_option("--debuginfod-limit", wanted->server_limit_s, "for each of these files")
      ->needs(servers)
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"min", 60}}))
      ->check(CLI::Range(0.1, 1e5))
      ->type_name("SECONDS")
      ->default_str("60");
  command->add_flag("--text", wanted->is_text, "the table, also beside other forms");
  return {command, [wanted] { return profile(*wanted); }};
}

}  // namespace talus::tool
