# Reads the JSON of the runner, or a kept run, which has cells and no samples.
#
# Owns: the fields that a result must have, and the defaults of all others: results are kept for
# years, and the runner adds fields.
# Invariant: after read() each sample has a workload, an allocator and an outcome. A sample with
# outcome ok has numbers for time and memory. The names of both kinds are complete and in the order
# of the run.
# It computes nothing.
#
# SPDX-License-Identifier: MIT

import json
import math
from dataclasses import dataclass
from pathlib import Path

from .. import kept


class NoResult(ValueError):
    """The file is not a result of the runner. The text has the reason."""


@dataclass(frozen=True)
class Record:
    data: dict               # the whole file, for facts that are shown unchanged
    subject: str
    allocators: list[str]    # in the order of the run, as all lists here
    workloads: list[str]
    samples: list[dict]      # a kept run has none
    kept_run: kept.Result | None = None

    def allocator_facts(self, name: str) -> dict:
        for entry in self.data.get("allocators", []):
            if isinstance(entry, dict) and entry.get("name") == name:
                return entry
        return {"name": name}

    def setting(self, name: str, otherwise=None):
        return self.data.get("settings", {}).get(name, otherwise)


def is_number(value) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value))


def sound_sample(sample: dict) -> dict:
    """A copy with all fields that drawings need. A run without its numbers counts as failed."""
    sample = {"outcome": "unknown", "is_noisy": False, "command": [], "round": None, **sample}
    sample["workload"], sample["allocator"] = str(sample["workload"]), str(sample["allocator"])
    for part in ("measured", "result"):
        if not isinstance(sample.get(part), dict):
            sample[part] = {}
    if sample["outcome"] == "ok" and not (is_number(sample.get("time"))
                                          and is_number(sample.get("rss_kib"))):
        sample["outcome"] = "incomplete"
        sample.setdefault("reason", "the sample has no time or no memory")
    return sample


def in_order(*sources) -> list[str]:
    return list(dict.fromkeys(str(name) for source in sources for name in source))


def from_data(data) -> Record:
    if kept.is_kept(data):
        read_run = kept.from_kept(data)
        return Record(read_run.facts, read_run.subject, read_run.allocators, read_run.workloads, [],
                      read_run)
    if not isinstance(data, dict) or not isinstance(data.get("samples"), list):
        raise NoResult("it has no samples; give a JSON file of `python3 -m bench`")
    samples = [sound_sample(sample) for sample in data["samples"]
               if isinstance(sample, dict) and "workload" in sample and "allocator" in sample]
    if not samples:
        raise NoResult("its list of samples is empty")
    summary = data.get("summary") or {}
    allocators = in_order(
        (entry["name"] for entry in data.get("allocators", []) if "name" in entry),
        (sample["allocator"] for sample in samples))
    workloads = in_order(
        (row["workload"] for row in summary.get("rows", []) if "workload" in row),
        (sample["workload"] for sample in samples))
    subject = str(summary.get("subject", "talus"))
    if subject not in allocators:
        subject = allocators[0]
    return Record(data, subject, allocators, workloads, samples)


def read(path: Path) -> Record:
    try:
        return from_data(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise NoResult(error.strerror or str(error)) from error
    except ValueError as error:  # NoResult too: it gets the same path in front
        raise NoResult(str(error)) from error
