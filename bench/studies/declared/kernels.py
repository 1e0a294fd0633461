# SPDX-License-Identifier: BSD-3-Clause
"""SAXPY and a matrix product with the context switches that they cost, as GVirtuS measured its ways to transport calls."""
from house.declare import (Answer, Headline, NAIVE_TCP, NAIVE_VERBS, NATIVE, Need, Ours, Plot, Program, Reference, SHM, Study, TCP,
                           USUAL_NAMES, VERBS)

PAPER = "GVirtuS RDMA communicator (V100, FDR 56 Gb/s, CUDA 11.4)"
NAIVE_SHM = SHM.but("naive-shm", "shared memory, naive", environment={"STUDY_NAIVE": "1"})
COLUMNS = (NATIVE, SHM, TCP, VERBS, NAIVE_SHM, NAIVE_TCP, NAIVE_VERBS)
TIMES = "10"


def program(name, sizes, mini, seconds):
    return Program(name, ("{programs}/two_kernels", name, "{size}", TIMES), title="%s, %s times" % (name, TIMES), sizes=sizes,
                   marks=True, seconds=seconds, limit=120, needs=(Need("file", "{programs}/two_kernels"),),
                   miniature=dict(sizes=mini, command=("{programs}/two_kernels", name, "{size}", "3"), limit=40))


def switches(ethernet, ipoib, naive, tuned):
    return tuple(Reference("GVirtuS, %s" % label, PAPER, value=value)
                 for label, value in (("TCP, Ethernet", ethernet), ("TCP, IPoIB", ipoib), ("RDMA, naive", naive),
                                      ("RDMA, tuned", tuned)))


def ratios(native, *others):
    return switches(*(value / native for value in others))


SAXPY_LARGE, PRODUCT_LARGE = 1 << 26, 4096

