#!/bin/sh
# SPDX-License-Identifier: MIT
# `make test-ports`: on each other processor, in an emulator (qemu): the library, its unit tests,
# and a program of threads with pages of each size that the processor may have. A processor without
# a cross compiler here is left out, with one line.
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

port() {
  preset=$1 compiler=$2 pages=$3
  emulator=qemu-$preset-static
  if ! command -v "$compiler-g++" >/dev/null || ! command -v "$emulator" >/dev/null; then
    echo "$preset: no $compiler-g++ or no $emulator"
    return
  fi
  tried="$tried $preset"
  step "$preset(configure)" cmake --preset "$preset" || return
  step "$preset(build)" cmake --build "build/$preset" -j "$jobs" \
    --target unit_programs libtalus.so || return
  step "$preset(tests)" ctest --test-dir "build/$preset" -L unit -j "$jobs" --output-on-failure
  grep 'tests passed' "$log" | sed "s/^/$preset: /"
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
    aarch64) port aarch64 aarch64-linux-gnu "4096 16384 65536" ;;
    riscv64) port riscv64 riscv64-linux-gnu 4096 ;;
    ppc64le) port ppc64le powerpc64le-linux-gnu "4096 65536" ;;
    s390x) port s390x s390x-linux-gnu 4096 ;;
    *) echo "test_ports: no processor $name" >&2; exit 2 ;;
  esac
done
[ -z "$failed" ] || { echo "not passed:$failed"; exit 1; }
echo "passed:$tried"
