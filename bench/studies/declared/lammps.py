# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS with its GPU package: four inputs by size, ranks that work together, tasks that share GPUs, too many of them."""
from house.declare import (NATIVE, SHM, TCP, USUAL_NAMES, VERBS, Answer, Box, Column, Headline, Need, Ours, Plot, Program, Reference,
                           Study, json_figures)

PAPER = "Reaño et al., rCUDA (K20, FDR InfiniBand, 2015), figure 8"
PROCESSORS = Column("processors", "processors (MPI)", environment={"STUDY_LAMMPS": "processors"})
TWO = SHM.but("two-boxes", "two boxes, shared memory", boxes=(Box(gpus=(0,)), Box(gpus=(1,))), needs=(Need("gpus", "2"),))
ALL_COLUMNS = USUAL_NAMES + ("processors",)
BUILT = (Need("real-gpu"), Need("file", "{programs}/lammps/lmp"))
INPUTS = ("lj", "eam", "rhodo", "chain")


def one_size(text):
    """The inputs of one size side by side: what they are is the figure's name."""
    for record in json_figures(text):
        yield dict(record, x=None)


def miniature(name, **more):
    """Software GPUs are too slow for LAMMPS: a linear model is trained instead, which shows that the study works."""
    return dict({"needs": (), "limit": 40, "command": ("{programs}/own_kernels", "training", "2", "16", name)}, **more)


def run(name, kind, thousands, *words, title, seconds, columns=ALL_COLUMNS, needs=(), mini=None, **more):
    return Program(name, ("{python}", "{here}/programs/molecules.py", "{programs}/lammps", kind, str(thousands)) + words,
                   title=title, columns=columns, needs=BUILT + tuple(needs), seconds=seconds, limit=900,
                   miniature=miniature(kind, **(mini or {})), **more)


def by_size(kind, sizes, seconds):
    return run(kind, kind, "{size}", title="%s, 100 steps, by thousands of atoms" % kind, sizes=sizes, seconds=seconds, rounds=2,
               mini={"sizes": (1,)})


def together(gpus):
    return run("ranks-%d" % gpus, "lj", 1024, "--ranks", "{size}", "--gpus", str(gpus), sizes=(1, 2, 4, 8), seconds=20,
               title="lj, 1M atoms, by ranks that work together on %d GPU%s" % (gpus, "s" * (gpus > 1)), rounds=2,
               columns=USUAL_NAMES if gpus == 1 else USUAL_NAMES + ("two-boxes",), needs=(Need("gpus", str(gpus)),),
               mini={"sizes": (2,)} if gpus == 1 else {"needs": BUILT + (Need("gpus", str(gpus)),)})


def apart(gpus, kind="lj"):
    name = "tasks-%d" % gpus if kind == "lj" else "tasks-%s-%d" % (kind, gpus)
    return run(name, kind, 1152, "--own", "--gpus", str(gpus), sizes=(1, 2, 4), clients="size", seconds=25,
               title="%s, 1.16M atoms each, by independent tasks that share %d GPU%s" % (kind, gpus, "s" * (gpus > 1)), rounds=2,
               columns=("native", "shm", "tcp") + (("two-boxes",) if gpus == 2 else ()), needs=(Need("gpus", str(gpus)),),
               mini={"sizes": (2,)} if gpus == 1 else {"needs": BUILT + (Need("gpus", str(gpus)),)})


