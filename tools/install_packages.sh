#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian or Ubuntu packages in the arguments that are missing.
# `a|b` means a, or b if there is no package a. A package after --optional is skipped if the system
# does not have it. Any other unknown package is an error.
# Runs apt only if a package is missing; without root it uses sudo. On other systems it lists the
# packages and succeeds.
set -eu

# Whether one of the packages of `a|b` is installed.
is_installed() {
  for name in $(echo "$1" | tr '|' ' '); do
    if dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed'; then
      return 0
    fi
  done
  return 1
}

# Prints the first package of `a|b` that exists.
first_known() {
  for name in $(echo "$1" | tr '|' ' '); do
    if apt-cache show "$name" >/dev/null 2>&1; then
      echo "$name"
      return 0
    fi
  done
  return 1
}

missing=""
optional=""
kind=needed
for choice in "$@"; do
  if [ "$choice" = --optional ]; then
    kind=optional
  elif ! is_installed "$choice"; then
    if [ "$kind" = needed ]; then missing="$missing $choice"; else optional="$optional $choice"; fi
  fi
done
[ -n "$missing$optional" ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "talus: please install:$missing$optional" >&2
  exit 0
fi
as_root=""
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "talus: needs root, or sudo, to install:$missing$optional" >&2
    exit 1
  fi
  as_root="sudo"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Shows apt's output on failure. sudo keeps no environment.
run_apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@" >"$log" 2>&1 && return 0
  cat "$log" >&2
  return 1
}
run_apt update -qq
names=""
unknown=""
for choice in $missing; do
  if name=$(first_known "$choice"); then names="$names $name"; else unknown="$unknown $choice"; fi
done
if [ -n "$unknown" ]; then
  echo "talus: apt has no package of the name:$unknown" >&2
  exit 1
fi
for choice in $optional; do
  if name=$(first_known "$choice"); then
    names="$names $name"
  else
    echo "talus: goes without $choice: apt has no package of that name" >&2
  fi
done
[ -n "$names" ] || exit 0
echo "talus: installing$names" >&2
# shellcheck disable=SC2086
run_apt install -y -qq --no-install-recommends $names
