# SPDX-License-Identifier: BSD-3-Clause
"""Copies by size, kind of memory, direction and block size, beside what the GPU and the network can do by themselves."""
from house.declare import (Answer, Box, Headline, NAIVE_TCP, NATIVE, Need, Ours, Plot, Program, Reference, SHM, Study, TCP,
                           USUAL_NAMES, VERBS)

KIB, MIB = 1 << 10, 1 << 20
SIZES = tuple(str(64 << (2 * i)) for i in range(11)) + (str(30 * MIB),)  # 64 B to 64 MiB
BLOCK_SIZES = ("64K", "256K", "512K", "1M", "4M")
PAPER = "Reaño et al., rCUDA (K20, FDR InfiniBand, 2015)"


def blocks(base, word):
    return tuple(base.but("%s-%s" % (base.name, block.lower()), "%s, blocks of %s %siB" % (word, block[:-1], block[-1]),
                          boxes=(Box(options=("--block-size=" + block,)),)) for block in BLOCK_SIZES)


TCP_BLOCKS, VERBS_BLOCKS = blocks(TCP, "TCP"), blocks(VERBS, "verbs")
ADAPTIVE = VERBS.but("verbs-auto", "verbs, adaptive blocks", boxes=(Box(options=("--block-size=auto",)),))
TCP_PLAIN = TCP.but("tcp-unpipelined", "TCP, not pipelined", boxes=(Box(options=("--pipeline=no",)),))
VERBS_PLAIN = VERBS.but("verbs-unpipelined", "verbs, not pipelined", boxes=(Box(options=("--pipeline=no",)),))
BY_BLOCK = tuple(column.name for column in TCP_BLOCKS + VERBS_BLOCKS) + ("verbs-auto",)
PIPELINES = ("tcp", "tcp-unpipelined", "verbs", "verbs-unpipelined")
LINK = ("native",)  # measured beside the columns: the link has none of its own

LARGE = ("1048576", "4194304", "31457280")
MINI = {"limit": 40, "environment": {"STUDY_SECONDS": "0.002"}}


def speed(name, title, kind, sizes, columns, mini=("64", "65536", "1048576"), **more):
    return Program(name, ("{programs}/copy_speed", kind) + tuple(sizes), title=title, columns=columns,
                   needs=(Need("file", "{programs}/copy_speed"),), seconds=3, limit=90,
                   miniature=dict(MINI, command=("{programs}/copy_speed", kind) + mini), **more)


def paper(label, small_us, large_gbs):
    """A row of the paper's table 1: 64 bytes in us, 30 MB in GB/s, as times."""
    return Reference(label, PAPER + ", table 1", points=((64, small_us), (30 * MIB, 30e6 / large_gbs / 1e3)))


DIRECTIONS = ("to the GPU", "from the GPU")

