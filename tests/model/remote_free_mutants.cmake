# SPDX-License-Identifier: MIT
# What the model of src/slab/remote_free.hpp must notice: each mutant breaks one thing of it.
#
# mutant(name [==[text of the shipped file]==] [==[what stands there instead]==]). The text must
# occur in the file; when the file changes, the mutant is stated anew (its test says so).

# The push gives up instead of trying again.
mutant(push_not_retried
[==[while (!shared_head_.cas_weak_release(head, &message));]==]
[==[while (!shared_head_.cas_weak_release(head, &message) && false);]==])

# A retry keeps the link of the first try: what was pushed in between is lost.
mutant(link_not_read_again
[==[    do {
      message.next = head;
    } while]==]
[==[    message.next = head;
    do {
    } while]==])

# A push by a load and a store: another one in between is lost.
mutant(pushed_in_two_steps
[==[while (!shared_head_.cas_weak_release(head, &message));]==]
[==[while (shared_head_.store_release(&message), false);]==])

# The head is exchanged, the link comes after it (the load stands for any step in between).
mutant(linked_after_the_push
[==[    do {
      message.next = head;
    } while (!shared_head_.cas_weak_release(head, &message));]==]
[==[    head = shared_head_.exchange_release(&message);
    (void)shared_head_.load_relaxed();
    message.next = head;]==])

# The remote-free queue is emptied in two steps: what is pushed in between is lost.
mutant(taken_in_two_steps
[==[return shared_head_.exchange_acquire(nullptr);]==]
[==[RemoteMessage* all = shared_head_.load_acquire();
    shared_head_.store_release(nullptr);
    return all;]==])

# The messages stay in the remote-free queue: the next drainer takes them again.
mutant(taken_and_left
[==[return shared_head_.exchange_acquire(nullptr);]==] [==[return shared_head_.load_acquire();]==])

# A drainer subtracts what was not added yet.
mutant(counted_after_the_push
[==[    shared_backlog_bytes_.stat_add(message.bytes.load_own());
    RemoteMessage* head]==]
[==[    struct Late {
      Atomic<size_t>& backlog;
      size_t bytes;
      ~Late() { backlog.fetch_add_relaxed(bytes); }
    } late{shared_backlog_bytes_, message.bytes.load_relaxed()};
    RemoteMessage* head]==])

# Sums of two threads at a time: one of them is forgotten.
mutant(counted_in_two_steps
[==[shared_backlog_bytes_.stat_add(message]==]
[==[shared_backlog_bytes_.own_add(message]==])
mutant(subtracted_in_two_steps
[==[shared_backlog_bytes_.stat_sub(bytes);]==]
[==[shared_backlog_bytes_.own_add(size_t{0} - bytes);]==])

# A message is used again with the blocks of its last journey, or with their bytes.
mutant(blocks_not_cleared
[==[    count.store_own(0);
]==] [==[]==])
mutant(bytes_not_cleared
[==[    bytes.store_own(0);
]==] [==[]==])

# A fork between the two finds an entry that is not written yet.
mutant(committed_before_the_entry
[==[    blocks[place_of(count_before)] = block;
    bytes.store_own(bytes_before + block_bytes);
    count.store_release(count_before + 1);  // last: a fork finds complete entries
]==]
[==[    count.store_release(count_before + 1);
    bytes.store_relaxed(bytes_before + block_bytes);
    blocks[place_of(count_before)] = block;
]==])

# A drainer, not the protocol, reads the link when the message already belongs to another thread.
mutant(link_read_late
[==[class RemoteQueue {]==]
[==[#define TALUS_MODEL_LINK_READ_LATE 1
class RemoteQueue {]==])

# E1: the plain fields of a message and the last use of its blocks are not ordered.
mutant(push_without_release
[==[shared_head_.cas_weak_release(head, &message)]==]
[==[shared_head_.broken_cas_weak_relaxed(head, &message)]==])
mutant(take_without_acquire
[==[shared_head_.exchange_acquire(nullptr)]==]
[==[shared_head_.broken_exchange_relaxed(nullptr)]==])

# No break but a probe: some schedule drains a message and pushes it again between another
# deliverer's look at it and that one's CAS, which then succeeds. The last entry of a message, which
# no scenario fills, counts its pushes.
mutant(probe_pushed_again_beside_a_push
[==[    do {
      message.next = head;
    } while (!shared_head_.cas_weak_release(head, &message));]==]
[==[    message.blocks[60] = static_cast<char*>(message.blocks[60]) + 1;
    void* pushes = nullptr;
    do {
      message.next = head;
      if (head != nullptr) pushes = head->blocks[60];
    } while (!shared_head_.cas_weak_release(head, &message));
    if (head != nullptr && head->blocks[60] != pushes) model::explorer.violate("reached");]==])