STUDY = Study(
    name="lammps",
    title="Molecular dynamics: LAMMPS",
    question="What does an application of the natural sciences lose on remote GPUs, alone, with several ranks, and when several "
             "programs share a box?",
    columns=(NATIVE, SHM, TCP, VERBS, TWO, PROCESSORS),
    programs=(
        Program("inputs", ("{python}", "{here}/programs/molecules.py", "{programs}/lammps", "{size}", "256", "--steps", "50"),
                title="The four inputs with 256,000 atoms, 50 steps", sizes=INPUTS, columns=ALL_COLUMNS, needs=BUILT, seconds=10,
                limit=300, rounds=3, parse=one_size, miniature=miniature("{size}")),
        by_size("lj", (256, 1024, 4000), 15),
        by_size("eam", (256, 1024, 4000), 25),
        by_size("rhodo", (256, 1024), 40),
        by_size("chain", (256, 1024, 4000), 20),
        together(1), together(2), together(4),
        apart(1), apart(2), apart(4), apart(1, "eam"), apart(2, "eam"),
        run("clients", "lj", 384, "--own", "--gpus", "1", sizes=(1, 2, 4, 8), clients="size", seconds=15, rounds=2,
            columns=("native", "shm", "tcp"), title="lj, 400k atoms each, by clients of one GPU", mini={"sizes": (2,)}),
    ),
    plots=(
        Plot("256,000 atoms beside the native driver", INPUTS, program="inputs", kind="bars", show="ratio",
             columns=("shm", "tcp", "verbs"), references=(Reference("rCUDA at worst, 8 ranks", PAPER, value=1.35),)),
    ) + tuple(
        Plot("%s beside the native driver" % kind, (kind,), program=kind, show="ratio", x="thousands of atoms", log="x",
             columns=("shm", "tcp", "verbs", "processors"),
             references=(Reference("rCUDA at worst, 8 ranks", PAPER, value=1.35),) if kind == "lj" else ())
        for kind in INPUTS
    ) + (
        Plot("Time of 100 steps of lj", ("lj",), program="lj", x="thousands of atoms", y="s", log="xy"),
        Plot("Ranks that work together on one GPU", ("lj",), program="ranks-1", x="ranks", y="s"),
        Plot("Ranks that work together on two GPUs", ("lj",), program="ranks-2", x="ranks", y="s"),
        Plot("Ranks that work together on four GPUs", ("lj",), program="ranks-4", x="ranks", y="s"),
        Plot("Independent tasks on one GPU", ("lj",), program="tasks-1", show="ratio", x="tasks", columns=("shm", "tcp"),
             references=(Reference("rCUDA at worst (eam)", PAPER, value=1.25), Reference("rCUDA at best (lj)", PAPER, value=0.95))),
        Plot("Independent tasks on two GPUs", ("lj",), program="tasks-2", show="ratio", x="tasks", columns=("shm", "tcp", "two-boxes")),
        Plot("Independent tasks of eam on one GPU", ("eam",), program="tasks-eam-1", show="ratio", x="tasks", columns=("shm", "tcp"),
             references=(Reference("rCUDA at worst (eam, a GPU each)", PAPER, value=1.25),)),
        Plot("Independent tasks of eam on two GPUs", ("eam",), program="tasks-eam-2", show="ratio", x="tasks",
             columns=("shm", "tcp", "two-boxes")),
        Plot("Clients of one GPU, time of each", ("lj",), program="clients", x="clients", y="s",
             note="Twice as many clients than GPUs can serve take twice as long; what a box adds is the distance to native."),
    ),
    measured="LAMMPS of Debian's source (September 2021) with the GPU package by the Driver API and MPICH, built by "
             "bench/studies/build-lammps with what its own benchmark's inputs need (lj, eam, rhodo, chain). The figure is the time of "
             "LAMMPS' own loop of 100 steps. Ranks that work together exchange atoms by MPI on this machine; independent tasks "
             "begin together, each with GPUs in turn. The processors' column runs a rank on each core, without a GPU. Of chain and rhodo LAMMPS' kernels list the "
             "neighbours of half a million atoms at most, natively as well; for more the processor lists them, in all columns.",
    unmeasured="USER-CUDA, which the paper used, is gone from LAMMPS. KOKKOS is not built: Debian's source of LAMMPS "
               "comes without Kokkos, and Debian's own Kokkos is built without CUDA. Several nodes with a network between them. In "
               "miniature, on software GPUs, a small linear model stands in for LAMMPS.",
    headlines=(
        Headline("LAMMPS, metal (eam) of a million atoms, 100 steps", "eam", "eam", 1024),
        Headline("LAMMPS, eight tasks of 400,000 atoms each on one GPU", "lj", "clients", 8, columns=("shm", "tcp")),
    ),
    answers=(
        Answer("rCUDA", "8a, 8b: 4M atoms, ranks that work together", "partly: the GPU package instead of USER-CUDA, all on one host",
               "at worst +35 % (lj, 8 GPUs), at best -6 % (lj, 4 GPUs)", "The GPU package computes neighbours and forces on the "
               "GPU and copies positions and forces each step: small copies count, and the less the more atoms there are.",
               (Ours("lj", "shm", 256, "lj"), Ours("lj", "tcp", 256, "lj"), Ours("lj", "shm", 4000, "lj"), Ours("lj", "tcp", 4000, "lj"),
                Ours("eam", "shm", 4000, "eam"), Ours("eam", "tcp", 4000, "eam"), Ours("lj", "shm", 8, "ranks-1"),
                Ours("lj", "tcp", 8, "ranks-1"), Ours("lj", "shm", 8, "ranks-2"), Ours("lj", "two-boxes", 8, "ranks-2"))),
        Answer("rCUDA", "8c: independent tasks share GPUs", "yes, with 1 to 4 tasks", "at worst +25 % (eam, one GPU each), at best "
               "-5 % (lj, all on one)", "What tasks wait for each other on the GPU hides what the box adds.",
               (Ours("lj", "shm", 4, "tasks-1"), Ours("lj", "tcp", 4, "tasks-1"), Ours("eam", "shm", 4, "tasks-eam-1"),
                Ours("eam", "tcp", 4, "tasks-eam-1"), Ours("eam", "shm", 2, "tasks-eam-2"), Ours("lj", "shm", 4, "tasks-2"),
                Ours("lj", "two-boxes", 4, "tasks-2"))),
        Answer("rCUDA", "8d: a box with 8 clients of 400k atoms each", "yes, on one GPU", "+47 % oversubscribed, under 6 % before",
               "Ours is the ratio to as many native programs on the same GPU.",
               (Ours("lj", "shm", 4, "clients"), Ours("lj", "tcp", 4, "clients"), Ours("lj", "shm", 8, "clients"), Ours("lj", "tcp", 8, "clients"))),
        Answer("C-GDR", "applications: HOOMD LJ, AWP-ODC", "no: neither is installed; LAMMPS' lj with ranks on two GPUs is the nearest",
               "10 % and 14 % shorter than with default containers", "Theirs is an MPI that finds out that containers share a host; our "
               "workers are outside of all containers.", (Ours("lj", "shm", 2, "ranks-2"), Ours("lj", "two-boxes", 2, "ranks-2"))),
        Answer("rCUDA", "8: beside the processors alone", "yes", "46 % (eam) and 58 % (lj) below the processors' times, with 8 clients "
               "on 4 GPUs", "Ours is one client.", (Ours("lj", "processors", None, "inputs", base="shm"),
                                                    Ours("eam", "processors", None, "inputs", base="shm"))),
    ),
)
