# SPDX-License-Identifier: BSD-3-Clause
"""One process with all GPUs that are there: copies between them and DataParallel."""
from app import batch_time, check, needs

torch = needs("torch")
count = torch.cuda.device_count()
x = torch.arange(1 << 20, device="cuda:0", dtype=torch.float32)
for i in range(1, count):
    there = x.to(f"cuda:{i}")
    check(f"a tensor goes from GPU 0 to {i}", torch.equal(there.cpu(), x.cpu()))
net = torch.nn.DataParallel(torch.nn.Linear(128, 64).cuda())
rows = torch.randn(64, 128, device="cuda")
exact = torch.nn.functional.linear(rows, net.module.weight, net.module.bias)
check("DataParallel", torch.allclose(net(rows), exact, atol=1e-4))
batch_time("DataParallel", lambda: net(rows), torch.cuda.synchronize, rounds=30)
