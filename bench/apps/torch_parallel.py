# SPDX-License-Identifier: BSD-3-Clause
"""One process with all GPUs: copies between them, DataParallel, and NCCL by one thread."""
from app import batch_time, check, figure, needs
from ranks import SIZES, size_name, time_of

torch = needs("torch")
count = torch.cuda.device_count()


def wait():
    for i in range(count):
        torch.cuda.synchronize(i)


x = torch.arange(1 << 20, device="cuda:0", dtype=torch.float32)
for i in range(1, count):
    there = x.to(f"cuda:{i}")
    check(f"a tensor goes from GPU 0 to {i}", torch.equal(there.cpu(), x.cpu()))
    check(f"and back from {i}", torch.equal((there + 1).to("cuda:0"), x + 1))
if count > 1:
    big, target = torch.zeros(64 << 20, device="cuda:0"), torch.empty(64 << 20, device="cuda:1")
    batch_time("256 MiB from GPU 0 to 1", lambda: target.copy_(big, non_blocking=True), wait, rounds=10, warm=3)
    del big, target

tensors = [torch.full((1 << 16,), float(i + 1), device=f"cuda:{i}") for i in range(count)]
torch.cuda.nccl.all_reduce(tensors)
wait()
check(f"NCCL adds over {count} GPUs", all(bool((t == sum(range(1, count + 1))).all().item()) for t in tensors))
for size in SIZES:
    buffers = [torch.zeros(max(size // 4, 1), device=f"cuda:{i}") for i in range(count)]
    figure(f"all-reduce of {size_name(size)} by one thread",
           time_of(lambda: torch.cuda.nccl.all_reduce(buffers), wait, size))
    del buffers

net = torch.nn.DataParallel(torch.nn.Linear(128, 64).cuda())
rows = torch.randn(64, 128, device="cuda")
exact = torch.nn.functional.linear(rows, net.module.weight, net.module.bias)
check("DataParallel", torch.allclose(net(rows), exact, atol=1e-4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
losses = []


def step():
    optimizer.zero_grad()
    loss = net(rows).pow(2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())


for _ in range(10):
    step()
wait()
check("it trains", losses[-1].item() < losses[0].item())
batch_time("a training step of DataParallel", step, wait, rounds=30)
