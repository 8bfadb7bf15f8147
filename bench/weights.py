# How much each workload counts in a mean.
#
# Owns: the share of real programs. A user runs programs, not loops of malloc and free. So real
# programs together count half of a mean, and all other workloads the other half.
# Invariant: the weights add up to 1. A run with fewer than REAL_MIN rows of real programs, as all
# runs before 28 November 2026, counts all workloads alike: a handful is no sample of programs.
# It knows names only, so that old results can be evaluated again.
#
# SPDX-License-Identifier: MIT

from collections.abc import Iterable

REAL_SHARE = 0.5
REAL_MIN = 10
REAL_NUMBERS = ("P", "B21")


def is_real(workload: str) -> bool:
    """Whether a row is a program that is installed on the machine."""
    return workload.partition("@")[0].partition("/")[0] in REAL_NUMBERS


def of(workloads: Iterable[str]) -> dict[str, float]:
    """The weight of each workload of a mean, in the same order."""
    names = list(workloads)
    real = sum(map(is_real, names))
    if real < REAL_MIN or real == len(names):
        return {name: 1 / len(names) for name in names}
    return {name: REAL_SHARE / real if is_real(name) else (1 - REAL_SHARE) / (len(names) - real)
            for name in names}
