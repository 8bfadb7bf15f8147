# The colours, for light and dark, and the mark of each allocator.
#
# Owns: every colour of the report, once; page.css and chart.css use the names. The page switches by
# the system's setting or by its button. A chart in a file of its own follows the reader's system.
# Its colours are written out, because not every viewer of SVG supports variables.
# Allocators of one family share a colour and differ by shape, so that readers need to distinguish
# at most ten colours. Blue and orange differ for colour-blind readers too.
#
# SPDX-License-Identifier: MIT

import re

COLOURS = {  # name: (light, dark)
    "page": ("#fbfbfa", "#14171c"),
    "card": ("#ffffff", "#1c2027"),
    "sunk": ("#f1f2f0", "#242932"),
    "line": ("#dcdedb", "#363d48"),
    "faint": ("#e9ebe8", "#2a303a"),
    "ink": ("#1b1f24", "#e8eaed"),
    "soft": ("#565d66", "#a3abb6"),
    "link": ("#0b5cad", "#7cb8ff"),
    "subject": ("#c2185b", "#ff6ea6"),
    "subject-soft": ("#fde8f0", "#3a1f2c"),
    "good": ("#0a5ea8", "#74b6f5"),
    "bad": ("#b34700", "#ffa35c"),
    # heat: the best first, then larger ratios; the paper's colour is in the middle
    "heat-0": ("#2472b0", "#3b8fd6"),
    "heat-1": ("#8dbce0", "#2a628f"),
    "heat-2": ("#cfe2f0", "#23415a"),
    "heat-3": ("#f2f2ee", "#2a2f37"),
    "heat-4": ("#fbdcb8", "#563c22"),
    "heat-5": ("#f5b069", "#87531f"),
    "heat-6": ("#e07b27", "#c0691c"),
    "heat-7": ("#a84300", "#f08a3c"),
    "heat-ink-0": ("#ffffff", "#08121c"),
    "heat-ink-7": ("#ffffff", "#1c0e02"),
    "heat-ink-6": ("#1b0d00", "#140a00"),
    "series-0": ("#6b7280", "#9aa3b0"),
    "series-1": ("#0072b2", "#4da6e0"),
    "series-2": ("#d98200", "#f0a93a"),
    "series-3": ("#00896b", "#2cc49e"),
    "series-4": ("#7a4fd0", "#b394ff"),
    "series-5": ("#8a5a2b", "#c9965f"),
    "series-6": ("#2aa7d6", "#7fd4f5"),
    "series-7": ("#7d8c00", "#c3d13a"),
    "series-8": ("#3f4a5a", "#d5dbe5"),
    "series-9": ("#c0392b", "#ff8a7a"),
}

SHAPES = ("circle", "square", "diamond", "triangle", "cross")
SUBJECT = ("subject", "circle")
KNOWN = {
    "glibc": ("series-0", "square"),
    "jemalloc": ("series-1", "circle"), "jemalloc-tikv": ("series-1", "diamond"),
    "mimalloc3": ("series-2", "circle"), "mimalloc2": ("series-2", "diamond"),
    "snmalloc": ("series-3", "triangle"),
    "tcmalloc": ("series-4", "circle"), "gperftools": ("series-4", "diamond"),
    "tbbmalloc": ("series-6", "square"), "rpmalloc": ("series-5", "triangle"),
    "scudo": ("series-7", "cross"),
    "hardened": ("series-8", "circle"), "hardened-light": ("series-8", "diamond"),
}


def marks(allocators: list[str], subject: str) -> dict[str, tuple[str, str]]:
    """(colour, shape) of each allocator. Known allocators look alike in every report."""
    free = [(colour, shape) for shape in SHAPES
            for colour in (f"series-{number}" for number in (9, 3, 5, 6, 7, 1, 2, 4, 8, 0))
            if (colour, shape) not in KNOWN.values()]
    chosen = {}
    for name in allocators:
        if name == subject:
            chosen[name] = SUBJECT
        elif name in KNOWN:
            chosen[name] = KNOWN[name]
        else:
            chosen[name] = free.pop(0) if free else KNOWN["glibc"]
    return chosen


def variables(theme: int) -> str:
    return " ".join(f"--{name}: {both[theme]};" for name, both in COLOURS.items())


def page_rules() -> str:
    """Dark by the reader's system, unless the page's own switch is set."""
    light, dark = variables(0), variables(1)
    return (f":root {{ color-scheme: light; {light} }}\n"
            "@media screen and (prefers-color-scheme: dark) {\n"
            f"  :root:not([data-theme=light]) {{ color-scheme: dark; {dark} }}\n}}\n"
            f"@media screen {{ :root[data-theme=dark] {{ color-scheme: dark; {dark} }} }}\n")


def series_rules() -> str:
    return "\n".join(f".fill-{name} {{ fill: var(--{name}); }} "
                     f".edge-{name} {{ stroke: var(--{name}); }}"
                     for name in COLOURS if name.startswith(("series", "subject", "heat-")))


def written_out(rules: str) -> str:
    """Rules for a chart in a file of its own: each variable replaced, once for each theme."""
    light, dark = (re.sub(r"var\(--([\w-]+)\)", lambda found: COLOURS[found[1]][theme], rules)
                   for theme in (0, 1))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
