# SPDX-License-Identifier: BSD-3-Clause
"""GPUs among themselves: copies and event waits between two, Jacobi's method on several, collectives of NCCL."""
from house.declare import (NATIVE, SHM, TCP, VERBS, Answer, Box, Need, Ours, Plot, Program, Reference, Study,
                           json_lines)

PAPER = "Zhang et al., C-GDR (K80, EDR InfiniBand)"
DCUDA = "dCUDA over verbs (K80, ConnectX-4)"
PAIR = (Need("gpus", "2"),)
BOXES = (Box(gpus=(0,)), Box(gpus=(1,)))
TWO = SHM.but("two-boxes", "two boxes, their own connection", boxes=BOXES, needs=PAIR)
NEAR = TWO.but("two-boxes-near", "two boxes, from GPU to GPU", boxes=tuple(Box(gpus=box.gpus, options=("--peer-gpus=yes",)) for box in BOXES))
TWO_TCP = TCP.but("two-boxes-tcp", "two boxes, TCP", boxes=BOXES, needs=PAIR)
BY_CLIENT = TWO.but("by-client", "two boxes, by way of the client", environment={"RGPU_PEER_LINK": "client"})
OWN = "{lib}/nccl/libnccl.so.2"  # rgpu's, for ranks on several boxes
COLLECTIVES = ("broadcast", "all-gather", "all-reduce", "all-to-all")


def between_figures(text):
    """bench/between says the size of a copy as `size`."""
    names = {"copy_alone": "copy, one alone", "copy_rate": "copies behind each other", "event_wait": "event wait, one way"}
    for record in json_lines(text):
        figure = names.get(record["figure"], record["figure"])
        yield {"figure": figure, "x": record["size"] or None, "value": record["value"], "unit": record["unit"]}


def calls(name, title, columns, library, needs):
    return Program(name, ("{programs}/collective_calls", "2", str(64 << 20)) + library, title=title, columns=columns, seconds=4, limit=30,
                   rounds=3, needs=PAIR + needs + (Need("file", "{programs}/collective_calls"),),
                   miniature=dict(command=("{programs}/collective_calls", "2", "4096", OWN, "3"), limit=60, needs=(Need("file", OWN),)))


def jacobi(name, gpus, columns, mini):
    return Program(name, ("{programs}/jacobi", str(gpus), "{size}", "64", "300"), columns=columns,
                   title="Jacobi's method on %d GPUs, by bytes of an edge" % gpus, sizes=(16, 8192, 524288),
                   needs=(Need("gpus", str(gpus)), Need("file", "{programs}/jacobi")), seconds=3, limit=90, miniature=mini)


PAIRS = ("native", "shm", "tcp", "two-boxes", "two-boxes-near", "by-client")
JACOBI = ("Jacobi, no exchange", "Jacobi, copies between GPUs", "Jacobi, by way of the host")

