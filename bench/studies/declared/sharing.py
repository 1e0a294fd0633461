# SPDX-License-Identifier: BSD-3-Clause
"""One GPU shared by 1 to 16 clients that each use it for a part of their time, with and without budgets of memory, by time and by MPS;
and what it costs to take a program off the GPU and bring it back."""
from house.declare import NATIVE, SHM, TCP, Answer, Box, Need, Ours, Plot, Program, Reference, Study

# A lease for each client: a sixteenth of the GPU's memory less what contexts take, from a box that asks for tickets.
LENT = SHM.but("lent", "shared memory, a budget for each client", boxes=(),
               environment={"STUDY_LENT_PORT": "{port}"}, ready="ready",
               server=("{python}", "{here}/programs/lent_box.py", "{build}", "{port}", "16", "5", "{device}"))
# By NVIDIA's MPS, natively and below a box.
NATIVE_MPS = NATIVE.but("native-mps", "native, MPS", needs=(Need("mps"), Need("same-host")), ready="ready",
                        server=("{python}", "{here}/programs/mps_daemon.py", "{build}", "{port}"),
                        environment={"CUDA_MPS_PIPE_DIRECTORY": "/tmp/rgpu-study-mps-{port}"})
MPS = SHM.but("mps", "shared memory, MPS", boxes=(Box(options=("--sharing=mps", "--mps-directory={scratch}/mps")),), needs=(Need("mps"),))
# One lease with most of the GPU, which is taken off it.
SUSPENDED = LENT.but("suspended", "a lease of a box", server=("{python}", "{here}/programs/lent_box.py", "{build}", "{port}", "1", "80", "{device}"))
CLIENTS = (1, 2, 4, 8, 16)
SHARED = ("native", "shm", "tcp", "lent", "native-mps", "mps")


def part(name, title, n, think, steps, mini):
    return Program(name, ("{python}", "{here}/programs/with_budget.py", "{programs}/own_kernels", "part", str(n), str(think),
                          str(steps), "{clients}"),
                   title=title, sizes=CLIENTS, clients="size", marks=True, seconds=6, limit=120, rounds=3, columns=SHARED,
                   needs=(Need("file", "{programs}/own_kernels"),),
                   miniature=dict(sizes=(3,), limit=60, command=(
                       "{python}", "{here}/programs/with_budget.py", "{programs}/own_kernels", "part", "32", str(mini), "5",
                       "{clients}")))


STUDY = Study(
    name="sharing",
    title="One GPU for several clients",
    question="How many programs that each use a GPU for a part of their time can share one before they feel it, and what do "
             "budgets cost?",
    columns=(NATIVE, SHM, TCP, LENT, NATIVE_MPS, MPS, SUSPENDED),
    programs=(
        part("quarter", "5 ms of work, 15 ms without the GPU", 2048, 15, 60, 2),
        part("always", "work without pause", 2048, 0, 60, 0),
        Program("suspension", ("{python}", "{here}/programs/suspend_and_resume.py", "{build}", "{size}"),
                title="A program is taken off the GPU and brought back, by its MiB there", columns=("native", "suspended"),
                sizes=(256, 1024, 4096, 16384), seconds=4, limit=120, rounds=3, needs=(Need("file", "{programs}/own_kernels"), Need("same-host")),
                miniature=dict(sizes=(16,), limit=60)),
    ),
    plots=(
        Plot("Work of all clients together, a quarter of their time each", ("steps of all clients",), program="quarter", x="clients",
             y="steps a second", log="x"),
        Plot("A step of one client, a quarter of its time on the GPU", ("a step of one client",), program="quarter", x="clients", y="ms",
             log="xy"),
        Plot("Work of all clients together, without pause", ("steps of all clients",), program="always", x="clients", y="steps a second",
             log="x"),
        Plot("A step beside as many native programs", ("a step of one client",), program="quarter", show="ratio", x="clients", log="x",
             references=(Reference("rCUDA: under 6 % before GPUs are oversubscribed", "rCUDA (2015), figure 8d", value=1.06),
                         Reference("rCUDA: +47 % oversubscribed", "rCUDA (2015), figure 8d", value=1.47))),
        Plot("Suspended and resumed", ("off the GPU", "back on the GPU"), program="suspension", x="MiB on the GPU", y="ms", log="xy"),
    ),
    measured="Each client multiplies two matrices of 2048 rows by a plain kernel, waits for it, then does without the GPU for 15 ms, "
             "60 times; all begin together. With budgets each client has a ticket of its own for a twentieth of the GPU's memory, as "
             "a broker would give it. Natively as many programs use the GPU at once. Columns with MPS have NVIDIA's Multi-Process Service, in which "
             "kernels of several processes run at the same time; in the others processes take turns. Suspended is, natively, a process "
             "by the driver's checkpoint calls, and in a box a lease by rgpuctl suspend and resume, both until they say that it is done; the "
             "memory is looked at afterwards.",
    unmeasured="Fairness between users with different weights, and MIG below the boxes.",
    answers=(
        Answer("rCUDA", "8d: 8 clients of a box", "partly: a plain kernel at a quarter of the GPU instead of LAMMPS, one GPU",
               "+47 % oversubscribed, under 6 % before", "The driver switches between processes by time whether they are a box's "
               "workers or native programs, and runs their kernels together by MPS, natively and below a box.",
               (Ours("a step of one client", "shm", 4, "quarter"), Ours("a step of one client", "shm", 16, "quarter"),
                Ours("a step of one client", "lent", 16, "quarter"), Ours("a step of one client", "mps", 8, "quarter"),
                Ours("a step of one client", "mps", 8, "quarter", base="native-mps"))),
    ),
)
