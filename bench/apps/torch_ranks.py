# SPDX-License-Identifier: BSD-3-Clause
"""DistributedDataParallel over all GPUs that are there, a process for each, by the wheel's own NCCL."""
import os
import time

from app import check, figure, needs

torch = needs("torch")
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402


def rank_main(rank, count, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("APP_PORT", "29511"))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=count, device_id=torch.device("cuda", rank))
    x = torch.full((1 << 20,), float(rank + 1), device="cuda")
    dist.all_reduce(x)
    right = bool((x == sum(range(1, count + 1))).all().item())
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256).cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    torch.manual_seed(rank)
    rows = torch.randn(64, 256, device="cuda")
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = net(rows).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    weights = net.module.weight.detach().clone()
    dist.broadcast(weights, 0)
    same = torch.equal(weights, net.module.weight.detach())
    big = torch.zeros(64 << 20, device="cuda")
    for _ in range(3):
        dist.all_reduce(big)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(10):
        dist.all_reduce(big)
    torch.cuda.synchronize()
    results.put((rank, right, losses[-1] < losses[0], same, (time.perf_counter() - start) / 10))
    dist.barrier()
    dist.destroy_process_group()


def main():
    count = torch.cuda.device_count()
    mp.set_start_method("spawn")
    results = mp.Queue()
    processes = [mp.Process(target=rank_main, args=(r, count, results)) for r in range(count)]
    for p in processes:
        p.start()
    got = [results.get(timeout=150) for _ in processes]
    check(f"all-reduce over {count}", all(g[1] for g in got))
    check("training", all(g[2] for g in got))
    check("weights stay the same on all", all(g[3] for g in got))
    figure("all-reduce of 256 MiB", max(g[4] for g in got))
    for p in processes:
        p.join(60)
    check("all end well", all(p.exitcode == 0 for p in processes))


if __name__ == "__main__":
    main()
