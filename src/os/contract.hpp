// SPDX-License-Identifier: MIT
// os/contract: what Talus asks of an operating system, call by call.
//
// An operating system is a type with static functions. It has all core calls. For each group it
// says `static constexpr bool has_<group>`. False: it has none of the group's calls, and
// os/complete.hpp adds refusals, as a kernel that refuses would.
// One row is one call; the comment above it is its clause. A missing call or another signature
// fails the build by its name. tools/porting.py makes docs/porting.md from this file. A test
// compares the rows with the calls that src/ makes.
// For every call, unless its clause says otherwise: it keeps errno, takes no lock, calls nothing
// that may allocate, and works on any thread, before libc is ready. Addresses and lengths are
// multiples of page_bytes(). Owns: the rows. Must not know: any operating system.
#ifndef TALUS_OS_CONTRACT_HPP
#define TALUS_OS_CONTRACT_HPP

#include <type_traits>

#include "base/base.hpp"
#include "arch/clone.hpp"
#include "os/arguments.hpp"

namespace talus::core::os {

template <class Found, class Wanted>
using IfSame = std::enable_if_t<std::is_same_v<Found, Wanted>>;

// The parameters are a list in parentheses already. NOLINTBEGIN(bugprone-macro-parentheses)
#define TALUS_OS_CALL(group, name, result, parameters)                                            \
  template <class T, class = void>                                                                \
  struct Has_##name : std::false_type {};                                                         \
  template <class T>                                                                              \
  struct Has_##name<T, IfSame<decltype(&T::name), result(*) parameters noexcept>>                 \
      : std::true_type {};                                                                        \
  static_assert(Has_##name<Os>::value, "os: the " group " call " #name #parameters " -> " #result \
                                       " is missing or has another signature")
// NOLINTEND(bugprone-macro-parentheses)

#define TALUS_OS_ERROR(name)                                  \
  template <class T, class = void>                            \
  struct Has_##name : std::false_type {};                     \
  template <class T>                                          \
  struct Has_##name<T, IfSame<decltype(T::name), const long>> \
      : std::bool_constant<(T::name < 0)> {};                 \
  static_assert(Has_##name<Os>::value,                        \
                "os: the error number " #name " is missing, or no negative constant of type long")

#define TALUS_OS_GROUP(name)                                                              \
  template <class T, class = void>                                                        \
  struct Says_##name : std::false_type {};                                                \
  template <class T>                                                                      \
  struct Says_##name<T, IfSame<decltype(T::has_##name), const bool>> : std::true_type {}; \
  static_assert(Says_##name<Os>::value,                                                   \
                "os: say whether there is the group " #name ": has_" #name " = true or false")

// Group core: what each operating system has.
// Without: Talus does not compile.
template <class Os>
struct CoreCalls {
  // The bytes of a page: a power of two, at most a slice (64 KiB). The same at each call.
  TALUS_OS_CALL("core", page_bytes, size_t, ());
  // Private, readable and writable pages that read as zero: at `hint` if that is free, anywhere
  // otherwise. Null: refused. Touches no memory, and most of it may never be touched.
  TALUS_OS_CALL("core", map, void*, (void* hint, size_t bytes));
  // Gives addresses back, also a part of what map or reserve returned. False: nothing changed.
  TALUS_OS_CALL("core", unmap, bool, (void* at, size_t bytes));
  // Drops the contents and the memory of mapped pages: they read as zero from here on. False: the
  // contents are kept, or undefined.
  TALUS_OS_CALL("core", purge, bool, (void* at, size_t bytes));
  // True: purge never works in this process, so no code waits for what it would give back.
  TALUS_OS_CALL("core", is_purge_broken, bool, ());
  // Addresses without access and without memory. Null: refused.
  TALUS_OS_CALL("core", reserve, void*, (size_t bytes));
  // Reserved pages become readable and writable, and read as zero. False: nothing changed.
  TALUS_OS_CALL("core", allow, bool, (void* at, size_t bytes));
  // Drops the contents and the memory of pages and allows no access. False: they stay usable.
  TALUS_OS_CALL("core", decommit, bool, (void* at, size_t bytes));

  // Milliseconds of a clock that never goes back; a few milliseconds coarse. Slow paths read it.
  TALUS_OS_CALL("core", now_ms, uint64_t, ());
  // Nanoseconds of a clock that never goes back.
  TALUS_OS_CALL("core", now_ns, uint64_t, ());
  // Sleeps about as long, so that a thread of lower priority can run.
  TALUS_OS_CALL("core", sleep_us, void, (long microseconds));

  // A number that is unique among the living threads: not 0, and bit 0 is clear. Each lock takes
  // it, so it must cost a few instructions only.
  TALUS_OS_CALL("core", thread_mark, uint32_t, ());
  // Only one thread exists, and it alone can make more; false: unknown. It must cost as little.
  TALUS_OS_CALL("core", has_one_thread, bool, ());
  // The id of the calling thread: not 0. Not in a process that may be behind a filter of calls.
  TALUS_OS_CALL("core", thread_id, uint32_t, ());
  // Sleeps while the word has this value; may return early. The reporting thread may wait for a
  // lock that it holds itself: after report_patience_ms the process ends (os/reporting_thread.hpp).
  TALUS_OS_CALL("core", futex_wait, void, (uint32_t * word, uint32_t value));
  // Wakes one thread that sleeps on the word, if there is one.
  TALUS_OS_CALL("core", futex_wake_one, void, (uint32_t * word));

  // Processors that this process may run on: 1 if unknown. Once, at start.
  TALUS_OS_CALL("core", cpu_count, size_t, ());
  // 64 bits that another process cannot guess, from what the kernel gave at start where it did.
  TALUS_OS_CALL("core", random_bits, uint64_t, ());
  // True in a process that got rights from its file: it must ignore its environment.
  TALUS_OS_CALL("core", is_secure, bool, ());
  // The id of the process: positive, another one in each child. Not behind a filter of calls.
  TALUS_OS_CALL("core", process_id, long, ());
  // The most bytes of addresses that the process may have; the largest number: unlimited.
  TALUS_OS_CALL("core", address_bytes_max, uint64_t, ());

  // Writes to the standard error, for messages before the end and warnings at start.
  TALUS_OS_CALL("core", write_error, void, (const char* text, size_t bytes));
  // Notes that the calling thread is about to end the process (os/reporting_thread.hpp).
  TALUS_OS_CALL("core", note_report, void, ());

  // The numbers by which a call of type long says why it refused.
  TALUS_OS_ERROR(not_permitted);
  TALUS_OS_ERROR(interrupted);
  TALUS_OS_ERROR(try_again);
  TALUS_OS_ERROR(no_memory);
  TALUS_OS_ERROR(there_is_one);
  TALUS_OS_ERROR(no_such_call);
};

// Group huge_pages: advice for huge pages.
// Without: the system's own policy holds, and the option thp changes nothing.
template <class Os>
struct HugePageCalls {
  // Asks for huge pages in a range; a hint.
  TALUS_OS_CALL("huge_pages", advise_huge, void, (void* at, size_t bytes));
  // Asks for small pages in a range, whatever the system's default; a hint.
  TALUS_OS_CALL("huge_pages", advise_small, void, (void* at, size_t bytes));
};

// Group residency: which pages have memory.
// Without: arenas grow by their usual pace, and resident bytes of heaps are unknown.
template <class Os>
struct ResidencyCalls {
  // One byte for each page: bit 0 says that it has memory. False: unknown. Only where
  // os/rare_calls.hpp allows it.
  TALUS_OS_CALL("residency", look_for_pages, bool,
                (const void* at, size_t bytes, unsigned char* pages));
};

// Group purge_runs: many purges in one call, so that other processors are interrupted once.
// Without: each run is purged by a call of its own.
template <class Os>
struct PurgeRunCalls {
  // Purges runs of pages in their order. Returns the number of runs that were purged, from the
  // first on. Only where os/rare_calls.hpp allows it.
  TALUS_OS_CALL("purge_runs", purge_runs, size_t, (const PageRun* runs, size_t count));
};

// Group moving: pages that change their address.
// Without: large blocks that move are copied.
template <class Os>
struct MovingCalls {
  // The contents of the first pages of `from` appear at `to`. Those pages of `from` read as zero,
  // and all stay mapped. Returns the bytes moved; 0: refused.
  TALUS_OS_CALL("moving", move_pages, size_t, (void* from, void* to, size_t bytes));
  // Maps pages anew: they read as zero, without memory, tables or advice. False: nothing changed.
  TALUS_OS_CALL("moving", map_anew, bool, (void* at, size_t bytes));
};

// Group guards: pages whose access faults, at no cost in mappings.
// Without: the mapped mode and os/guards.hpp decommit pages, which takes mappings for each guard.
template <class Os>
struct GuardCalls {
  // The pages lose contents and memory, and an access faults. False: unchanged.
  TALUS_OS_CALL("guards", set_guards, bool, (void* at, size_t bytes));
  // The pages can be used, and read as zero. False: unchanged.
  TALUS_OS_CALL("guards", lift_guards, bool, (void* at, size_t bytes));
};

// Group barrier: a barrier that all running threads of the process execute.
// Without: the reclaim of idle caches waits long enough instead.
template <class Os>
struct BarrierCalls {
  // Puts a full memory barrier into each thread of the process, between two of its instructions,
  // before it returns. False: refused. Only where os/rare_calls.hpp allows it, and without a lock:
  // the first call may take tens of milliseconds.
  TALUS_OS_CALL("barrier", order_threads, bool, ());
};

// Group threads: a background thread that the C library does not know.
// Without: threads that free much purge themselves; slow paths print samples by the clock.
template <class Os>
struct ThreadCalls {
  // Runs run() on a new thread, whose stack ends at `stack_top`, a multiple of 16; run() must not
  // return. Writes the thread's id to *id before the thread runs; clears it and wakes waiters when
  // the thread is gone. Result: the id, or a negative error number.
  TALUS_OS_CALL("threads", make_thread, long,
                (void* stack_top, arch::ThreadBlock& block, uint32_t* id, void (*run)()));
  // Ends the calling thread. Another thread may use its stack at once.
  TALUS_OS_CALL("threads", end_thread, void, ());
  // As futex_wait, for `milliseconds` at most.
  TALUS_OS_CALL("threads", futex_wait_ms, void,
                (uint32_t * word, uint32_t value, uint32_t milliseconds));
  // Sleeps, for a tenth of a second at most, until the id of a thread is cleared.
  TALUS_OS_CALL("threads", wait_for_thread, void, (uint32_t * id, uint32_t value));
  // Waits until the system no longer lists a thread, which has ended. Not behind a filter.
  TALUS_OS_CALL("threads", wait_until_gone, void, (uint32_t thread));
  // Names the calling thread, and gives it ordinary scheduling. Not behind a filter.
  TALUS_OS_CALL("threads", become_ordinary_thread, void, (const char* name));
  // The most threads that the process' user may have at a time. Not behind a filter.
  TALUS_OS_CALL("threads", thread_count_max, uint64_t, ());
  // Threads of this process; 0: unknown.
  TALUS_OS_CALL("threads", task_count, size_t, ());
  // Removes access to these pages. False: nothing changed.
  TALUS_OS_CALL("threads", protect, bool, (void* at, size_t bytes));
  // These pages read as zero in each child with its own memory, however it is made.
  TALUS_OS_CALL("threads", clear_in_children, bool, (void* at, size_t bytes));
};

// Group signals: signals of the calling thread.
// Without: nothing is held back, so no signal may interrupt a call of Talus.
template <class Os>
struct SignalCalls {
  // Blocks all signals for this thread, and for threads that it creates, until restore_signals.
  TALUS_OS_CALL("signals", block_signals, uint64_t, ());
  // Restores what block_signals returned.
  TALUS_OS_CALL("signals", restore_signals, void, (uint64_t mask));
  // Sends a signal to the calling thread.
  TALUS_OS_CALL("signals", send_here, void, (int signal));
};

// Group files: small files to read, at start and for statistics.
// Without: no configuration file is read, limits of control groups are unknown, and so are the
// values of the process that the kernel tells in files.
template <class Os>
struct FileCalls {
  // Opens a file for reading. The file is not inherited by other programs. Negative: refused.
  TALUS_OS_CALL("files", open_file, long, (const char* path));
  // The bytes read, 0 at the end; negative: refused.
  TALUS_OS_CALL("files", read_file, long, (long file, char* buffer, size_t bytes));
  // Facts of a file besides its contents. False: unknown. At start only.
  TALUS_OS_CALL("files", look_at_file, bool, (long file, FileFacts& facts));
  // The bytes of a link's text, without a closing zero; negative: no link. At start only.
  TALUS_OS_CALL("files", read_link, long, (const char* path, char* buffer, size_t bytes));
  // Closes a file. Each opened file is closed before the caller returns.
  TALUS_OS_CALL("files", close_file, void, (long file));
};

// Group printing: files to write statistics to. Needs the group files.
// Without: statistics are read by the program, and printed nowhere.
template <class Os>
struct PrintingCalls {
  // Opens a file to write, and makes it if it is missing. Never waits. Negative: refused;
  // there_is_one: a fresh file has this name already.
  TALUS_OS_CALL("printing", open_to_write, long, (const char* path, FileStart start));
  // The length of a file; negative: it has none, as a pipe.
  TALUS_OS_CALL("printing", find_end, long, (long file));
  // Writes, and raises no signal. The bytes written, or a negative error number.
  TALUS_OS_CALL("printing", write_quietly, long, (long file, const char* text, size_t bytes));
  // Waits until something can be written, or the time is over. False: nothing can. Only where
  // os/rare_calls.hpp allows it.
  TALUS_OS_CALL("printing", wait_to_write, bool, (long file, uint64_t milliseconds));
  // Is the name free, or a regular file's? False for a link, wherever it leads to.
  TALUS_OS_CALL("printing", may_be_replaced, bool, (const char* path));
  // Replaces the file of the second name. False: nothing changed.
  TALUS_OS_CALL("printing", rename, bool, (const char* from, const char* to));
  // Removes a name. False: nothing changed.
  TALUS_OS_CALL("printing", remove_name, bool, (const char* path));
  // Locks the file as a whole against other processes, until unlock. 0, or the reason: try_again
  // where another process holds it.
  TALUS_OS_CALL("printing", try_lock, long, (long file));
  // Gives the lock of try_lock back.
  TALUS_OS_CALL("printing", unlock, void, (long file));
};

// Group file_memory: memory in a file. Needs the groups files and signals.
// Without: providers of kind `file` are refused.
template <class Os>
struct FileMemoryCalls {
  // A new file without a name in a directory; negative: refused.
  TALUS_OS_CALL("file_memory", open_unnamed_in, long, (const char* directory));
  // A new file of this name, which is removed at once. Negative: refused, or the name exists.
  TALUS_OS_CALL("file_memory", open_unlinked, long, (const char* path));
  // Moves the file to a descriptor that programs seldom use; the old one is free again.
  TALUS_OS_CALL("file_memory", move_up, long, (long file));
  // Which file it is; false: unknown.
  TALUS_OS_CALL("file_memory", identify, bool, (long file, FileIdentity& found));
  // The most bytes that a file may have.
  TALUS_OS_CALL("file_memory", length_max, uint64_t, ());
  // Sets the length of a file. False: nothing changed.
  TALUS_OS_CALL("file_memory", set_length, bool, (long file, uint64_t bytes));
  // Reserves room on the disk for a part of the file. False: there is none.
  TALUS_OS_CALL("file_memory", reserve_room, bool, (long file, uint64_t offset, size_t bytes));
  // Gives the room back; the part reads as zero. False: it may or may not be unchanged.
  TALUS_OS_CALL("file_memory", give_room_back, bool, (long file, uint64_t offset, size_t bytes));
  // Writes all bytes. False: some are not written.
  TALUS_OS_CALL("file_memory", write_at, bool,
                (long file, const void* from, size_t bytes, uint64_t offset));
  // Maps a part of the file at these addresses, whatever was there. False: nothing changed.
  TALUS_OS_CALL("file_memory", map_file, bool,
                (void* at, size_t bytes, long file, uint64_t offset, FileSharing sharing));
  // Maps the same part at another place as well. Null: refused.
  TALUS_OS_CALL("file_memory", map_file_again, char*, (size_t bytes, long file, uint64_t offset));
  // Moves private memory to the addresses `to`, whatever was there, and unmaps `from`. False:
  // nothing changed.
  TALUS_OS_CALL("file_memory", move_over, bool, (void* from, void* to, size_t bytes));
  // The directory that relative paths begin at. False: it is unknown, or too long.
  TALUS_OS_CALL("file_memory", current_directory, bool, (char* path, size_t bytes));
  // A pipe, for the processes of a fork. False: refused.
  TALUS_OS_CALL("file_memory", make_pipe, bool, (int (&ends)[2]));
  // Waits for a letter at the first end, or until all copies of the second are closed.
  TALUS_OS_CALL("file_memory", wait_for_letter, void, (long file));
  // Writes a letter to the second end.
  TALUS_OS_CALL("file_memory", send_letter, void, (long file));
};

// Group populate: memory before its first use.
// Without: preallocated memory is refused, and heaps that ask for populated pages fail.
template <class Os>
struct PopulateCalls {
  // Gives memory to all pages of a private range. False: there is not enough.
  TALUS_OS_CALL("populate", populate, bool, (void* at, size_t bytes, size_t page_bytes));
};

// Group nodes: memory of a NUMA node.
// Without: a heap that asks for another node than the first is refused.
template <class Os>
struct NodeCalls {
  // Pages of the range that get memory from here on get it on this node while the node has any,
  // then on others. 0, or the reason: no_such_call in a system without nodes.
  TALUS_OS_CALL("nodes", prefer_node, long, (void* at, size_t bytes, size_t node));
};

// Group names: what other processes learn of this one.
// Without: mappings have no name, and the option observers admits no further process.
template <class Os>
struct NameCalls {
  // Names the pages; a hint. At most mapping_name_bytes of printable ASCII, without quotes,
  // brackets, dollars and backslashes.
  TALUS_OS_CALL("names", name_mapping, void, (void* at, size_t bytes, const char* name));
  // From here on each process of the same user may read and write this process' memory, where the
  // system would let only some of them; a hint.
  TALUS_OS_CALL("names", admit_observers, void, ());
};

// Group page_watch: tells os/page_watch.hpp of pages before they go, in each call of this contract
// that drops or unmaps them.
// Without: a page listener hears nothing.
template <class Os>
struct PageWatchCalls {
  // Announces that the contents of these pages are about to go by a call that tells nothing.
  TALUS_OS_CALL("page_watch", announce, void, (void* at, size_t bytes));
};

// Group usage: what the process has used.
// Without: times, faults and the resident peak are unknown in statistics.
template <class Os>
struct UsageCalls {
  // Times, faults and the resident peak since the process began. False: unknown.
  TALUS_OS_CALL("usage", look_at_usage, bool, (ProcessUsage & found));
};

// Group frames: what a walk through the stack of a thread needs.
// Without: nothing is known to be readable, so a walk finds no callers.
template <class Os>
struct FrameCalls {
  // Can the 8 bytes at a multiple of 8 be read? Never faults, whatever the address is.
  TALUS_OS_CALL("frames", is_readable, bool, (const void* word));
  // An address above all frames of the first thread; 0: unknown.
  TALUS_OS_CALL("frames", first_stack_end, uintptr_t, ());
  // The address of the ELF image that the system maps into each process; 0: there is none.
  TALUS_OS_CALL("frames", kernel_image, uintptr_t, ());
  // The address of the program's own ELF image; 0: unknown.
  TALUS_OS_CALL("frames", program_image, uintptr_t, ());
  // The function of this name that the C library exports, found without its locks; 0: unknown.
  TALUS_OS_CALL("frames", libc_function, uintptr_t, (const char* name));
};

// What an operating system must say of each group.
template <class Os>
struct Groups {
  TALUS_OS_GROUP(huge_pages);
  TALUS_OS_GROUP(residency);
  TALUS_OS_GROUP(purge_runs);
  TALUS_OS_GROUP(moving);
  TALUS_OS_GROUP(guards);
  TALUS_OS_GROUP(barrier);
  TALUS_OS_GROUP(threads);
  TALUS_OS_GROUP(signals);
  TALUS_OS_GROUP(files);
  TALUS_OS_GROUP(printing);
  TALUS_OS_GROUP(file_memory);
  TALUS_OS_GROUP(populate);
  TALUS_OS_GROUP(nodes);
  TALUS_OS_GROUP(names);
  TALUS_OS_GROUP(page_watch);
  TALUS_OS_GROUP(usage);
  TALUS_OS_GROUP(frames);
};

#undef TALUS_OS_CALL
#undef TALUS_OS_ERROR
#undef TALUS_OS_GROUP

}  // namespace talus::core::os

#endif  // TALUS_OS_CONTRACT_HPP
