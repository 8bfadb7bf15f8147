# Run by python_programs_test.py, on Talus.
# SPDX-License-Identifier: MIT
"""A program of pandas: a frame with texts, groups, a join, and a file."""

import os
import tempfile

import numpy as np
import pandas as pd
import talus

ROWS = 50_000


def main():
    assert talus.active()
    frame = pd.DataFrame({"key": np.arange(ROWS) % 1000, "value": np.arange(float(ROWS)),
                          "text": [f"text {number}" for number in range(ROWS)]})
    sums = frame.groupby("key")["value"].sum()
    assert len(sums) == 1000 and sums.sum() == frame["value"].sum()
    assert len(frame.merge(frame.head(1000), on="text")) == 1000
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "frame.csv")
        frame.to_csv(path)
        assert pd.read_csv(path)["value"].sum() == frame["value"].sum()
    print("pandas", pd.__version__)


if __name__ == "__main__":
    main()
