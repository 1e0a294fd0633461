# SPDX-License-Identifier: BSD-3-Clause
"""A box whose processors compute for somebody else while its GPUs serve: what each costs the other."""
from house.declare import Answer, Box, NATIVE, Need, Ours, Plot, Program, Reference, SHM, Study, TCP, USUAL_NAMES, VERBS

PAPER = "Reaño et al., rCUDA, figures 9 and 10 (K20, 2×6 cores, MKL)"


def both(column, word):
    """The column with its box on the first half of the processors and its clients on the other, with and without load there."""
    boxes = tuple(Box(cores="first") for _ in column.boxes)
    return (column.but(column.name + "-idle", word + ", processors idle", boxes=boxes, cores="second",
                       environment={"STUDY_IDLE": "1"}),
            column.but(column.name + "-busy", word + ", processors busy", boxes=boxes, cores="second"))


ALONE = NATIVE.but("alone", "processors alone", environment={"STUDY_REST": "1"}, cores="second")
COLUMNS = (ALONE,) + both(NATIVE, "native") + both(SHM, "shared memory") + both(TCP, "TCP") + both(VERBS, "verbs")
IDLE_OF_BUSY = {"%s-busy" % name: "%s-idle" % name for name in USUAL_NAMES}
WITH_GPU = tuple(column.name for column in COLUMNS[1:])
COMPUTING = ("alone", "native-busy", "shm-busy", "tcp-busy", "verbs-busy")


def whole(name, title, command, needs, mini):
    """A program with its start, as the paper has it; what it says itself is its time."""
    return Program(name, command, title=title, seconds=6, limit=180, rounds=2, beside=("{programs}/cpu_sgemm", "4096"), beside_cores="first",
                   columns=WITH_GPU, needs=(Need("file", "{programs}/cpu_sgemm"),) + needs,
                   miniature=dict(needs=(Need("file", "{programs}/cpu_sgemm"),), command=mini, limit=40, beside=("{programs}/cpu_sgemm", "16")))


def service(name, title, kernel, size, mini):
    return Program(name, ("{programs}/two_kernels", kernel, size, "0"), title=title, marks=True, seconds=3, limit=90, rounds=3,
                   environment={"STUDY_SECONDS": "1"}, beside=("{programs}/cpu_sgemm", "4096"), beside_cores="first",
                   needs=(Need("file", "{programs}/cpu_sgemm"),),
                   miniature=dict(command=("{programs}/two_kernels", kernel, mini, "0"), limit=40,
                                  beside=("{programs}/cpu_sgemm", "16"), environment={"STUDY_SECONDS": "0.05"}))


