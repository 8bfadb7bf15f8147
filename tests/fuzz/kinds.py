"""What a seed means: options of Talus, settings of fuzz_calls, and which kind of run it is.

A kind says what is special. Beside it every run draws a few of the options that must not matter for
what is right. Most runs leave out some kinds of calls, so that the others meet in other ways. Only
the seed, the kind and the directory decide.
SPDX-License-Identifier: MIT
"""

import random

# Options that change when and how, never what.
HARMLESS_OPTIONS = {
    "TALUS_DECAY_MS": (0.3, ["0", "1", "10ms", "5s"]),
    "TALUS_RETAIN_BYTES": (0.3, ["0", "1M", "1G"]),
    "TALUS_HEAPS": (0.3, ["1", "2", "7"]),
    "TALUS_LIST_BYTES": (0.3, ["0", "1", "1K", "64K"]),
    "TALUS_HELPER": (0.3, ["0"]),
    "TALUS_THP": (0.3, ["never", "always", "adaptive"]),
    "TALUS_ARENA_BYTES": (0.2, ["1M", "16M", "1G"]),
    "TALUS_PRESET": (0.15, ["tiny", "small", "fast"]),
    "TALUS_NAME_MAPPINGS": (0.1, ["1"]),
    "TALUS_PRESSURE": (0.1, ["1"]),
    "TALUS_RANDOM": (0.3, ["0", "7"]),
}
# Calls that are left out now and then, and calls that are added.
LEFT_OUT = {"providers": 0.2, "large": 0.2, "trims": 0.15, "options": 0.2, "heaps": 0.2,
            "bounded": 0.2, "containers": 0.2, "forks": 0.15}
ADDED = {"huge": 0.3, "locked_memory": 0.3, "spawns": 0.3, "child_threads": 0.3}

# Of the calls in refusals.cpp: room in a file that was promised, without which a touch is SIGBUS.
ALL_BUT_FILE_ROOM = 0xffff & ~64


class Draw:
    """The environment and the settings of one run, as they come together."""

    def __init__(self, seed, kind, seconds, directory):
        self.random = random.Random(f"{seed} {kind}")
        self.directory = directory
        self.environment = {"TALUS_CONFIG": "none"}
        self.settings = {"seed": seed, "seconds": seconds,
                         "threads": self.random.choice([1, 2, 3, 3, 4, 6])}

    def happens(self, chance):
        return self.random.random() < chance

    def option(self, name, values, chance=1.0):
        if self.happens(chance):
            self.environment[name] = self.random.choice(values)

    def memory_is_short(self, live_mib):
        self.settings |= {"may_fail": 1, "live_mib": live_mib, "resident": 0}


def plain(_draw):
    pass


def counted(draw):
    draw.environment["TALUS_PRINT_STATS"] = "/dev/null"
    draw.option("TALUS_PRINT_STATS_TRIGGER", ["1", "2", "4", "5", "7"])
    draw.option("TALUS_PRINT_STATS_FORMAT", ["text", "json", "csv"])
    draw.environment |= {"TALUS_PRINT_STATS_BYTES": "1M", "TALUS_PRINT_STATS_MS": "50ms"}


def mapped(draw):
    draw.option("TALUS_MODE", ["mapped", "mapped", "mapped-underrun"])
    draw.settings["mapped"] = 1
    draw.option("TALUS_MAPPED_BLOCKS", ["0", "1", "100", "2000"], 0.4)
    draw.option("TALUS_QUARANTINE_BYTES", ["0", "1M", "64K"], 0.3)
    draw.option("TALUS_MAPPED_MAPPINGS", ["10", "300"], 0.3)


def checked(draw):
    """Nothing may stop. Calls of C and C++ are mixed, so kinds and sizes stay unchecked."""
    draw.environment["TALUS_MODE"] = "checked"
    draw.option("TALUS_PRINT_STATS", ["/dev/null"], 0.3)


def hardened(draw):
    """Nothing may stop here, either: freed blocks wait, are zero, and come back in random order."""
    draw.environment["TALUS_MODE"] = "hardened"
    draw.settings["hardened"] = 1
    draw.option("TALUS_QUARANTINE_BYTES", ["0", "1M", "64K"], 0.3)
    draw.option("TALUS_THREAD_QUARANTINE_BYTES", ["0", "4K", "256K"], 0.3)
    draw.option("TALUS_PRINT_STATS", ["/dev/null"], 0.3)


