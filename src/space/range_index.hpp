// SPDX-License-Identifier: MIT
// space/range_index: free ranges of one kind by address; quickly finds the highest one that is
// large enough.
//
// Owns: a treap (Seidel and Aragon 1996) of FreeRange nodes ordered by base, where each node knows
// the largest range of its subtree. A range that loses or gains slices at an end keeps its place.
// Priorities are mixed addresses, so the shape is balanced in expectation.
// Invariant: is_sound(). Called on: under the space lock. Must not know: pages or the kernel.
#ifndef TALUS_SPACE_RANGE_INDEX_HPP
#define TALUS_SPACE_RANGE_INDEX_HPP

#include "base/base.hpp"

namespace talus::core {

enum class RangeState : uint8_t {
  unused,   // the node is no range
  clean,    // free, untouched since the kernel gave it: reads as zero
  dirty,    // free, touched: keeps its pages for the next user
  purging,  // taken out of the index while its pages are purged
};

struct FreeRange {
  uintptr_t base = 0;  // address of the first slice
  size_t slices = 0;
  FreeRange* left = nullptr;    // in the treap: lower addresses
  FreeRange* right = nullptr;   // higher addresses; also links unused nodes
  FreeRange* parent = nullptr;  // null: the root, or in no treap
  FreeRange* older = nullptr;   // dirty ranges in the order in which they became free
  FreeRange* newer = nullptr;
  uint32_t slices_most = 0;  // in the treap: of this range and all below
  uint16_t priority = 0;     // in the treap: not below that of its children
  RangeState state = RangeState::unused;
  uint8_t refused_in = 0;  // dirty: the turn in which the kernel refused all of it; 0: none

  uintptr_t end() const noexcept { return base + slices * slice_bytes; }
  size_t bytes() const noexcept { return slices * slice_bytes; }
};
static_assert(sizeof(FreeRange) == cache_line_bytes, "a range is one line");
static_assert(address_bits - slice_shift <= 32, "slices of a range fit 32 bits");

class RangeIndex {
  friend struct ObservedLayout;  // observe/observed_fields.hpp
 public:
  // The range of at least this many slices at the highest address; null: none.
  TALUS_USUAL FreeRange* highest_fit(size_t slices) const noexcept {
    if (most_of(root_) < slices) return nullptr;
    FreeRange* at = root_;
    for (;;) {
      if (most_of(at->right) >= slices) {
        at = at->right;
      } else if (at->slices >= slices) {
        return at;
      } else {
        at = at->left;
      }
    }
  }

  // The first range that begins above this address; null: none.
  FreeRange* next_above(uintptr_t address) const noexcept {
    FreeRange* next = nullptr;
    for (FreeRange* at = root_; at != nullptr;) {
      if (at->base > address) {
        next = at;
        at = at->left;
      } else {
        at = at->right;
      }
    }
    return next;
  }

  void insert(FreeRange& node) noexcept {
    TALUS_ASSERT(node.parent == nullptr && node.left == nullptr && node.right == nullptr);
    const auto slices = static_cast<uint32_t>(node.slices);
    node.priority = static_cast<uint16_t>(mix_bits(node.base));
    node.slices_most = slices;
    FreeRange** link = &root_;
    while (*link != nullptr) {
      FreeRange& above = **link;
      if (above.slices_most < slices) above.slices_most = slices;
      node.parent = &above;
      link = node.base < above.base ? &above.left : &above.right;
    }
    *link = &node;
    while (node.parent != nullptr && node.parent->priority < node.priority) rise(node);
    slices_ += slices;
    count_++;
  }

  void remove(FreeRange& node) noexcept {
    while (node.left != nullptr && node.right != nullptr) {
      rise(node.left->priority > node.right->priority ? *node.left : *node.right);
    }
    FreeRange* child = node.left != nullptr ? node.left : node.right;
    link_to(node) = child;
    if (child != nullptr) child->parent = node.parent;
    refresh_from(node.parent);
    node.left = node.right = node.parent = nullptr;
    TALUS_ASSERT(count_ != 0 && slices_ >= node.slices);
    slices_ -= node.slices;
    count_--;
  }

  // A range changes its begin or end, but keeps its neighbours.
  void resize(FreeRange& node, uintptr_t base, size_t slices) noexcept {
    TALUS_ASSERT(slices != 0);
    slices_ += slices - node.slices;
    node.base = base;
    node.slices = slices;
    refresh_from(&node);
  }

  size_t bytes() const noexcept { return slices_ * slice_bytes; }
  size_t count() const noexcept { return count_; }

  // Order and heap property hold everywhere, each slices_most is correct, and the totals match the
  // nodes.
  bool is_sound() const noexcept {
    size_t slices = 0, count = 0;
    return is_sound_below(root_, nullptr, 0, UINTPTR_MAX, slices, count) && slices == slices_ &&
           count == count_;
  }

 private:
  static uint32_t most_of(const FreeRange* tree) noexcept {
    return tree == nullptr ? 0 : tree->slices_most;
  }
  static uint32_t most_at(const FreeRange& node) noexcept {
    const uint32_t left = most_of(node.left), right = most_of(node.right);
    const auto own = static_cast<uint32_t>(node.slices);
    const uint32_t below = left > right ? left : right;
    return own > below ? own : below;
  }
  // From here upwards, until nothing changes.
  static void refresh_from(FreeRange* at) noexcept {
    for (; at != nullptr; at = at->parent) {
      const uint32_t most = most_at(*at);
      if (most == at->slices_most) return;
      at->slices_most = most;
    }
  }
  FreeRange*& link_to(const FreeRange& node) noexcept {
    if (node.parent == nullptr) return root_;
    return node.parent->left == &node ? node.parent->left : node.parent->right;
  }
  // A node and its parent change places; the order stays.
  void rise(FreeRange& node) noexcept {
    FreeRange& above = *node.parent;
    link_to(above) = &node;
    FreeRange*& inner = above.left == &node ? node.right : node.left;
    (above.left == &node ? above.left : above.right) = inner;
    if (inner != nullptr) inner->parent = &above;
    inner = &above;
    node.parent = above.parent;
    above.parent = &node;
    node.slices_most = above.slices_most;
    above.slices_most = most_at(above);
  }

  static bool is_sound_below(const FreeRange* node, const FreeRange* parent, uintptr_t low,
                             uintptr_t high, size_t& slices, size_t& count) noexcept {
    if (node == nullptr) return true;
    slices += node->slices;
    count++;
    const bool is_placed = node->parent == parent && low <= node->base && node->end() <= high;
    const bool is_balanced = parent == nullptr || parent->priority >= node->priority;
    return is_placed && is_balanced && node->slices_most == most_at(*node) &&
           is_sound_below(node->left, node, low, node->base, slices, count) &&
           is_sound_below(node->right, node, node->end(), high, slices, count);
  }

  FreeRange* root_ = nullptr;
  size_t slices_ = 0;
  size_t count_ = 0;
};

}  // namespace talus::core

#endif  // TALUS_SPACE_RANGE_INDEX_HPP