STUDY = Study(
    name="kernels",
    title="SAXPY and a matrix product, with context switches",
    question="What do two short programs cost, one that mostly copies and one that mostly computes, and how often do client and "
             "worker have to be woken for it?",
    columns=COLUMNS,
    programs=(
        program("saxpy", (1 << 20, 1 << 23, SAXPY_LARGE), (1 << 10, 1 << 14), 3),
        program("matmul", (320, 1024, PRODUCT_LARGE), (16, 48), 2),
        Program("start", ("{bench}/measure", "--first"), title="A new process until its first operation is done", seconds=0.5,
                columns=USUAL_NAMES, limit=60, miniature=dict(limit=30)),
        Program("samples", ("{python}", "{here}/programs/samples.py", "{tests}"), title="32 short programs, one after the other",
                columns=USUAL_NAMES, seconds=25, limit=300, rounds=2, needs=(Need("file", "{tests}/saxpy"),),
                miniature=dict(command=("{python}", "{here}/programs/samples.py", "{tests}", "saxpy", "matmul"), limit=60)),
    ),
    plots=(
        Plot("SAXPY: time of one", ("time",), program="saxpy", x="elements", y="ms", log="xy"),
        Plot("SAXPY beside the native driver", ("time",), program="saxpy", show="ratio", x="elements", log="xy",
             references=ratios(355, 2556, 710, 499, 455)),
        Plot("Matrix product: time of one", ("time",), program="matmul", x="rows", y="ms", log="xy"),
        Plot("Matrix product beside the native driver", ("time",), program="matmul", show="ratio", x="rows", log="xy",
             references=ratios(52, 647, 439, 2450, 287)),
        Plot("SAXPY: voluntary context switches of client and worker", ("switches client", "switches worker"), program="saxpy",
             x="elements", log="xy", y="switches of %s runs" % TIMES,
             references=switches(5884, 369, 325, 98)),
        Plot("Matrix product: voluntary context switches of client and worker", ("switches client", "switches worker"),
             program="matmul", x="rows", log="xy", y="switches of %s runs" % TIMES,
             references=switches(1016, 956, 11788, 105)),
        Plot("From the start of a process to its first operation", ("first call",), program="start", kind="bars", y="µs", log="y"),
        Plot("Short programs that end well", ("programs that end well", "of"), program="samples", kind="bars", y="programs"),
        Plot("All of them, one after the other", ("all of them",), program="samples", kind="bars", y="s",
             references=(Reference("rCUDA, 94 of 118 samples", "rCUDA (2015)", value=245),)),
        Plot("Processor time of client and worker", ("cpu client", "cpu worker"), program="saxpy", x="elements", log="xy",
             y="s in %s runs" % TIMES),
    ),
    measured="Each program allocates, copies its operands from ordinary memory, runs its kernel, copies the result back and frees, "
             "%s times after a first one; the result is checked. Context switches and processor time are those of the kernel's "
             "counters for the program and for the box with its workers, from just before to just after. In naive columns the "
             "program registers its memory for each copy and waits for each call." % TIMES,
    unmeasured="The paper does not say how large its problems are, nor over how many runs it counted: the sizes are our choice, "
               "and its counts are drawn for their proportions. No network lies between client and box.",
    headlines=(
        Headline("SAXPY of 64 Mi elements, with its copies", "time", "saxpy", SAXPY_LARGE),
        Headline("From the start of a process to its first operation", "first call", "start"),
        Headline("Matrix product of 4096 rows, with its copies", "time", "matmul", PRODUCT_LARGE),
    ),
    answers=(
        Answer("GVirtuS", "SAXPY, time", "the same program; sizes are our choice, another GPU",
               "7.2 × native over Ethernet, 2.0 over IPoIB, 1.4 RDMA naive, 1.28 tuned",
               "Ordinary memory is copied by several threads and in blocks while the GPU takes them, which the native driver does "
               "with one thread; GVirtuS waits for each call and copies through one buffer.",
               (Ours("time", "shm", SAXPY_LARGE, "saxpy"), Ours("time", "tcp", SAXPY_LARGE, "saxpy"),
                Ours("time", "naive-tcp", SAXPY_LARGE, "saxpy"), Ours("time", "verbs", SAXPY_LARGE, "saxpy"))),
        Answer("GVirtuS", "MatrixMul, time", "as above", "12.4 × native over Ethernet, 8.4 over IPoIB, 47 RDMA naive, 5.5 tuned",
               "What is not awaited costs nothing beside a kernel that takes longer; the naive variant of GVirtuS registers for "
               "each of its many small messages.",
               (Ours("time", "shm", PRODUCT_LARGE, "matmul"), Ours("time", "tcp", PRODUCT_LARGE, "matmul"),
                Ours("time", "naive-tcp", PRODUCT_LARGE, "matmul"))),
        Answer("GVirtuS", "SAXPY, context switches", "counted in the same way, of client and worker apart",
               "RDMA tuned 0.02 of Ethernet's, 0.27 of IPoIB's; naive 0.88 of IPoIB's",
               "Theirs polls always and keeps a core busy; ours spins for a bounded time and then sleeps. Over shared memory the "
               "program's own threads copy and wake each other, and the worker hardly has to be woken.",
               (Ours("switches client", "shm", SAXPY_LARGE, "saxpy", base="tcp"),
                Ours("switches worker", "shm", SAXPY_LARGE, "saxpy", base="tcp"),
                Ours("switches client", "verbs", SAXPY_LARGE, "saxpy", base="tcp"))),
        Answer("GVirtuS", "MatrixMul, context switches", "as above",
               "RDMA tuned 0.10 of Ethernet's, 0.11 of IPoIB's; naive 12 of IPoIB's", "As above.",
               (Ours("switches client", "shm", PRODUCT_LARGE, "matmul", base="tcp"),
                Ours("switches client", "naive-tcp", PRODUCT_LARGE, "matmul", base="tcp"),
                Ours("switches client", "verbs", PRODUCT_LARGE, "matmul", base="tcp"))),
        Answer("rCUDA", "start-up of a process", "yes", "1.3 s locally and hardly anything remotely; verbs over 3 times TCP's, under "
               "20 ms more", "A worker with its context is ready before the program comes, as theirs is, unless another program has just taken "
               "it; then the program waits for a new one.",
               (Ours("first call", "shm", None, "start"), Ours("first call", "tcp", None, "start"),
                Ours("first call", "verbs", None, "start", base="tcp"))),
        Answer("rCUDA", "CUDA's samples", "partly: 32 programs of our own tests, of the same kinds", "94 of 118 run, in 245 s; locally 49 % slower",
               "Most of the paper's difference is the start of a process (1.3 s then), which a box has done before. What a program "
               "cannot have at all is in docs/reference/differences.md: graphics, and memory of other libraries. Ours take longer than natively; why was not looked into.",
               (Ours("all of them", "shm", None, "samples"), Ours("all of them", "tcp", None, "samples"),
                Ours("programs that end well", "shm", None, "samples"))),
        Answer("virtio-rdma", "none", "the paper measures nothing", "–", "A guest on the box's host, over a window of shared memory, is measured by bench/places where there is QEMU."),
    ),
)