STUDY = Study(
    name="processors",
    title="Processors of a box that serves",
    question="A box has processors as well. If somebody computes on them while its GPUs serve, how much slower are his programs, "
             "and how much slower is the service?",
    columns=COLUMNS,
    programs=(
        service("copying", "SAXPY of 64 Mi elements again and again: the service moves data", "saxpy", str(1 << 26), "4096"),
        service("computing", "Matrix products of 4096 rows: the GPU computes", "matmul", "4096", "16"),
        whole("sgemm", "SGEMM of 13,848 rows by cuBLAS, with its copies", ("{programs}/blas", "whole", "s", "13848"),
              (Need("real-gpu"), Need("file", "{programs}/blas")), ("{programs}/own_kernels", "whole", "s", "64")),
        whole("eam", "LAMMPS, eam with 256,000 atoms", ("{python}", "{here}/programs/molecules.py", "{programs}/lammps", "eam", "256"),
              (Need("real-gpu"), Need("file", "{programs}/lammps/lmp")), ("{programs}/own_kernels", "training", "2", "16", "eam")),
    ),
    plots=(
        Plot("Matrix products on the box's processors, beside nothing", ("CPU product",), program="copying", kind="bars",
             show="ratio", base="alone", columns=COMPUTING,
             references=(Reference("rCUDA: mean", PAPER, value=1.52), Reference("rCUDA: worst", PAPER, value=2.06))),
        Plot("The same while GPUs compute", ("CPU product",), program="computing", kind="bars", show="ratio", base="alone",
             columns=COMPUTING, references=(Reference("rCUDA: most runs", PAPER, value=1.25),)),
        Plot("Service that moves data, processors busy beside idle", ("time",), program="copying", kind="bars", show="ratio",
             base=IDLE_OF_BUSY, references=(Reference("rCUDA: at most", PAPER, value=1.07),)),
        Plot("Service that computes, processors busy beside idle", ("time",), program="computing", kind="bars", show="ratio",
             base=IDLE_OF_BUSY, references=(Reference("rCUDA: at most", PAPER, value=1.07),)),
        Plot("SGEMM of 13,848 rows, processors busy beside idle", ("SGEMM",), program="sgemm", kind="bars", show="ratio",
             base=IDLE_OF_BUSY, references=(Reference("rCUDA: at most", PAPER, value=1.07),)),
        Plot("LAMMPS, processors busy beside idle", ("eam",), program="eam", kind="bars", show="ratio",
             base=IDLE_OF_BUSY, references=(Reference("rCUDA: at most", PAPER, value=1.07),)),
        Plot("Matrix products on the box's processors while SGEMM is served", ("CPU product",), program="sgemm", kind="bars",
             y="ms", columns=tuple(name for name in COMPUTING if name != "alone")),
        Plot("Processor time of the service while it moves data", ("cpu worker", "cpu client"), program="copying", kind="bars",
             y="s in a second", columns=("shm-idle", "tcp-idle", "verbs-idle")),
    ),
    measured="The box runs on the first half of the processors that there are, programs that use it on the second half. OpenBLAS "
             "multiplies matrices of 4096 rows in single precision on the first half, all the time; its figure is the median time "
             "of one product. The service is SAXPY, which mostly copies, or matrix products by the GPU; and the paper's own two: "
             "SGEMM of 13,848 rows with its copies of ordinary memory, and LAMMPS. Busy and idle take turns.",
    unmeasured="Client and box share memory bandwidth and caches here, which they do not if a network is between them. MKL is not "
               "free software; OpenBLAS stands for it. In miniature kernels of our own stand for cuBLAS and LAMMPS.",
    answers=(
        Answer("rCUDA", "figures 9 and 10: computation on the box's processors", "the same question; OpenBLAS for MKL",
               "+52 % in the mean, +106 % at worst, most within +25 %",
               "Most of it a native service costs as well (first ratio), on the other half of the processors: what they share is the "
               "host's memory, which a service that moves data keeps busy. Over TCP the box's processors copy every byte as well.",
               (Ours("CPU product", "native-busy", None, "copying", base="alone"), Ours("CPU product", "shm-busy", None, "copying", base="alone"),
                Ours("CPU product", "tcp-busy", None, "copying", base="alone"),
                Ours("CPU product", "tcp-busy", None, "computing", base="alone"))),
        Answer("rCUDA", "figures 9 and 10: the service itself", "the same question", "loses under 7 %",
               "Ours loses far more: the computation has a thread on each processor of the box, so a worker that is woken waits for "
               "one. A native program, on the other half of the processors, loses little (first ratio). A box that computes as "
               "well should keep processors for its workers.",
               (Ours("time", "native-busy", None, "copying", base="native-idle"), Ours("time", "shm-busy", None, "copying", base="shm-idle"), Ours("time", "tcp-busy", None, "copying", base="tcp-idle"),
                Ours("time", "tcp-busy", None, "computing", base="tcp-idle"), Ours("SGEMM", "shm-busy", None, "sgemm", base="shm-idle"),
                Ours("SGEMM", "tcp-busy", None, "sgemm", base="tcp-idle"), Ours("eam", "shm-busy", None, "eam", base="shm-idle"))),
    ),
)
