// SPDX-License-Identifier: MIT
// space/range_index: free ranges of one kind, ordered so that the best fit is found quickly.
//
// Owns: a treap (Seidel and Aragon 1996) of FreeRange nodes ordered by (granules, base): the
// first node that is large enough is the smallest such range at the lowest address. Priorities
// are mixed base addresses, so the shape is balanced in expectation and reproducible.
// Invariant: is_sound(). Called on: under the space lock. Must not know: pages or the kernel.
#ifndef TALUS_SPACE_RANGE_INDEX_HPP
#define TALUS_SPACE_RANGE_INDEX_HPP

#include "base/base.hpp"

namespace talus {

enum class RangeState : uint8_t {
  unused,   // the node is no range
  clean,    // free, untouched since the kernel gave it: reads as zero
  dirty,    // free, touched: keeps its pages for the next user
  purging,  // taken out of the index while its pages are given back
};

struct FreeRange {
  uintptr_t base = 0;        // address of the first granule
  size_t granules = 0;
  FreeRange* left = nullptr;   // in the treap: smaller key
  FreeRange* right = nullptr;  // larger key; also links unused nodes
  FreeRange* older = nullptr;  // dirty ranges in the order of their release
  FreeRange* newer = nullptr;
  RangeState state = RangeState::unused;
  uint32_t priority = 0;     // in the treap

  uintptr_t end() const noexcept { return base + granules * granule_bytes; }
  size_t bytes() const noexcept { return granules * granule_bytes; }
};

class RangeIndex {
 public:
  // Smallest range of at least this many granules, lowest address first; null: none.
  FreeRange* best_fit(size_t granules) const noexcept {
    FreeRange* best = nullptr;
    for (FreeRange* at = root_; at != nullptr;) {
      if (at->granules >= granules) {
        best = at;
        at = at->left;
      } else {
        at = at->right;
      }
    }
    return best;
  }

  // The range that comes next after one of so many granules at `base`, in the order of best_fit;
  // null: none.
  FreeRange* next_after(size_t granules, uintptr_t base) const noexcept {
    FreeRange key;
    key.granules = granules;
    key.base = base;
    FreeRange* next = nullptr;
    for (FreeRange* at = root_; at != nullptr;) {
      if (is_before(key, *at)) {
        next = at;
        at = at->left;
      } else {
        at = at->right;
      }
    }
    return next;
  }

  void insert(FreeRange& node) noexcept {
    node.priority = static_cast<uint32_t>(mix_bits(node.base));
    FreeRange** link = &root_;
    while (*link != nullptr && (*link)->priority >= node.priority) {
      link = is_before(node, **link) ? &(*link)->left : &(*link)->right;
    }
    split(*link, node, &node.left, &node.right);
    *link = &node;
    granules_ += node.granules;
    count_++;
  }

  void remove(FreeRange& node) noexcept {
    FreeRange** link = &root_;
    while (*link != &node) {
      TALUS_ASSERT(*link != nullptr);
      link = is_before(node, **link) ? &(*link)->left : &(*link)->right;
    }
    join(link, node.left, node.right);
    node.left = node.right = nullptr;
    granules_ -= node.granules;
    count_--;
  }

  size_t bytes() const noexcept { return granules_ * granule_bytes; }
  size_t count() const noexcept { return count_; }
  FreeRange* any() const noexcept { return root_; }

  // Order and heap property hold everywhere, and the totals are those of the nodes.
  bool is_sound() const noexcept {
    size_t granules = 0, count = 0;
    return is_sound_below(root_, nullptr, nullptr, granules, count) && granules == granules_ &&
           count == count_;
  }

 private:
  static bool is_before(const FreeRange& a, const FreeRange& b) noexcept {
    return a.granules != b.granules ? a.granules < b.granules : a.base < b.base;
  }

  // Splits the tree at `key` into what comes before and what comes after it.
  static void split(FreeRange* tree, const FreeRange& key, FreeRange** before,
                    FreeRange** after) noexcept {
    while (tree != nullptr) {
      if (is_before(*tree, key)) {
        *before = tree;
        before = &tree->right;
        tree = tree->right;
      } else {
        *after = tree;
        after = &tree->left;
        tree = tree->left;
      }
    }
    *before = *after = nullptr;
  }
  // Joins two trees, all of `before` in front of all of `after`, at `link`.
  static void join(FreeRange** link, FreeRange* before, FreeRange* after) noexcept {
    while (before != nullptr && after != nullptr) {
      if (before->priority >= after->priority) {
        *link = before;
        link = &before->right;
        before = before->right;
      } else {
        *link = after;
        link = &after->left;
        after = after->left;
      }
    }
    *link = before != nullptr ? before : after;
  }
  static bool is_sound_below(const FreeRange* node, const FreeRange* low, const FreeRange* high,
                             size_t& granules, size_t& count) noexcept {
    if (node == nullptr) return true;
    granules += node->granules;
    count++;
    if (node->left != nullptr && node->left->priority > node->priority) return false;
    if (node->right != nullptr && node->right->priority > node->priority) return false;
    return (low == nullptr || is_before(*low, *node)) &&
           (high == nullptr || is_before(*node, *high)) &&
           is_sound_below(node->left, low, node, granules, count) &&
           is_sound_below(node->right, node, high, granules, count);
  }

  FreeRange* root_ = nullptr;
  size_t granules_ = 0;
  size_t count_ = 0;
};

}  // namespace talus

#endif  // TALUS_SPACE_RANGE_INDEX_HPP
