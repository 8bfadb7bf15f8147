#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the manual page of `talus` and one for each command: manual_pages.sh TALUS FOLDER
# Owns: the names of the files. The build calls it, and `talus` prints the text.
# Must not know: which commands there are.
set -eu
"$1" manual >"$2/talus.1"
"$1" complete -- talus "" | cut -f1 | while read -r command; do
  "$1" manual "$command" >"$2/talus-$command.1"
done
