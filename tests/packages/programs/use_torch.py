# Run by python_programs_test.py, on Talus.
# SPDX-License-Identifier: MIT
"""A program of torch: a small network that learns, with the tensors in memory of Talus."""

import talus
import torch

LARGE_BYTES = 64 << 20
NOISE_BYTES = 8 << 20  # what Python and other threads allocate and free meanwhile


def main():
    assert talus.active()
    torch.set_num_threads(2)
    torch.manual_seed(1)
    before = talus.stats()["heap"]["live_bytes"]
    large = torch.ones(LARGE_BYTES // 4)
    during = talus.stats()["heap"]["live_bytes"]
    assert during >= before + LARGE_BYTES - NOISE_BYTES, "tensors are on Talus"
    del large
    inputs = torch.randn(512, 16)
    wanted = inputs.sum(dim=1, keepdim=True)
    network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    losses = []
    for _ in range(100):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(inputs), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4, losses
    print("torch", torch.__version__)


if __name__ == "__main__":
    main()
