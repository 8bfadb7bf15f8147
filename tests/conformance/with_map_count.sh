#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one command with another vm.max_map_count, and restores the setting afterwards, also when it
# is interrupted: with_map_count.sh COUNT COMMAND... The setting is the whole system's, so this is
# for a machine of one's own. Exit status 77 where it may not be changed.
set -u
setting=/proc/sys/vm/max_map_count
before=$(cat "$setting" 2>/dev/null) || { echo "no bound on mappings here" >&2; exit 77; }
count=$1
shift
trap 'echo "$before" >"$setting"' EXIT
trap 'exit 130' INT TERM
echo "$count" 2>/dev/null >"$setting" || { echo "$setting cannot be written" >&2; exit 77; }
"$@"
