# SPDX-License-Identifier: BSD-3-Clause
"""Tensors of the GPU that processes share (torch.multiprocessing): CUDA IPC."""
from app import check, needs

torch = needs("torch")
import torch.multiprocessing as mp  # noqa: E402


def child(tensors, answers, done):
    tensor = tensors.get()
    answers.put(float(tensor.sum().item()))
    tensor.mul_(2)
    torch.cuda.synchronize()
    answers.put("written")
    mine = torch.full((1000,), 7.0, device="cuda")
    answers.put(mine)
    done.wait(60)


def main():
    mp.set_start_method("spawn")
    tensors, answers, done = mp.Queue(), mp.Queue(), mp.Event()
    process = mp.Process(target=child, args=(tensors, answers, done))
    process.start()
    shared = torch.arange(1000.0, device="cuda")
    expected = shared.sum().item()
    tensors.put(shared)
    check("the other process reads the tensor", answers.get(timeout=60) == expected)
    check("it has written it", answers.get(timeout=60) == "written")
    check("which is seen here", shared.sum().item() == 2 * expected)
    theirs = answers.get(timeout=60)
    check("and a tensor of its own comes back", theirs.sum().item() == 7000)
    del theirs
    done.set()
    process.join(60)
    check("it ends well", process.exitcode == 0)


if __name__ == "__main__":
    main()
