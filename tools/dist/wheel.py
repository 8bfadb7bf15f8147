# What it owns: the wheel: packages/python with the command and the library in it, and the tag that
# says which C library it needs. The tag is read from the symbols of both files.
# It must not know how these are built.
# SPDX-License-Identifier: MIT
"""The wheel for Python."""

import base64
import hashlib
import platform
import re
import subprocess
import time
import zipfile

METADATA = """Metadata-Version: 2.1
Name: talus
Version: {version}
Summary: A memory allocator for Linux that is fast and small at once
License: MIT
Requires-Python: >=3.8
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

"""
WHEEL = "Wheel-Version: 1.0\nGenerator: talus-tools-dist\nRoot-Is-Purelib: false\nTag: {tag}\n"
ENTRIES = "[console_scripts]\ntalus = talus.__main__:main\n"
OLDEST = (2, 17)
MUSL = (1, 2)  # as auditwheel says


def platform_of(paths, machine):
    """The tag of the platform: by the C library that the files ask for."""
    newest = OLDEST
    is_musl = False
    for path in paths:
        said = subprocess.run(["readelf", "-dVW", path], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        is_musl = is_musl or re.search(r"\(NEEDED\).*\[libc\.musl-", said) is not None
        for found in re.findall(r"GLIBC_(\d+)\.(\d+)", said):
            newest = max(newest, (int(found[0]), int(found[1])))
    if is_musl:
        return f"musllinux_{MUSL[0]}_{MUSL[1]}_{machine}"
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"


def write(output, source, command, library, version, date, machine=None):
    """Writes the wheel into the folder `output`: for this machine, or another. Returns its path."""
    tag = f"py3-none-{platform_of([command, library], machine or platform.machine())}"
    info = f"talus-{version}.dist-info"
    package = source / "packages/python"
    files = {f"talus/{path.name}": path.read_bytes().replace(b"@VERSION@", version.encode())
             for path in sorted((package / "talus").glob("*.py"))}
    files["talus/bin/talus"] = command.read_bytes()
    files["talus/lib/libtalus.so"] = library.read_bytes()
    files[f"{info}/METADATA"] = (METADATA.format(version=version)
                                 + (package / "README.md").read_text()).encode()
    files[f"{info}/LICENSE"] = (source / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    files[f"{info}/entry_points.txt"] = ENTRIES.encode()
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = output / f"talus-{version}-{tag}.whl"
    moment = max(time.gmtime(date)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            item = zipfile.ZipInfo(name, moment)
            item.compress_type = zipfile.ZIP_DEFLATED
            item.create_system = 3
            item.external_attr = (0o100755 if "/bin/" in name else 0o100644) << 16
            archive.writestr(item, content)
    return path
