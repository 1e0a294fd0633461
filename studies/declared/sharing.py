# SPDX-License-Identifier: BSD-3-Clause
"""One GPU shared by 1 to 16 clients that each use it for a part of their time, with and without budgets of memory."""
from house.declare import NATIVE, SHM, TCP, Answer, Need, Ours, Plot, Program, Reference, Study

# A lease for each client: a sixteenth of the GPU's memory less what contexts take, from a box that asks for tickets.
LENT = SHM.but("lent", "shared memory, a budget for each client", boxes=(),
               environment={"STUDY_LENT_PORT": "{port}"}, ready="ready",
               server=("{python}", "{here}/programs/lent_box.py", "{build}", "{port}", "16", "5"),
               needs=(Need("file", "{bench}/measure"),))
CLIENTS = (1, 2, 4, 8, 16)


def part(name, title, n, think, steps, mini):
    return Program(name, ("{python}", "{here}/programs/with_budget.py", "{programs}/own_kernels", "part", str(n), str(think),
                          str(steps), "{clients}"),
                   title=title, sizes=CLIENTS, clients="size", marks=True, seconds=6, limit=120, rounds=3,
                   needs=(Need("file", "{programs}/own_kernels"),),
                   miniature=dict(sizes=(3,), limit=60, command=(
                       "{python}", "{here}/programs/with_budget.py", "{programs}/own_kernels", "part", "32", str(mini), "5",
                       "{clients}")))


STUDY = Study(
    name="sharing",
    title="One GPU for several clients",
    question="How many programs that each use a GPU for a part of their time can share one before they feel it, and what do "
             "budgets cost?",
    columns=(NATIVE, SHM, TCP, LENT),
    programs=(
        part("quarter", "5 ms of work, 15 ms without the GPU", 2048, 15, 60, 2),
        part("always", "work without pause", 2048, 0, 60, 0),
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
    ),
    measured="Each client multiplies two matrices of 2048 rows by a plain kernel, waits for it, then does without the GPU for 15 ms, "
             "60 times; all begin together. With budgets each client has a ticket of its own for a twentieth of the GPU's memory, as "
             "a broker would give it. Natively as many programs use the GPU at once.",
    unmeasured="Fairness between users with different weights, NVIDIA's MPS and MIG below the boxes.",
    answers=(
        Answer("rCUDA", "8d: 8 clients of a box", "partly: a plain kernel at a quarter of the GPU instead of LAMMPS, one GPU",
               "+47 % oversubscribed, under 6 % before", "The driver switches between processes by time whether they are a box's "
               "workers or native programs.",
               (Ours("a step of one client", "shm", 4, "quarter"), Ours("a step of one client", "shm", 16, "quarter"),
                Ours("a step of one client", "lent", 16, "quarter"))),
    ),
)