STUDY = Study(
    name="collectives",
    title="GPUs among themselves",
    question="What does it cost when GPUs of one box, or of two boxes, exchange data: single copies, the edges of a field after "
             "each step, and what all ranks of a program sum up?",
    columns=(NATIVE, SHM, TCP, VERBS, TWO, NEAR, TWO_TCP, BY_CLIENT),
    gpus=2,
    programs=(
        Program("pair", ("{bench}/between", "--max", str(64 << 20)), title="Copies and event waits between two GPUs", columns=PAIRS,
                needs=PAIR + (Need("file", "{bench}/between"),), parse=between_figures, seconds=12, limit=120, rounds=3,
                miniature=dict(command=("{bench}/between", "--max", "4096"), limit=60)),
        jacobi("jacobi-2", 2, PAIRS, dict(command=("{programs}/jacobi", "2", "{size}", "4", "10"), sizes=(1024,), limit=60)),
        jacobi("jacobi-4", 4, ("native", "shm", "tcp"), dict(needs=(Need("real-gpu"), Need("gpus", "4")))),
        calls("calls", "Collectives of NVIDIA's NCCL, all ranks in one process", ("native", "shm"), (), (Need("real-gpu"), Need("library", "libnccl.so.2"))),
        calls("own-calls", "Collectives of rgpu's libnccl, all ranks in one process",
              ("native", "shm", "tcp", "two-boxes", "two-boxes-near", "two-boxes-tcp"), (OWN,), (Need("file", OWN),)),
        Program("nccl", ("{python}", "{here}/programs/ranks_together.py"), title="Collectives of NCCL, a process for each GPU",
                columns=("native", "shm"), needs=PAIR + (Need("real-gpu"), Need("python", "torch")), seconds=20, limit=150,
                rounds=3, miniature=dict(limit=60)),
    ),
    plots=(
        Plot("One copy between two GPUs", ("copy, one alone",), program="pair", x="bytes", y="µs", log="xy",
             references=(Reference("dCUDA over verbs, 4 B, same node", DCUDA, points=((4, 6.7),)),)),
        Plot("Copies behind each other", ("copies behind each other",), program="pair", x="bytes", y="GB/s", log="xy",
             references=(Reference("C-GDR, 256 KiB", PAPER, points=((262144, 6.43),)),)),
        Plot("Waiting for an event of the other GPU", ("event wait, one way",), program="pair", kind="bars", y="µs"),
        Plot("A step of Jacobi's method on two GPUs", JACOBI[1:], program="jacobi-2", x="bytes of an edge", y="µs", log="xy"),
        Plot("The same with copies between GPUs, beside the native driver", JACOBI[1:2], program="jacobi-2", show="ratio", x="bytes of an edge", log="x",
             references=(Reference("C-GDR over default containers: 25 % less communication", PAPER + ", figure 7", value=0.75),)),
        Plot("A step of Jacobi's method on four GPUs", JACOBI, program="jacobi-4", x="bytes of an edge", y="µs", log="xy"),
    ) + tuple(Plot("%s, by rgpu's libnccl" % name.capitalize(), (name,), program="own-calls", x="bytes", y="µs", log="xy")
              for name in COLLECTIVES) + (
        Plot("NVIDIA's NCCL in one process, beside the native driver", COLLECTIVES, program="calls", show="ratio", x="bytes", log="x"),
        Plot("NVIDIA's NCCL by PyTorch, beside the native driver", COLLECTIVES, program="nccl", show="ratio", x="bytes", log="x"),
    ),
    measured="Copies from GPU to GPU alone and behind each other, and how long a stream waits for an event of the other GPU, within one "
             "box, between two boxes over their own connection, and by way of the client. Jacobi's method has the field in strips: "
             "after each step the edges go to the neighbours, by copies from GPU to GPU, or by way of the host as an MPI does "
             "that knows nothing of GPUs; the result is compared with the host's. Collectives are NVIDIA's NCCL, called by a program with all "
             "ranks and by PyTorch with a process for each GPU, and rgpu's own libnccl, which is for ranks on several boxes; results are "
             "checked.",
    unmeasured="Four GPUs, unless this machine has them. An MPI that knows GPUs (C-GDR, MVAPICH2) is not installed; no network lies "
               "between the boxes. NVIDIA's NCCL has kernels that wait for words in memory of the program's host, which it cannot over "
               "TCP: that column has rgpu's. In miniature that one stands for both.",
    answers=(
        Answer("C-GDR", "figures 2 and 6: latency and bandwidth between GPUs of one host", "partly: copies by the program instead of an "
               "MPI's messages", "4 B 1.57 µs; 256 KiB 6.43 GB/s; large messages 46 % shorter than default containers",
               "Within one box the driver copies between its GPUs, whatever container the client is in; between boxes they "
               "cross memory that the workers share, or NVLink where the boxes open each other's GPU.",
               (Ours("copy, one alone", "shm", 65536, "pair"), Ours("copies behind each other", "shm", 64 << 20, "pair"),
                Ours("copy, one alone", "two-boxes", 65536, "pair"))),
        Answer("C-GDR", "figure 7: Jacobi, edges of 16 B and 512 KB", "yes, on two GPUs", "communication 25 % and 26 % shorter than "
               "with default containers", "Ours is a whole step beside the native driver's.",
               (Ours("Jacobi, copies between GPUs", "shm", 16, "jacobi-2"), Ours("Jacobi, copies between GPUs", "shm", 524288, "jacobi-2"),
                Ours("Jacobi, copies between GPUs", "two-boxes", 524288, "jacobi-2"))),
        Answer("C-GDR", "figure 8: collectives", "partly: NCCL instead of MPI", "Bcast 63 %, Allgather 66 %, Allreduce 49 %, Alltoall "
               "50 % shorter than default containers", "NCCL's kernels move the data themselves once the ranks' memory is mapped.",
               (Ours("all-reduce", "shm", 64 << 20, "nccl"), Ours("all-reduce", "shm", 4096, "nccl"),
                Ours("all-reduce", "shm", 16 << 20, "calls"), Ours("broadcast", "shm", 16 << 20, "calls"),
                Ours("all-gather", "shm", 16 << 20, "calls"), Ours("all-to-all", "shm", 16 << 20, "calls"),
                Ours("all-reduce", "shm", 4096, "calls"), Ours("all-reduce", "shm", 16 << 20, "own-calls"), Ours("all-reduce", "two-boxes-near", 16 << 20, "own-calls"),
                Ours("all-reduce", "two-boxes", 16 << 20, "own-calls"))),
    ),
)
