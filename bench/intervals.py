# The precision of figures: bootstrap intervals of medians, ratios and geometric means.
#
# Owns: the step from repeated samples to an interval. It knows neither workloads nor allocators, so
# tests can measure its coverage with generated noise.
# Method: a cell's samples are drawn with replacement REPLICATES times, from a fixed seed. The
# spread of the logarithms of the medians, times sqrt(n / (n - 1)), is the standard error of the
# median. Errors of a ratio or a mean add in squares. The interval is the estimate times exp(+-t *
# error), with t of Student's distribution and Welch's degrees of freedom. Percentiles of the
# replicates were refused: they never leave the range of three samples, and miss the truth in one
# case of five.
# `talus compare` has its own interval (tools/talus/compare/statistics.cpp). It compares pairs of
# one round, needs no means over rows, and must not depend on Python.
# Invariant: one sample gives no interval (None). No interval is narrower than its floor, the
# resolution of the clock or of the kernel's page counters.
#
# SPDX-License-Identifier: MIT

import functools
import math
import random
import statistics
from dataclasses import dataclass

REPLICATES = 1000
SEED = 20261121
CONFIDENCE = 0.95
FREEDOM_MAX = 200.0  # from this value on, Student's t is the normal one
LOG_MOST = 100.0  # e to this is more than any ratio of times or sizes


@dataclass(frozen=True)
class Estimate:
    """A positive figure, as its logarithm."""
    log: float
    variance: float | None   # of the logarithm; None: one sample
    freedom: float           # degrees of freedom of the variance
    floor: float             # the least half width of an interval, of the logarithm

    @property
    def value(self) -> float:
        return math.exp(self.log)

    def interval(self, confidence: float = CONFIDENCE) -> list[float] | None:
        if self.variance is None:
            return None
        half = max(self.floor,
                   student_t(confidence, self.freedom) * math.sqrt(self.variance))
        low, high = self.log - half, self.log + half
        # Two rounds far apart give an interval whose end no number can represent.
        return [math.exp(max(low, -LOG_MOST)), math.exp(min(high, LOG_MOST))]


def of_samples(values: list[float], floor: float, key: str,
               tries: list[float] | None = None) -> Estimate | None:
    """The median of a cell's samples. `key` separates cells that have the same samples.

    A single sample gets the spread of `tries`: all runs of the cell, noisy ones too.
    """
    if not values or min(values) <= 0:
        return None
    log = math.log(statistics.median(values))
    count = len(values)
    if count == 1:
        if tries is None or len(tries) < 2 or min(tries) <= 0:
            return Estimate(log, None, 0, floor)
        return Estimate(log, statistics.variance(map(math.log, tries)), len(tries) - 1, floor)
    draw = random.Random(f"{SEED}/{key}")
    medians = [math.log(statistics.median(draw.choices(values, k=count)))
               for _ in range(REPLICATES)]
    return Estimate(log, statistics.pvariance(medians) * count / (count - 1), count - 1, floor)


def combine(parts: list[tuple[float, Estimate | None]]) -> Estimate | None:
    """The sum of weighted logarithms: a quotient of two (1, -1) or a geometric mean (1/n each)."""
    if not parts or any(estimate is None for _, estimate in parts):
        return None
    log = math.fsum(weight * estimate.log for weight, estimate in parts)
    floor = math.sqrt(math.fsum((weight * estimate.floor) ** 2 for weight, estimate in parts))
    if any(estimate.variance is None for _, estimate in parts):
        return Estimate(log, None, 0, floor)
    variances = [(weight * weight * estimate.variance, estimate.freedom)
                 for weight, estimate in parts]
    variance = math.fsum(one for one, _ in variances)
    below = math.fsum(one * one / freedom for one, freedom in variances)
    freedom = variance * variance / below if below > 0 else FREEDOM_MAX
    return Estimate(log, variance, freedom, floor)


def ratio(first: Estimate | None, second: Estimate | None) -> Estimate | None:
    return combine([(1, first), (-1, second)])


def mean(estimates: list[Estimate], weights: list[float] | None = None) -> Estimate | None:
    """Weights add up to 1; without them all count alike."""
    weights = weights or [1 / len(estimates)] * len(estimates)
    return combine(list(zip(weights, estimates)))


def simultaneous(comparisons: int) -> float:
    """The confidence of each of many intervals, so that all hold together with CONFIDENCE."""
    return 1 - (1 - CONFIDENCE) / max(1, comparisons)


def student_t(confidence: float, freedom: float) -> float:
    """The number of standard errors to each side that hold `confidence` of Student's
    distribution."""
    # Rounded, so that few values are computed. Rounded down, so that no interval gets narrower.
    rounded = math.floor(min(max(freedom, 1.0), FREEDOM_MAX) * 10) / 10
    return cached_student_t(confidence, rounded)


@functools.cache
def cached_student_t(confidence: float, freedom: float) -> float:
    # With x = sqrt(freedom) tan(angle) the density is cos(angle)^(freedom - 1), up to a factor.
    def share_below(angle: float, steps: int = 400) -> float:
        width = angle / steps
        values = [math.cos(at * width) ** (freedom - 1) for at in range(steps + 1)]
        return width / 3 * (values[0] + values[-1] + 4 * sum(values[1:-1:2])
                            + 2 * sum(values[2:-1:2]))
    whole = math.sqrt(math.pi) / 2 * math.exp(
        math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))
    low, high = 0.0, math.pi / 2
    for _ in range(50):
        middle = (low + high) / 2
        if share_below(middle) < confidence * whole:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(high)
