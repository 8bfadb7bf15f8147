# SPDX-License-Identifier: MIT
# What the model of src/slab/remote_free.hpp must notice: each mutant breaks one thing of it.
#
# mutant(name [==[text of the shipped file]==] [==[what stands there instead]==]). The text must
# occur in the file; when the file changes, the mutant is stated anew (its test says so).

# The link is read when a deliverer may already have pushed the slab again.
mutant(link_read_late
[==[      Slab* next = remote.shared_next.load_relaxed();  // [own] until the slab is quiet
      remote.shared_notified.exchange_acq_rel(0);      // [E2]
]==]
[==[      remote.shared_notified.exchange_acq_rel(0);
      Slab* next = remote.shared_next.load_relaxed();
]==])

# The notice goes out before the blocks do: a drainer in between leaves them behind.
mutant(notified_before_delivered
[==[class Inbox {]==]
[==[#define TALUS_MODEL_NOTIFY_FIRST 1
class Inbox {]==])

# Bits that arrive between the two find the slab still notified and are never taken.
mutant(quiet_after_bits
[==[      remote.shared_notified.exchange_acq_rel(0);      // [E2]
      const uint32_t count_before = slab->free_count;
]==]
[==[      const uint32_t count_before = slab->free_count;
      struct Late {
        RemoteState& state;
        ~Late() { state.shared_notified.exchange_acq_rel(0); }
      } late{remote};
]==])

# Each deliverer to a word but the first says nothing, and the first does not either if it lost.
mutant(first_deliverer_silent
[==[return before == 0;]==] [==[return before != 0;]==])

# The slab is pushed though it is in the inbox already.
mutant(pushed_twice
[==[if (remote.shared_notified.exchange_acq_rel(1) != 0) return;]==]
[==[remote.shared_notified.exchange_acq_rel(1);]==])

# The inbox is emptied in two steps: what is pushed in between is lost.
mutant(inbox_taken_in_two_steps
[==[Slab* slab = shared_head_.exchange_acquire(nullptr);]==]
[==[Slab* slab = shared_head_.load_acquire(); shared_head_.store_release(nullptr);]==])

# Bits that arrive between the load and the store are lost.
mutant(bits_taken_in_two_steps
[==[slab->give_blocks(word, remote.shared_bits[word].exchange_acquire(0));]==]
[==[slab->give_blocks(word, remote.shared_bits[word].load_acquire());
        remote.shared_bits[word].store_release(0);]==])

# The bits stay: the next drainer takes the same blocks again.
mutant(bits_left_behind
[==[slab->give_blocks(word, remote.shared_bits[word].exchange_acquire(0));]==]
[==[slab->give_blocks(word, remote.shared_bits[word].load_acquire());]==])

# The push gives up instead of trying again.
mutant(push_not_retried
[==[while (!shared_head_.cas_weak_release(head, &slab));]==]
[==[while (!shared_head_.cas_weak_release(head, &slab) && false);]==])

# From here on only the order is broken: the mutants differ from the shipped file by stale reads.

# E1: the drainer may find an old link behind the slab it popped.
mutant(push_without_release
[==[shared_head_.cas_weak_release(head, &slab)]==]
[==[shared_head_.broken_cas_weak_relaxed(head, &slab)]==])
mutant(pop_without_acquire
[==[shared_head_.exchange_acquire(nullptr)]==]
[==[shared_head_.broken_exchange_relaxed(nullptr)]==])

# E2: a notice that lost is not written, so the drainer need not see the bits set before it.
mutant(notice_by_cas
[==[if (remote.shared_notified.exchange_acq_rel(1) != 0) return;]==]
[==[uint32_t quiet = 0;
    if (!remote.shared_notified.cas_acq_rel(quiet, 1)) return;]==])
mutant(notice_without_release
[==[shared_notified.exchange_acq_rel(1)]==] [==[shared_notified.exchange_acquire(1)]==])
mutant(quiet_without_acquire
[==[shared_notified.exchange_acq_rel(0)]==] [==[shared_notified.exchange_release(0)]==])
mutant(quiet_by_store
[==[shared_notified.exchange_acq_rel(0)]==] [==[shared_notified.store_release(0)]==])

# E3: the last use of a block is not ordered before its reuse.
mutant(bits_without_release
[==[fetch_or_release(bits)]==] [==[broken_fetch_or_relaxed(bits)]==])
mutant(bits_without_acquire
[==[shared_bits[word].exchange_acquire(0)]==]
[==[shared_bits[word].broken_exchange_relaxed(0)]==])