STUDY = Study(
    name="copies",
    title="Copies",
    question="What does it cost to copy to and from a GPU of another machine, by size, by kind of memory, and by the size of "
             "the blocks in which data travel?",
    columns=(NATIVE, SHM, TCP, VERBS, TCP_PLAIN, VERBS_PLAIN, NAIVE_TCP) + TCP_BLOCKS + VERBS_BLOCKS + (ADAPTIVE,),
    programs=(
        speed("pinned", "Page-locked memory, one copy and its synchronization", "pinned", SIZES, USUAL_NAMES),
        speed("pageable", "Ordinary memory, one synchronous copy", "pageable", SIZES, USUAL_NAMES + ("naive-tcp",)),
        speed("queued", "Page-locked memory, eight copies on their way", "queued", LARGE, USUAL_NAMES),
        speed("blocks", "Page-locked memory, by block size", "pinned", ("65536", "262144") + LARGE, BY_BLOCK, rounds=3),
        speed("pipeline", "Page-locked memory, pipelined and not", "pinned", ("262144",) + LARGE, PIPELINES, rounds=3),
        Program("tcp-link", ("{python}", "{here}/programs/tcp_link.py"), title="What one TCP stream carries (iperf3)",
                columns=LINK, here=True, needs=(Need("command", "iperf3"),), seconds=1.5, limit=30,
                miniature=dict(environment={"STUDY_SECONDS": "0.2"}, limit=30)),
        Program("verbs-link", ("{python}", "{here}/programs/verbs_link.py"), title="What verbs carry (ib_write_bw)",
                columns=LINK, here=True, needs=(Need("rdma"), Need("command", "ib_write_bw")), seconds=3, limit=60,
                miniature=dict(limit=60)),
    ),
    plots=(
        Plot("Latency: page-locked memory to the GPU", ("to the GPU",), program="pinned", x="bytes", y="µs", log="xy",
             references=(paper("rCUDA", 23.1, 5.3), paper("CUDA of that time", 4.3, 5.8), paper("GVirtuS", 200, 0.3),
                         paper("DS-CUDA", 45.9, 1.7))),
        Plot("Latency: page-locked memory from the GPU", ("from the GPU",), program="pinned", x="bytes", y="µs", log="xy",
             references=(paper("rCUDA", 6.0, 5.6), paper("CUDA of that time", 5.1, 6.2), paper("GVirtuS", 183, 0.3),
                         paper("DS-CUDA", 26.5, 1.0))),
        Plot("Bandwidth: page-locked memory", DIRECTIONS, program="pinned", show="rate", x="bytes", log="x"),
        Plot("Bandwidth: ordinary memory", DIRECTIONS, program="pageable", show="rate", x="bytes", log="x",
             note="A synchronous copy to the GPU returns when its bytes are taken: small ones may still be on their way "
                  "then, natively as well."),
        Plot("Page-locked memory beside the native driver", DIRECTIONS, program="pinned", show="ratio", x="bytes", log="xy",
             references=(Reference("rCUDA to the GPU, 64 B and 30 MB", PAPER + ", table 1",
                                   points=((64, 23.1 / 4.3), (30 * MIB, 5.8 / 5.3))),
                         Reference("GVirtuS to the GPU", PAPER + ", table 1", points=((64, 200 / 4.3), (30 * MIB, 5.8 / 0.3))))),
        Plot("Ordinary memory beside the native driver", DIRECTIONS, program="pageable", show="ratio", x="bytes", log="xy"),
        Plot("Eight copies on their way", DIRECTIONS, program="queued", show="rate", kind="bars", x="bytes"),
        Plot("To the GPU by block size", ("to the GPU",), program="blocks", show="rate", x="bytes", log="x",
             note="The paper found 512 KiB the best compromise, 1 MiB the best over verbs and 2 MiB over IPoIB."),
        Plot("From the GPU by block size", ("from the GPU",), program="blocks", show="rate", x="bytes", log="x"),
        Plot("Pipelined or one block at a time", DIRECTIONS, program="pipeline", show="rate", kind="bars", x="bytes"),
        Plot("What one TCP stream carries", ("one TCP stream",), program="tcp-link", kind="bars", y="GB/s"),
        Plot("What verbs carry", ("RDMA write", "RDMA read"), program="verbs-link", kind="bars", y="GB/s"),
    ),
    measured="Each program allocates once and repeats each copy for some hundredths of a second, after a copy there and back whose "
             "bytes are checked; its figure is the median time of one. Page-locked copies are asynchronous ones with their "
             "synchronization, those of ordinary memory are synchronous. In the column \"naive\" the program registers its memory "
             "for each copy and waits for each, as the naive variant of GVirtuS did.",
    unmeasured="Copies over a network between two machines, unless this was run with a box elsewhere: TCP is the loopback device. "
               "Verbs need an RDMA device; scripts/rdma-vm emulates one, whose speed is that of the emulator's processor.",
    headlines=(
        Headline("64 bytes of page-locked memory to the GPU", "to the GPU", "pinned", 64),
        Headline("64 bytes of page-locked memory from the GPU", "from the GPU", "pinned", 64),
        Headline("30 MiB of page-locked memory to the GPU", "to the GPU", "pinned", 30 * MIB),
        Headline("30 MiB of ordinary memory to the GPU", "to the GPU", "pageable", 30 * MIB),
        Headline("30 MiB of ordinary memory from the GPU", "from the GPU", "pageable", 30 * MIB),
    ),
    answers=(
        Answer("rCUDA", "table 1, 64 B to the GPU, page-locked", "the same copy; another GPU, and client and box on one host",
               "5.4 × CUDA (23.1 µs to 4.3); GVirtuS 47 ×, DS-CUDA 11 ×",
               "The paper crosses FDR InfiniBand; shared memory does not leave the host, and TCP crosses the loopback device. "
               "The GPU's own copy is as long as then, so what is added counts as much.",
               (Ours("to the GPU", "shm", 64, "pinned"), Ours("to the GPU", "tcp", 64, "pinned"),
                Ours("to the GPU", "verbs", 64, "pinned"))),
        Answer("rCUDA", "table 1, 64 B from the GPU, page-locked", "as above", "1.2 × CUDA (6.0 µs to 5.1); GVirtuS 36 ×, DS-CUDA 5.2 ×",
               "As above; from the GPU the paper's server writes to the client's memory at once.",
               (Ours("from the GPU", "shm", 64, "pinned"), Ours("from the GPU", "tcp", 64, "pinned"))),
        Answer("rCUDA", "table 1, 30 MB, page-locked", "the same copy", "to the GPU 1.09 × the time of CUDA, from the GPU 1.11 ×; "
               "GVirtuS 19 × and 21 ×, DS-CUDA 3.4 × and 6.2 ×",
               "PCIe has grown nine times since and TCP over loopback hardly: over shared memory the GPU reads the program's memory "
               "itself, over TCP the host's processor copies every byte four times.",
               (Ours("to the GPU", "shm", 30 * MIB, "pinned"), Ours("from the GPU", "shm", 30 * MIB, "pinned"),
                Ours("to the GPU", "tcp", 30 * MIB, "pinned"))),
        Answer("rCUDA", "figure 7a, pageable memory pipelined", "the same kind of copy", "over 200 % more bandwidth than one block at a "
               "time", "Ours is the gain of the pipeline over the loopback device, where sending and receiving share the processors.",
               (Ours("to the GPU", "tcp-unpipelined", 30 * MIB, "pipeline", base="tcp"),
                Ours("to the GPU", "verbs-unpipelined", 30 * MIB, "pipeline", base="verbs"))),
        Answer("rCUDA", "figure 6: of what the link carries", "yes; TCP here, verbs where there are any",
               "ib_write_bw 6055 MB/s, reachable beside GPU traffic 5903; pinned copies 95 % of that",
               "The pictures of what a link carries and of page-locked memory stand side by side; a copy over TCP reads and writes "
               "memory that no cache holds, while iperf3 sends one small buffer again and again."),
        Answer("rCUDA", "figure 6, block size", "block sizes 64 KiB to 4 MiB", "512 KiB is the best compromise",
               "Ours says how much longer 30 MiB take with other blocks than with 512 KiB.",
               (Ours("to the GPU", "tcp-64k", 30 * MIB, "blocks", base="tcp-512k"),
                Ours("to the GPU", "tcp-4m", 30 * MIB, "blocks", base="tcp-512k"))),
    ),
)
