#!/bin/sh
# SPDX-License-Identifier: MIT
# What `make demo` shows: one real program on its own allocator and on Talus, and Talus' summary.
# The program is python3 with its own small-object allocator switched off, so that every object
# goes through malloc. Argument: the build directory.
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/demo.py" <<'PY'
import json, threading
def worker(seed):
    rows = [{"id": i, "name": "row %d" % i, "tags": [i, str(i * seed)]} for i in range(60000)]
    return len(json.dumps(json.loads(json.dumps(rows))))
threads = [threading.Thread(target=worker, args=(n,)) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
usage = open("/proc/self/status").read()
peak = [line for line in usage.splitlines() if line.startswith("VmHWM")][0].split()[1]
print("python3: 4 threads, json back and forth, peak RSS %.1f MiB" % (int(peak) / 1024))
PY
python=$(python3 -c 'import sys; print(sys.executable)')
export PYTHONMALLOC=malloc
echo "== The C library's allocator"
time -p "$python" "$work/demo.py"
echo
echo "== Talus: talus run TALUS_PRINT_STATS=stdout -- python3 demo.py"
time -p "$build/talus" run TALUS_PRINT_STATS=stdout -- "$python" "$work/demo.py"
echo
"$build/talus" check -- "$python"
