// SPDX-License-Identifier: MIT
// os/complete: an operating system with all calls of the contract: its own, or refusals.
//
// Owns: which group has which refusals. Invariant: Complete<Os> has each call of os/contract.hpp
// with its signature, and each call is one of Os or a refusal. A violation fails the build by the
// name of the call. Must not know: which operating system it is.
#ifndef TALUS_OS_COMPLETE_HPP
#define TALUS_OS_COMPLETE_HPP

#include "os/contract.hpp"
#include "os/refusals.hpp"

namespace talus::core::os {

// The calls of one group: refusals, which are checked as well.
template <class Os, bool HasGroup, template <class> class Calls, template <class> class Refusals>
struct GroupOf : Refusals<Os>, Calls<Refusals<Os>> {};
// The operating system's own: only checked.
template <class Os, template <class> class Calls, template <class> class Refusals>
struct GroupOf<Os, true, Calls, Refusals> : Calls<Os> {};

template <class Os>
struct Complete : Groups<Os>,
                  CoreCalls<Os>,
                  Os,
                  GroupOf<Os, Os::has_huge_pages, HugePageCalls, NoHugePages>,
                  GroupOf<Os, Os::has_residency, ResidencyCalls, NoResidency>,
                  GroupOf<Os, Os::has_purge_runs, PurgeRunCalls, NoPurgeRuns>,
                  GroupOf<Os, Os::has_moving, MovingCalls, NoMoving>,
                  GroupOf<Os, Os::has_guards, GuardCalls, NoGuards>,
                  GroupOf<Os, Os::has_barrier, BarrierCalls, NoBarrier>,
                  GroupOf<Os, Os::has_threads, ThreadCalls, NoThreads>,
                  GroupOf<Os, Os::has_signals, SignalCalls, NoSignals>,
                  GroupOf<Os, Os::has_files, FileCalls, NoFiles>,
                  GroupOf<Os, Os::has_printing, PrintingCalls, NoPrinting>,
                  GroupOf<Os, Os::has_file_memory, FileMemoryCalls, NoFileMemory>,
                  GroupOf<Os, Os::has_populate, PopulateCalls, NoPopulate>,
                  GroupOf<Os, Os::has_nodes, NodeCalls, NoNodes>,
                  GroupOf<Os, Os::has_names, NameCalls, NoNames>,
                  GroupOf<Os, Os::has_page_watch, PageWatchCalls, NoPageWatch>,
                  GroupOf<Os, Os::has_usage, UsageCalls, NoUsage>,
                  GroupOf<Os, Os::has_frames, FrameCalls, NoFrames> {
  static_assert(!Os::has_printing || Os::has_files, "os: the group printing needs the group files");
  static_assert(!Os::has_file_memory || (Os::has_files && Os::has_signals),
                "os: the group file_memory needs the groups files and signals");
  static constexpr bool is_complete = true;
};

// Checks a decorator of a complete operating system: each call still has its signature.
template <class Os>
struct AllCalls : CoreCalls<Os>,
                  HugePageCalls<Os>,
                  ResidencyCalls<Os>,
                  PurgeRunCalls<Os>,
                  MovingCalls<Os>,
                  GuardCalls<Os>,
                  BarrierCalls<Os>,
                  ThreadCalls<Os>,
                  SignalCalls<Os>,
                  FileCalls<Os>,
                  PrintingCalls<Os>,
                  FileMemoryCalls<Os>,
                  PopulateCalls<Os>,
                  NodeCalls<Os>,
                  NameCalls<Os>,
                  PageWatchCalls<Os>,
                  UsageCalls<Os>,
                  FrameCalls<Os> {};

}  // namespace talus::core::os

#endif  // TALUS_OS_COMPLETE_HPP
