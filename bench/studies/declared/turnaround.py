# SPDX-License-Identifier: BSD-3-Clause
"""A cluster under Slurm whose GPUs are in its nodes, or remote, or remote and shared: turn-around, use, energy."""
from house.declare import Answer, Column, Ours, Plot, Program, Reference, Study

PAPER = "Iserte et al., rCUDA with Slurm (16 nodes, 2014 and 2016)"


def way(name, title, of_model):
    return Column(name, title, environment={"STUDY_WAY": of_model})


COLUMNS = (way("node", "GPUs of the nodes", "node"), way("remote", "remote GPUs, each for one job", "remote"),
           way("shared", "remote GPUs in shares, packed", "pack"), way("spread", "remote GPUs in shares, spread", "spread"),
           way("ranked", "remote GPUs, urgent jobs first", "ranked"),
           way("suspend", "the same, and others are suspended for them", "suspend"))
MODEL = ("{python}", "{here}/programs/cluster_model.py", "-", "400", "{round}")
REMOTE = ("remote", "shared", "spread")
RANKS = ("remote", "ranked", "suspend")

STUDY = Study(
    name="turnaround",
    title="A cluster's jobs",
    question="What becomes of jobs' turn-around, of GPUs' use and of energy when a cluster's GPUs leave its nodes and are shared, and how "
             "many GPUs does the same work then need?",
    columns=COLUMNS,
    programs=(
        Program("gpus", MODEL + ("--gpus", "{size}"), title="400 jobs on 16 nodes, by number of GPUs", sizes=(4, 6, 8, 12, 16), seconds=2,
                limit=120, columns=("node",) + REMOTE, miniature=dict(command=MODEL[:3] + ("40", "{round}", "--gpus", "{size}"), sizes=(8,))),
        Program("ranks", MODEL + ("--gpus", "{size}"), title="400 jobs of which some are urgent, without and with suspension, by number of "
                "GPUs", sizes=(4, 6, 8, 12, 16), columns=RANKS, seconds=2, limit=120,
                miniature=dict(command=MODEL[:3] + ("40", "{round}", "--gpus", "{size}"), sizes=(8,))),
        Program("cost", MODEL + ("--gpus", "16", "--cost", "1.{size}"), title="The same by what a remote GPU costs, in percent",
                sizes=(10, 25, 50), columns=REMOTE, seconds=2, limit=120,
                miniature=dict(command=MODEL[:3] + ("40", "{round}", "--gpus", "4", "--cost", "1.{size}"), sizes=(25,))),
    ),
    plots=(
        Plot("Jobs an hour", ("throughput",), program="gpus", x="GPUs", y="jobs an hour"),
        Plot("From submission to end, on average", ("turn-around",), program="gpus", x="GPUs", y="minutes"),
        Plot("How busy the GPUs are", ("GPUs busy",), program="gpus", x="GPUs", y="% of the time"),
        Plot("Time for all jobs beside GPUs of the nodes", ("makespan",), program="gpus", show="ratio", base="node", x="GPUs",
             references=(Reference("rCUDA with Slurm: throughput doubled", PAPER, value=0.5),)),
        Plot("Energy beside GPUs of the nodes", ("energy",), program="gpus", show="ratio", base="node", x="GPUs",
             references=(Reference("rCUDA with Slurm: 40 % less", PAPER, value=0.6),)),
        Plot("Urgent jobs, from submission to end", ("turn-around, urgent",), program="ranks", x="GPUs", y="minutes"),
        Plot("Other jobs, from submission to end", ("turn-around, others",), program="ranks", x="GPUs", y="minutes"),
        Plot("How busy the GPUs are, without and with suspension", ("GPUs busy",), program="ranks", x="GPUs", y="% of the time"),
        Plot("Turn-around by what a remote GPU costs", ("turn-around",), program="cost", x="% of the GPU's part more", y="minutes"),
    ),
    measured="Nothing is timed here: it is a model of the queue, whose decisions a test (tests/slurm/queue-as-modelled.t) compares with "
             "a real Slurm with rgpu's plugins, job end by job end, for whole GPUs, also where urgent jobs have others suspended "
             "(PreemptMode=SUSPEND). With shares a real Slurm sometimes lets a job "
             "overtake another one: it starts two of different sizes at once where only one has room, and the other waits again. "
             "400 generated jobs of five kinds come to 16 nodes of 16 cores; each "
             "uses the GPU for 5 to 85 % of its time. Jobs that share a GPU run at full speed until together they want more of it than "
             "there is, and then slow down alike. A remote GPU costs 5 % of the part of a job that runs on it, or what the last picture "
             "says. Urgent are those of two kinds, inference and interactive, five of fourteen; who is suspended for them loses 0.96 s for "
             "each GiB that it has of 80, as measured on an H100, and goes on when the urgent job has ended. Rounds are other jobs. Energy is counted with a node's 120 W, 8 W for each busy core, a GPU's 70 W idle and 500 W "
             "busy, and 40 W of a box for each of its GPUs.",
    unmeasured="Power was not measured but assumed. Jobs with several GPUs, backfill and users' limits are not in the model. A recorded "
               "trace of a site is not at hand.",
    answers=(
        Answer("rCUDA with Slurm", "throughput of a shared pool, 16 nodes", "partly: a model of the queue with generated jobs, as many GPUs "
               "as nodes", "throughput doubled (0.5 × the time)", "What can be gained is what GPUs wait for: with jobs that use theirs "
               "for half of the time it is a factor of less than two.", (Ours("makespan", "shared", 16, "gpus", base="node"),
                                                                     Ours("makespan", "remote", 16, "gpus", base="node"))),
        Answer("rCUDA with Slurm", "energy", "partly: assumed power", "40 % less", "Today's GPUs take most of a node's power, and only "
               "while they compute: a shorter time saves what is idle. With half of the GPUs the same work is done as well.",
               (Ours("energy", "shared", 16, "gpus", base="node"), Ours("energy", "shared", 8, "gpus", base="node"))),
    ),
)
