/* SPDX-License-Identifier: MIT
 * examples/batch: a tree whose nodes come by the hundred and go all at once.
 */
#include <stdio.h>
#include <talus/talus.h>

enum { node_count = 1000 };

struct node {
  struct node* left;
  struct node* right;
  int value;
};

static int sum_of(const struct node* node) {
  return node == NULL ? 0 : node->value + sum_of(node->left) + sum_of(node->right);
}

int main(void) {
  static void* blocks[node_count];
  const size_t made = talus_malloc_batch(sizeof(struct node), node_count, blocks);
  if (made != node_count) {
    /* There is no memory for all; those that were made are good. */
    talus_free_batch(blocks, made);
    return 1;
  }
  for (size_t i = 0; i < node_count; i++) {
    const size_t left = 2 * i + 1, right = 2 * i + 2;
    struct node* node = blocks[i];
    node->left = left < node_count ? blocks[left] : NULL;
    node->right = right < node_count ? blocks[right] : NULL;
    node->value = (int)i;
  }
  const int sum = sum_of(blocks[0]);
  printf("%d nodes, sum %d\n", node_count, sum);
  talus_free_batch(blocks, node_count);
  return sum == node_count * (node_count - 1) / 2 ? 0 : 1;
}
