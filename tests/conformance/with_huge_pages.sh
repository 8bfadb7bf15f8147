#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one command with transparent huge pages always on, and restores the setting afterwards, also
# when it is interrupted: with_huge_pages.sh COMMAND... The setting is the whole system's, so this
# is for a machine of one's own. Exit status 77 where it may not be changed.
set -u
setting=/sys/kernel/mm/transparent_hugepage/enabled
before=$(sed -n 's/.*\[\(.*\)\].*/\1/p' "$setting" 2>/dev/null)
[ -n "$before" ] || { echo "no transparent huge pages here" >&2; exit 77; }
trap 'echo "$before" >"$setting"' EXIT
trap 'exit 130' INT TERM
echo always 2>/dev/null >"$setting" || { echo "$setting cannot be written" >&2; exit 77; }
"$@"
