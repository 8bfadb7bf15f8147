// SPDX-License-Identifier: MIT
// examples/unique_pointers: owners of blocks of Talus: objects, classes with bases, arrays, and raw
// memory of C.
#include <cstdio>
#include <new>
#include <talus/talus.hpp>

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};
struct Square final : Shape {
  explicit Square(double side) : side_{side} {}
  double area() const override { return side_ * side_; }

 private:
  double side_;
};

int main() {
  const talus::unique_ptr<Shape> shape = talus::make_unique<Square>(3.0);
  std::printf("area %.1f\n", shape->area());

  const talus::unique_ptr<int[]> zeros = talus::make_unique<int[]>(1000);
  int sum = 0;
  for (std::size_t i = 0; i < 1000; i++) sum += zeros[i];

  // What a C interface returned.
  const std::unique_ptr<char, talus::deleter<void>> path{talus_realpath("/", nullptr)};
  std::printf("%s\n", path.get());

  // A size that the compiler knows; header-only, this is a few instructions.
  void* node = talus::allocate<48>();
  talus_free_sized(node, 48);

  // Memory that cannot be had is std::bad_alloc.
  bool is_thrown = false;
  try {
    const auto huge = talus::make_unique<char[]>(PTRDIFF_MAX);
  } catch (const std::bad_alloc&) {
    is_thrown = true;
  }
  return shape->area() == 9.0 && sum == 0 && is_thrown ? 0 : 1;
}