def profiled(draw):
    """Sampled blocks lie apart, some of them between guards."""
    draw.option("TALUS_PROFILE", ["1K", "16K", "512K"])
    draw.option("TALUS_GUARD", ["16K", "256K", "16M"], 0.4)
    draw.settings["guarded"] = int("TALUS_GUARD" in draw.environment)


def preallocated(draw):
    draw.option("TALUS_PROVIDER", [f"prealloc:{room},fallback={falls_back}"
                                   for room in ("64M", "200M", "8M") for falls_back in (0, 1)])
    draw.memory_is_short(40)


def file(draw):
    draw.option("TALUS_PROVIDER", [f"file:{draw.directory},{room}" for room in (
        "grow=1", "size=300M,grow=0", "size=64M,grow=1", "size=1G,grow=1")])
    draw.memory_is_short(30)
    draw.settings["descriptors"] = int(draw.happens(0.4))
    draw.settings["file_size"] = int(draw.happens(0.3))


def limits(draw):
    draw.settings["limits"] = 1
    draw.option("TALUS_LIMIT_HARD", ["8M", "30M", "64M", "120M"], 0.5)
    draw.option("TALUS_LIMIT_SOFT", ["1", "4M", "20M", "50M"], 0.5)


def addresses(draw):
    draw.settings["address_limit"] = 1
    draw.settings["live_mib"] = 40


def refusals(draw):
    draw.settings["refusals"] = draw.random.choice([5, 50, 300])
    if draw.happens(0.5):
        draw.settings["refused_calls"] = draw.random.choice([1, 2, 4, 8, 16, 32, 9, 25, 63])
    draw.environment["TALUS_HELPER"] = draw.random.choice(["0", "1"])
    # A heap's file that cannot be copied is lost to a child, and it ends.
    draw.settings["forks"] = draw.random.randrange(2)
    draw.settings["files"] = 1 - draw.settings["forks"]


def alone(draw):
    draw.settings["threads"] = 0
    draw.environment["TALUS_HELPER"] = "0"


def mixed(draw):
    """Several of the others at the same time."""
    draw.memory_is_short(40)
    base = draw.random.choice([plain, counted, mapped, checked, hardened, profiled,
                                      preallocated, file])
    base(draw)
    draw.memory_is_short(40)
    for shortage in draw.random.sample([limits, addresses, refusals], draw.random.choice([1, 2])):
        shortage(draw)
    if base is file and "refusals" in draw.settings:
        draw.settings["forks"] = 0
        draw.settings["refused_calls"] = ALL_BUT_FILE_ROOM


KINDS = {kind.__name__: kind for kind in (
    plain, counted, mapped, checked, hardened, profiled, preallocated, file, limits, addresses,
    alone, refusals, mixed)}
# Kinds that have found most come more often.
KIND_OF_SEED = [
    "plain", "counted", "mapped", "checked", "hardened", "profiled", "preallocated", "file",
    "limits", "addresses", "alone", "mixed", "refusals", "mixed", "hardened", "mixed", "file",
    "mapped"]


def kind_of(seed):
    return KIND_OF_SEED[seed % len(KIND_OF_SEED)]


def run_of(seed, kind, seconds, directory, makes_all_calls=False):
    """(environment, settings) of the run that this seed is."""
    draw = Draw(seed, kind, seconds, directory)
    draw.settings["directory"] = directory
    for name, (chance, values) in HARMLESS_OPTIONS.items():
        draw.option(name, values, chance)
    for name, chance in ADDED.items():
        draw.settings[name] = int(draw.happens(chance))
    if draw.settings["locked_memory"]:
        draw.settings["resident"] = 0
    KINDS[kind](draw)
    for name, chance in LEFT_OUT.items():
        if draw.happens(chance) and not makes_all_calls:
            draw.settings[name] = 0
    if draw.happens(0.2):
        draw.settings["places"] = draw.random.choice([64, 300, 1000])
    return draw.environment, draw.settings
