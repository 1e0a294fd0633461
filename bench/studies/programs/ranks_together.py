# SPDX-License-Identifier: BSD-3-Clause
"""Four collectives of NCCL over all GPUs that there are, a process for each, by PyTorch; a JSON line per figure and size.
Each is checked once before it is timed."""
import json
import os
import socket
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SIZES = [8, 4 << 10, 256 << 10, 4 << 20, 64 << 20]  # bytes that a rank gives, or gets


def wrong(what):
    sys.exit("ranks_together: %s is wrong" % what)


def works(rank, count, size):
    """(name, the work) for each collective, checked."""
    length = max(count, size // 4 // count * count)
    mine, theirs = torch.full((length,), float(rank + 1), device="cuda"), torch.zeros(length, device="cuda")
    part = torch.full((length // count,), float(rank + 1), device="cuda")
    ranks = torch.arange(1.0, count + 1, device="cuda").repeat_interleave(length // count)

    def checked(name, work, result, want):
        work()
        if not torch.equal(result, want):
            wrong(name)
        return name, work

    summed = mine.clone()
    dist.all_reduce(summed)
    if not bool((summed == count * (count + 1) / 2).all()):
        wrong("all-reduce")
    summed.zero_()
    sent = torch.full((length,), 1.0 if rank == 0 else 0.0, device="cuda")
    return [("all-reduce", lambda: dist.all_reduce(summed)),
            checked("broadcast", lambda: dist.broadcast(sent, 0), sent, torch.ones_like(sent)),
            checked("all-gather", lambda: dist.all_gather_into_tensor(theirs, part), theirs, ranks),
            checked("all-to-all", lambda: dist.all_to_all_single(theirs, mine), theirs, ranks)]


def best_time(work, size):
    """Seconds of one, of many behind each other; the least of three tries."""
    times = 200 if size <= 1 << 20 else 20
    for _ in range(5):
        work()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(3):
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(times):
            work()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / times)
    return best


def one_rank(rank, count, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=count, device_id=torch.device("cuda", rank))
    for size in SIZES:
        for name, work in works(rank, count, size):
            took = torch.tensor(best_time(work, size), device="cuda")
            dist.all_reduce(took, dist.ReduceOp.MAX)
            if rank == 0:
                print(json.dumps({"figure": name, "x": size, "value": took.item() * 1e6, "unit": "us"}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    count = torch.cuda.device_count()
    if count < 2:
        sys.exit("ranks_together: %d GPU" % count)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(one_rank, (count, port), nprocs=count)


if __name__ == "__main__":
    main()
