# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch as an unmodified program: checks results and prints a few times, natively or on a box.

    python3 bench/pytorch.py                                            # the local GPU
    build/bin/rgpuctl run --box box1:7300 -- python3 bench/pytorch.py   # the same, remotely

Compare the lines of two runs on one machine. Ends with status 1 when a result is wrong.
"""
import sys
import time

import torch
from torch import nn

failures = 0


def check(what, good):
    global failures
    failures += not good
    print(f"{'ok' if good else 'WRONG'}: {what}")


def timed(what, work, rounds):
    for _ in range(10):
        work()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(rounds):
        work()
    torch.cuda.synchronize()
    print(f"{what}: {(time.perf_counter() - start) / rounds * 1e3:.2f} ms")


def results():
    torch.manual_seed(0)
    a, b = torch.randn(512, 512), torch.randn(512, 512)
    check("matrix product", torch.allclose((a.cuda() @ b.cuda()).cpu(), a @ b, atol=1e-2))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        total = torch.ones(1000000, device="cuda").sum()
    stream.synchronize()
    check("sum on a stream of its own", total.item() == 1000000)
    pinned = torch.randn(1 << 20).pin_memory()
    there = pinned.to("cuda", non_blocking=True)
    check("pinned memory", torch.equal((there * 2).cpu(), pinned * 2))
    x = torch.randn(1 << 12)
    check("FFT", torch.allclose(torch.fft.rfft(x.cuda()).cpu(), torch.fft.rfft(x), atol=1e-2))
    m = torch.randn(64, 64)
    check("singular values", torch.allclose(torch.linalg.svdvals(m.cuda()).cpu(),
                                            torch.linalg.svdvals(m), atol=1e-3))


def training():
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
                        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    images = torch.randn(64, 3, 32, 32, device="cuda")
    labels = torch.randint(0, 10, (64,), device="cuda")
    losses = []

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss)

    timed("training step of a small convolutional network", step, 100)
    check("the loss falls", losses[-1].item() < losses[0].item())


def inference():
    layer = nn.TransformerEncoderLayer(256, 8, 512, batch_first=True)
    net = nn.TransformerEncoder(layer, 6).cuda().eval()
    tokens = torch.randn(8, 64, 256, device="cuda")
    with torch.no_grad():
        timed("inference of a 6-layer transformer", lambda: net(tokens), 50)


start = time.perf_counter()
torch.zeros(1, device="cuda")
torch.cuda.synchronize()
print(f"first use: {(time.perf_counter() - start) * 1e3:.0f} ms")
results()
training()
inference()
sys.exit(failures > 0)
