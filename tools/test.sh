#!/bin/sh
# SPDX-License-Identifier: MIT
# `make test`: the release build with all its tests, then the core's tests on the other compiler,
# with audits, under sanitizers, and on AArch64. Ends with one line for all.
set -u
jobs=$(nproc)
passed=0
failed=0
skipped=0
names=""

# Configures, builds and tests one preset. Further arguments go to ctest. `targets`: all by default.
targets=all
preset() {
  name=$1
  shift
  echo "== $name"
  log="build/$name.log"
  mkdir -p build
  # The names of several targets are several words.
  # shellcheck disable=SC2086
  if ! { cmake --preset "$name" &&
         cmake --build "build/$name" -j "$jobs" --target $targets; } >"$log" 2>&1; then
    tail -40 "$log"
    failed=$((failed + 1))
    names="$names $name(build)"
    return
  fi
  ctest --test-dir "build/$name" --output-on-failure -j "$jobs" "$@" >"$log" 2>&1
  grep -E 'tests passed|Failed|Timeout|\*\*\*' "$log"
  grep -q 'tests failed' "$log" || { tail -40 "$log"; failed=$((failed + 1)); return; }
  bad=$(grep -cE '^ *[0-9]+/[0-9]+ Test.*\*\*\*(Failed|Timeout|Exception|Not Run *[0-9])' "$log")
  skip=$(grep -cE '^ *[0-9]+/[0-9]+ Test.*\*\*\*(Skipped|Not Run \(Disabled\))' "$log")
  all=$(grep -cE '^ *[0-9]+/[0-9]+ Test ' "$log")
  if [ "$bad" != 0 ]; then
    grep -v ' Passed ' "$log" | grep -v '^ *Start' | head -150
    names="$names $name"
  fi
  failed=$((failed + bad))
  skipped=$((skipped + skip))
  passed=$((passed + all - bad - skip))
}

preset release
# The steps of README on the oldest system, and what it built on the newest one, or the reason why
# they cannot run. This waits for the network and the disk, so it runs beside builds. It does not
# run beside the tests above, because some of them measure.
fresh_log=build/fresh.log
python3 -B tools/fresh/run.py --only-demo --demos 1 --systems bookworm trixie \
  >"$fresh_log" 2>&1 &
fresh=$!
trap 'kill "$fresh" 2>/dev/null' INT TERM
preset clang -L 'death|asm'
preset asan -L 'unit|death'
preset tsan -L stress
if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64-static >/dev/null; then
  # The library itself takes the cross compiler longer than its tests do, and no test here runs it.
  targets="unit_programs death_test"
  preset aarch64 -L 'unit|death'
fi

echo "== fresh systems"
wait "$fresh"
cat "$fresh_log"
count() { tail -1 "$fresh_log" | tr ', ' '\n\n' | grep -x -B1 "$1" | grep -x '[0-9]*'; }
if [ -n "$(count skipped)" ]; then
  passed=$((passed + $(count passed)))
  failed=$((failed + $(count failed)))
  skipped=$((skipped + $(count skipped)))
  [ "$(count failed)" = 0 ] || names="$names fresh"
else
  failed=$((failed + 1))
  names="$names fresh"
fi
[ -z "$names" ] || echo "not passed:$names"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
