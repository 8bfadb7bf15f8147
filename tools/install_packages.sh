#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian or Ubuntu packages named as arguments, as far as they are missing.
# `a|b` means a, or b where there is no a. Asks apt only when something is missing; without root
# it uses sudo. On other systems it says what is needed and goes on.
set -eu
missing=""
for choice in "$@"; do
  found=""
  for name in $(echo "$choice" | tr '|' ' '); do
    if dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed'; then
      found=yes
    fi
  done
  [ -n "$found" ] || missing="$missing $choice"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "talus: please install:$missing" >&2
  exit 0
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
echo "talus: installing$missing" >&2
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
$as_root apt-get update -qq
names=""
for choice in $missing; do
  for name in $(echo "$choice" | tr '|' ' '); do
    if apt-cache show "$name" >/dev/null 2>&1; then
      names="$names $name"
      break
    fi
  done
done
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $names >/dev/null
