# SPDX-License-Identifier: BSD-3-Clause
"""Memory as PyTorch uses it: pinned loaders, expandable segments, memory figures, a process's peak and its end."""
import os
import time

if os.environ.get("PYTORCH_CUDA_ALLOC_CONF") is None:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
from app import check, figure, needs  # noqa: E402

torch = needs("torch")
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

wait = torch.cuda.synchronize
blocks = [torch.full((1 << 20,), float(i), device="cuda") for i in range(64)]
check("segments that grow", all(b[-1].item() == i for i, b in enumerate(blocks)))
joined = torch.cat(blocks)
check("a copy over many of their pages", joined.sum().item() == sum(range(64)) * (1 << 20))
host = joined.cpu()
check("and to the host", host[-1].item() == 63)
del blocks, joined
torch.cuda.empty_cache()
check("given back", torch.cuda.memory_reserved() < 1 << 28)
free, total = torch.cuda.mem_get_info()
check("free memory within the GPU's", 0 < free <= total)
try:
    torch.empty(total * 2, dtype=torch.uint8, device="cuda")
    check("too much is refused", False)
except torch.OutOfMemoryError:
    check("too much is refused", True)
check("and the process goes on", torch.ones(10, device="cuda").sum().item() == 10)

data = TensorDataset(torch.arange(4096.0).reshape(512, 8), torch.arange(512))
seen = 0
for rows, numbers in DataLoader(data, batch_size=32, num_workers=2, pin_memory=True):
    rows, numbers = rows.to("cuda", non_blocking=True), numbers.to("cuda", non_blocking=True)
    seen += int((rows[:, 0] == numbers * 8).sum().item())
check("a loader with pinned memory and two processes", seen == 512)

source = torch.empty(16 << 20)
start = time.perf_counter()
pinned = source.pin_memory()
there = pinned.to("cuda", non_blocking=True)
wait()
figure("a first pinned copy of 64 MiB", time.perf_counter() - start)
start = time.perf_counter()
there = pinned.to("cuda", non_blocking=True)
wait()
figure("a pinned copy of 64 MiB", time.perf_counter() - start)
