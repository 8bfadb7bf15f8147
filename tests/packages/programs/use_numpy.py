# Run by python_programs_test.py, on Talus.
# SPDX-License-Identifier: MIT
"""A program of numpy: small and large arrays, threads, and forked children."""

import multiprocessing
import threading

import numpy as np
import talus

LARGE = (64, 1 << 17)
NOISE_BYTES = 8 << 20  # what Python and other threads allocate and free meanwhile


def work(seed):
    """Numbers that depend on the seed alone."""
    draw = np.random.default_rng(seed)
    total = 0.0
    for count in (10, 1000, 200_000):
        array = draw.standard_normal(count)
        total += float(np.sort(array)[count // 2]) + float((array * 2 + 1).mean())
    matrix = draw.standard_normal((100, 100))
    assert np.allclose(matrix @ np.linalg.inv(matrix), np.eye(100), atol=1e-6)
    return total


def live_bytes():
    return talus.stats()["heap"]["live_bytes"]


def main():
    assert talus.active()
    with multiprocessing.get_context("fork").Pool(2) as pool:  # before there are threads
        in_children = pool.map(work, range(4))
    alone = [work(seed) for seed in range(4)]
    assert np.allclose(in_children, alone)
    beside = {}
    threads = [threading.Thread(target=lambda seed: beside.update({seed: work(seed)}), args=(seed,))
               for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.allclose([beside[seed] for seed in range(4)], alone)
    before = live_bytes()
    large = np.ones(LARGE)
    assert live_bytes() >= before + large.nbytes - NOISE_BYTES, "arrays are blocks of Talus"
    large = np.resize(large, (2 * LARGE[0], LARGE[1]))
    assert large.sum() == large.size
    del large
    talus.release()
    assert live_bytes() < before + NOISE_BYTES
    print("numpy", np.__version__)


if __name__ == "__main__":
    main()
