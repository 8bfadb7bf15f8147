# SPDX-License-Identifier: MIT
"""Talus, a memory allocator for Linux, in the process that imports this.

    $ talus run python app.py

starts Python, and everything it loads, on Talus. In that process:

    >>> import talus
    >>> talus.active()
    True
    >>> talus.stats()["heap"]["live_bytes"]
    1234567
    >>> talus.release()        # free memory goes back to the system now; the bytes purged
    0

Importing changes nothing: an allocator can only be chosen when a process starts.
"""

import ctypes
import json
import os

__all__ = ["NotActive", "active", "command", "library", "release", "stats", "version"]
__version__ = "@VERSION@"

_HERE = os.path.dirname(os.path.abspath(__file__))
_JSON = 1  # TALUS_STATS_JSON


class NotActive(RuntimeError):
    """Talus is not the allocator of this process."""

    def __init__(self):
        super().__init__("this process is not on Talus: start it with `talus run python ...`")


def command():
    """The path of the command `talus`."""
    return os.path.join(_HERE, "bin", "talus")


def library():
    """The path of the library, for LD_PRELOAD."""
    return os.path.join(_HERE, "lib", "libtalus.so")


def _functions():
    """The functions of the library in this process; NotActive where there is none."""
    process = ctypes.CDLL(None)
    try:
        process.talus_version.restype = ctypes.c_char_p
        process.talus_release.argtypes = [ctypes.c_size_t]
        process.talus_release.restype = ctypes.c_size_t
        process.talus_stats_print.argtypes = [ctypes.c_int, ctypes.c_int]
        process.talus_usable_size.argtypes = [ctypes.c_void_p]
        process.talus_usable_size.restype = ctypes.c_size_t
    except AttributeError:
        raise NotActive from None
    return process


def active():
    """Whether malloc of this process is Talus'."""
    try:
        _functions()
    except NotActive:
        return False
    return True


def version():
    """The version of Talus that this process runs on."""
    return _functions().talus_version().decode()


def release(wanted_bytes=None):
    """Free memory goes back to the system: all of it, or at least as much as is wanted.

    Returns the bytes purged."""
    if wanted_bytes is None:
        wanted_bytes = ctypes.c_size_t(-1).value >> 1
    return _functions().talus_release(wanted_bytes)


def stats():
    """All statistics, as a dictionary of dictionaries."""
    process = _functions()
    descriptor = os.memfd_create("talus-stats")
    try:
        error = process.talus_stats_print(descriptor, _JSON)
        if error != 0:
            raise OSError(error, os.strerror(error))
        with os.fdopen(os.dup(descriptor), encoding="utf-8") as file:
            file.seek(0)
            return json.load(file)
    finally:
        os.close(descriptor)
