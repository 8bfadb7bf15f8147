# What it owns: the bill of materials in SPDX 2.3: what is delivered, and what is linked into it.
# The link line of the command is the source: a library that is not in LIBRARIES is an error.
# It must not know how the files are made.
# SPDX-License-Identifier: MIT
"""The bill of materials."""

import hashlib
import json
import re
import subprocess
import time
from collections import namedtuple

import archives

Library = namedtuple("Library", "name package licence supplier")
# Archives on the command's link line, by name; the C++ runtime and headers are always there.
LIBRARIES = {
    "elf": Library("elfutils libelf", "libelf-dev", "LGPL-3.0-or-later OR GPL-2.0-or-later",
                   "elfutils"),
    "dw": Library("elfutils libdw", "libdw-dev", "LGPL-3.0-or-later OR GPL-2.0-or-later",
                  "elfutils"),
    "iberty": Library("libiberty", "libiberty-dev", "LGPL-2.1-or-later", "GNU"),
    "z": Library("zlib", "zlib1g-dev", "Zlib", "zlib"),
    "zstd": Library("Zstandard", "libzstd-dev", "BSD-3-Clause", "Meta"),
    "event_core": Library("libevent", "libevent-dev", "BSD-3-Clause", "libevent"),
    "event_extra": Library("libevent", "libevent-dev", "BSD-3-Clause", "libevent"),
    "ncursesw": Library("ncurses", "libncurses-dev", "X11", "ncurses"),
    "tinfo": Library("ncurses", "libncurses-dev", "X11", "ncurses"),
    "dl": None,  # of the C library
}
ALWAYS = (
    Library("fmt", "libfmt-dev", "MIT", "fmt"),
    Library("CLI11", "libcli11-dev", "BSD-3-Clause", "CLIUtils"),
    Library("libstdc++", "libstdc++6", "GPL-3.0-or-later WITH GCC-exception-3.1", "GNU"),
    Library("glibc", "libc6-dev", "LGPL-2.1-or-later", "GNU"),
    Library("libgcc", "libgcc-s1", "GPL-3.0-or-later WITH GCC-exception-3.1", "GNU"),
)


def linked(ninja_text):
    """The libraries that the build links into the command statically."""
    block = re.search(r"\nbuild talus: CXX_EXECUTABLE_LINKER.*?\n\n", ninja_text, re.DOTALL)
    line = re.search(r"LINK_LIBRARIES = (.*)", block.group(0)).group(1)
    found = set(ALWAYS)
    for word in line.split():
        name = re.fullmatch(r"-l:?(?:lib)?(\w+?)(?:\.a)?", word)
        if name is None or name.group(1) not in LIBRARIES:
            raise SystemExit(f"dist: tools/dist/bill.py has no licence for {word}")
        if LIBRARIES[name.group(1)] is not None:
            found.add(LIBRARIES[name.group(1)])
    return found


def version_of(package):
    """The version of a package of this system, or SPDX's word for an unknown one."""
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False)
    except FileNotFoundError:
        return "NOASSERTION"
    return done.stdout if done.returncode == 0 and done.stdout else "NOASSERTION"


def package(identifier, library, version, licence):
    return {"SPDXID": identifier, "name": library, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION"}


def bill(version, folder, ninja_texts, date):
    """The document, as a text: of what all builds link."""
    parts = sorted(set().union(*map(linked, ninja_texts)))
    packages = [package("SPDXRef-talus", "talus", version, "MIT")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-talus")]
    for part in parts:
        identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", part.name)
        packages.append({**package(identifier, part.name, version_of(part.package), part.licence),
                         "comment": f"in the command talus alone; package {part.package}"})
        relations.append(("SPDXRef-talus", "STATIC_LINK", identifier))
    files = []
    for number, path in enumerate(sorted(folder.iterdir())):
        if path.name == "SHA256SUMS" or path.name.endswith(".spdx.json"):
            continue
        identifier = f"SPDXRef-File-{number}"
        content = path.read_bytes()
        files.append({"SPDXID": identifier, "fileName": f"./{path.name}",
                      "checksums": [{"algorithm": "SHA1",
                                     "checksumValue": hashlib.sha1(content).hexdigest()},
                                    {"algorithm": "SHA256",
                                     "checksumValue": archives.digest(path)}],
                      "licenseConcluded": "NOASSERTION", "licenseInfoInFiles": ["NOASSERTION"],
                      "copyrightText": "NOASSERTION"})
        relations.append(("SPDXRef-talus", "CONTAINS", identifier))
    name = f"talus-{version}"
    unique = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": name, "documentNamespace": f"urn:talus:{name}:{unique}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(date)),
            "creators": ["Organization: The Talus authors", "Tool: talus-tools-dist"]},
        "packages": packages, "files": files,
        "relationships": [{"spdxElementId": one, "relationshipType": kind,
                           "relatedSpdxElement": other} for one, kind, other in relations]}
    return json.dumps(document, indent=1) + "\n"
