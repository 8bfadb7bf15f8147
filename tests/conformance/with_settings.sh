#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one command with other settings of the kernel, and restores them afterwards, also when it is
# interrupted: with_settings.sh NAME=VALUE... -- COMMAND..., each name a path, or one below
# /proc/sys. They are the whole system's, so this is for a machine of one's own. Exit status 77
# where one may not be changed, and where the kernel would promise no more than it has already.
set -u
restore=:
put_back() { eval "$restore"; }
trap put_back EXIT
trap 'exit 130' INT TERM

kilobytes() { sed -n "s/^$1: *\([0-9]*\) kB$/\1/p" /proc/meminfo; }

while [ $# -gt 0 ] && [ "$1" != -- ]; do
  file=${1%%=*}
  case $file in /*) ;; *) file=/proc/sys/$file ;; esac
  # Of a choice of words, the one in brackets.
  before=$(sed 's/.*\[\(.*\)\].*/\1/' "$file" 2>/dev/null) ||
    { echo "$file cannot be read" >&2; exit 77; }
  if [ "$1" = vm/overcommit_memory=2 ] &&
     [ "$(kilobytes Committed_AS)" -gt $(($(kilobytes CommitLimit) / 4 * 3)) ]; then
    echo "too much is promised here" >&2
    exit 77
  fi
  # What was changed last is restored first.
  restore="echo '$before' >'$file'; $restore"
  echo "${1#*=}" 2>/dev/null >"$file" || { echo "$file cannot be written" >&2; exit 77; }
  shift
done
[ $# -gt 1 ] || { echo "usage: with_settings.sh NAME=VALUE... -- COMMAND..." >&2; exit 2; }
shift
"$@"
