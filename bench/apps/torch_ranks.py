# SPDX-License-Identifier: BSD-3-Clause
"""DistributedDataParallel and collectives over all GPUs, with one process for each, by the wheel's own NCCL."""
import os
import queue

from app import check, figure, needs
from ranks import SIZES, size_name, time_of

torch = needs("torch")
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

LIMIT = float(os.environ.get("APP_SECONDS", "100"))


def collectives(rank, count):
    """Which of them are right."""
    x = torch.full((1 << 20,), float(rank + 1), device="cuda")
    dist.all_reduce(x)
    right = {"all-reduce": bool((x == sum(range(1, count + 1))).all().item())}
    pieces = torch.empty(count * 1000, device="cuda")
    dist.all_gather_into_tensor(pieces, torch.full((1000,), float(rank), device="cuda"))
    right["all-gather"] = all(bool((pieces[r * 1000:(r + 1) * 1000] == r).all().item()) for r in range(count))
    mine = torch.empty(1000, device="cuda")
    dist.reduce_scatter_tensor(mine, torch.arange(count * 1000.0, device="cuda"))
    right["reduce-scatter"] = torch.equal(mine, torch.arange(count * 1000.0, device="cuda")[rank * 1000:][:1000] * count)
    got = torch.empty(count * 10, device="cuda")
    dist.all_to_all_single(got, torch.full((count * 10,), float(rank), device="cuda"))
    right["all-to-all"] = all(bool((got[r * 10:(r + 1) * 10] == r).all().item()) for r in range(count))
    if count > 1:
        buffer = torch.full((1 << 18,), float(rank), device="cuda")
        if rank == 0:
            dist.send(buffer, 1)
        elif rank == 1:
            dist.recv(buffer, 0)
        right["send and receive"] = rank != 1 or bool((buffer == 0).all().item())
    return right


def training(rank):
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
    return {"training": losses[-1] < losses[0],
            "weights stay the same on all": torch.equal(weights, net.module.weight.detach())}


def rank_main(rank, count, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("APP_PORT", "29511"))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=count, device_id=torch.device("cuda", rank))
    right = {**collectives(rank, count), **training(rank)}
    results.put((rank, right, None))
    times = {}
    for size in SIZES:
        buffer = torch.zeros(size // 4, device="cuda")
        times[size] = time_of(lambda buffer=buffer: dist.all_reduce(buffer), torch.cuda.synchronize, size)
    results.put((rank, None, times))
    dist.barrier()
    dist.destroy_process_group()


def wait_for(processes, results, which):
    """One result of each process; None once one has failed or nothing comes."""
    got = []
    waited = 0
    while len(got) < len(processes):
        try:
            got.append(results.get(timeout=1)[which])
        except queue.Empty:
            waited += 1
            if waited > LIMIT or any(p.exitcode for p in processes):
                return None
    return got


def main():
    count = torch.cuda.device_count()
    mp.set_start_method("spawn")
    results = mp.Queue()
    processes = [mp.Process(target=rank_main, args=(r, count, results), daemon=True) for r in range(count)]
    for p in processes:
        p.start()
    right = wait_for(processes, results, 1)
    check(f"{count} ranks work together", right is not None)
    for what in (right[0] if right else ()):
        check(f"{what} over {count}", all(r[what] for r in right))
    times = wait_for(processes, results, 2) if right else None
    for size in SIZES if times else ():
        figure(f"all-reduce of {size_name(size)}", max(t[size] for t in times))
    for p in processes:
        p.join(60 if times else 1)
    check("all end well", all(p.exitcode == 0 for p in processes))
    for p in processes:
        p.kill()


if __name__ == "__main__":
    main()
