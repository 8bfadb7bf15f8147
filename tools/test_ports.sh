#!/bin/sh
# SPDX-License-Identifier: MIT
# `make test-ports`: each other processor, in an emulator (qemu). It builds the library and runs its
# unit tests, on ppc64le also with pages of 64 KiB, and on AArch64 tests of misuse and most stress
# tests. It runs a program of threads with pages of each size that the processor may have. A
# processor without a cross compiler here is left out, with one line.
# Arguments: the processors; all by default. Ends with one line for all.
set -u
jobs=$(nproc)
failed=""
tried=""
log=build/ports.log
mkdir -p build

# Runs a command; prints the end of what it said if it fails.
step() {
  name=$1
  shift
  if "$@" >"$log" 2>&1; then
    return 0
  fi
  tail -30 "$log"
  failed="$failed $name"
  return 1
}

# With pages of 64 KiB, qemu's mincore still tells of the machine's own pages: 16 bytes for each of
# 64 KiB, which is more than these programs have room for.
no_mincore='space.fill_probe|cache.medium|(checked.)?reclaim.decay|inspect.resident|bounded.life'
no_mincore="$no_mincore|statistics.(print_|instance_)?statistics"
# These tests count bytes that pages of 4 KiB give, or mappings as Linux has them.
small_pages='reclaim.refault|(checked.)?api.reshape|instances.instance_large|modes.mapped'
# These make thousands of mappings, which takes minutes.
slow='hardened.(heap.adoption|api.zeroed)'
no_large_pages="^unit[.]($no_mincore|$small_pages|$slow)\$"
# qemu now and then stands still in a fork beside threads. It keeps 280 KiB of each thread that
# ended, which two tests take for a leak. exhaustion_storm is not built.
no_emulator='^stress[.](fork_|thread_churn|late_destructors|exhaustion_storm)'

# The tests of these labels, with pages of this size.
ported_tests() {
  name=$1 bytes=$2 labels=$3 left_out=$4
  step "$preset($name)" env QEMU_PAGESIZE="$bytes" ctest --test-dir "build/$preset" -L "$labels" \
    -E "$left_out" -j "$jobs" --output-on-failure
  grep 'tests passed' "$log" | sed "s/^/$preset, pages of $bytes bytes, $labels: /"
}

port() {
  preset=$1 compiler=$2 pages=$3 parts=${4:-unit} targets=${5:-}
  emulator=qemu-$preset-static
  if ! command -v "$compiler-g++" >/dev/null || ! command -v "$emulator" >/dev/null; then
    echo "$preset: no $compiler-g++ or no $emulator"
    return
  fi
  tried="$tried $preset"
  step "$preset(configure)" cmake --preset "$preset" "-DTALUS_TEST_PARTS=$parts" || return
  # The names of several targets are several words.
  # shellcheck disable=SC2086
  step "$preset(build)" cmake --build "build/$preset" -j "$jobs" \
    --target unit_programs libtalus.so $targets || return
  ported_tests tests 4096 'unit|death|stress' "$no_emulator"
  if [ "$preset" = ppc64le ]; then  # whose kernels have such pages
    ported_tests large-pages 65536 unit "$no_large_pages"
  fi
  "$compiler-gcc" -O1 -fno-builtin -Iinclude tests/entry/plain_threads.c -L"build/$preset" \
    -ltalus -pthread -o "build/$preset/plain_threads"
  for bytes in $pages; do
    step "$preset($bytes)" "$emulator" -p "$bytes" -L "/usr/$compiler" \
      -E "LD_LIBRARY_PATH=build/$preset" "build/$preset/plain_threads" &&
      echo "$preset: pages of $bytes bytes"
  done
}

for name in ${*:-aarch64 riscv64 ppc64le s390x}; do
  case $name in
    aarch64)
      port aarch64 aarch64-linux-gnu "4096 16384 65536" "unit;death;stress" \
        "death_test stress"
      ;;
    riscv64) port riscv64 riscv64-linux-gnu 4096 ;;
    ppc64le) port ppc64le powerpc64le-linux-gnu "4096 65536" ;;
    s390x) port s390x s390x-linux-gnu 4096 ;;
    *) echo "test_ports: no processor $name" >&2; exit 2 ;;
  esac
done
[ -z "$failed" ] || { echo "not passed:$failed"; exit 1; }
echo "passed:$tried"
