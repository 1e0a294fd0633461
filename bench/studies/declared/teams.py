# SPDX-License-Identifier: BSD-3-Clause
"""Put and notify between GPUs, from streams and from kernels, and programs that work so, beside kernels and copies."""
import re

from house.declare import NATIVE, SHM, TCP, VERBS, Answer, Box, Headline, Need, Ours, Plot, Program, Reference, Study

PAPER = "dCUDA over verbs (K80, ConnectX-4), table of one-way times"
RATES = "dCUDA over verbs (K80), rates at 1 MB"
CASES = "dCUDA, weak scaling, against kernels and verbs"
PAIR = (Need("gpus", "2"),)
TWO = SHM.but("two-boxes", "two boxes", boxes=(Box(gpus=(0,)), Box(gpus=(1,))), needs=PAIR)
NEAR = TWO.but("two-boxes-near", "two boxes, from GPU to GPU", boxes=tuple(Box(gpus=box.gpus, options=("--peer-gpus=yes",)) for box in TWO.boxes))
TWO_TCP = TCP.but("two-boxes-tcp", "two boxes, TCP", boxes=TWO.boxes, needs=PAIR)
BY_CLIENT = TWO.but("by-client", "two boxes, by way of the client", environment={"RGPU_PEER_LINK": "client"})
ONE_BOX = ("native", "shm", "tcp", "verbs")
FAR = ("native", "two-boxes", "two-boxes-near", "two-boxes-tcp")
ALL_WAYS = ONE_BOX + ("two-boxes", "two-boxes-near", "two-boxes-tcp", "by-client")
APPS = {"stencil": ("stencil", ("200", "3328", "320"), ("3", "64", "8")),
        "sparse": ("sparse product", ("100", "10816", "32"), ("3", "64", "4")),
        "power": ("power iteration", ("100", "10816"), ("3", "64")),
        "particles": ("particles", ("100", "416", "416"), ("3", "4", "4"))}


def app_figures(text):
    """The line that examples/apps.h prints."""
    for name, copies, puts, speedup in re.findall(r"^(\w+): .*copies_us=(\S+) puts_us=(\S+) speedup=(\S+)", text, re.M):
        title = APPS[name][0] if name in APPS else name
        yield {"figure": title + ", by copies", "x": None, "value": float(copies), "unit": "us"}
        yield {"figure": title + ", by puts", "x": None, "value": float(puts), "unit": "us"}
        yield {"figure": title, "x": None, "value": float(speedup), "unit": "times"}


def ping_pong(how, gpus, columns, mini):
    return Program("%s-%d" % (how, gpus), ("{programs}/ping_pong", how, str(gpus)), columns=columns, rounds=3, seconds=2, limit=30,
                   title="Put and notify by %s, on %s" % (how, "two GPUs" if gpus == 2 else "one GPU"),
                   needs=(Need("gpus", str(gpus)), Need("file", "{programs}/ping_pong")),
                   miniature=dict(command=("{programs}/ping_pong", how, str(gpus)) + mini, limit=40))


def app(name):
    title, words, mini = APPS[name]
    return Program(name, ("{build}/examples/" + name,) + words, title="%s, by puts and by copies" % title, columns=ALL_WAYS,
                   needs=PAIR + (Need("file", "{build}/examples/" + name),), parse=app_figures, rounds=3, seconds=3, limit=25,
                   miniature=dict(command=("{build}/examples/" + name,) + mini, limit=40))


def names(what, ways, places=("one GPU", "two GPUs")):
    return tuple("%s, %s, %s" % (what, way, place) for place in places for way in ways)


def others(label, values, what="put of 4 B"):
    """Times of the paper, same GPU and same node, beside those of kernels, which its ranks are."""
    return Reference(label, PAPER, values={"%s, kernels, %s" % (what, place): value
                                           for place, value in zip(("one GPU", "two GPUs"), values)})


BOTH = ("kernels", "streams")

STUDY = Study(
    name="teams",
    title="Put and notify",
    question="How long until a GPU sees what another one has put into its memory, and what do programs gain whose GPUs notify each other "
             "in place of a host that waits for kernels and copies?",
    columns=(NATIVE, SHM, TCP, VERBS, TWO, NEAR, TWO_TCP, BY_CLIENT),
    gpus=2,
    programs=(
        ping_pong("kernels", 1, ONE_BOX, ("4096", "5", "2")),
        ping_pong("kernels", 2, ONE_BOX, ("4096", "5", "2")),
        Program("kernels-far", ("{programs}/ping_pong", "kernels", "2", str(1 << 20), "40", "4"), columns=FAR, rounds=3, seconds=3, limit=30,
                title="Put and notify by kernels, between boxes", needs=PAIR + (Need("file", "{programs}/ping_pong"),),
                miniature=dict(command=("{programs}/ping_pong", "kernels", "2", "4096", "5", "2"), limit=40)),
        ping_pong("streams", 1, ONE_BOX, ("4096", "5")),
        ping_pong("streams", 2, ALL_WAYS, ("4096", "5")),
        app("stencil"), app("sparse"), app("power"), app("particles"),
    ),
    plots=(
        Plot("A put of 4 bytes with its notification, one way", names("put of 4 B", BOTH), kind="bars", y="µs", log="y",
             references=(others("dCUDA, verbs", (2.4, 6.7)), others("dCUDA, MPI", (2.4, 23.7)), others("dCUDA, original", (6.4, 25.4)))),
        Plot("A notification alone, one way", names("signal", BOTH), kind="bars", y="µs", log="y",
             references=(others("dCUDA, verbs", (1.9, 3.4), "signal"), others("dCUDA, MPI", (1.9, 5.0), "signal"))),
        Plot("Puts of 1 MiB behind each other", names("large puts", ("kernels", "kernels, all ranks", "streams")), kind="bars",
             y="GB/s", log="y",
             references=(Reference("dCUDA", RATES, values={"large puts, kernels, one GPU": 6.9,
                                                           "large puts, kernels, all ranks, one GPU": 79.3,
                                                           "large puts, kernels, two GPUs": 2.7,
                                                           "large puts, kernels, all ranks, two GPUs": 2.2}),)),
        Plot("Whole programs: how many times faster with puts than with copies and a host that waits", ("stencil", "sparse product", "power iteration", "particles"),
             kind="bars", y="times", references=(Reference("dCUDA, at most", CASES, values={
                 "stencil": 1.2, "sparse product": 1.4, "power iteration": 1.33, "particles": 1.7}),)),
        Plot("A step with puts, beside the native driver", tuple(title + ", by puts" for title, _, _ in APPS.values()), kind="bars",
             show="ratio", log="y"),
        Plot("A step with copies, beside the native driver", tuple(title + ", by copies" for title, _, _ in APPS.values()), kind="bars",
             show="ratio", log="y"),
    ),
    measured="One way is half of a round trip between two ranks: blocks of one kernel, kernels of two GPUs, or two streams. Dozens of "
             "round trips are queued, or thousands run within a kernel, and what starting them costs is taken off. All ranks are 26 pairs at once, "
             "between boxes four. "
             "Rates are those of 1 MiB again and again. The programs are examples/stencil, sparse, power and particles with the paper's sizes for "
             "each GPU; they do their work in both ways and the results are compared. By copies the host waits for the GPUs "
             "after each step, by puts nothing waits for it.",
    unmeasured="Nodes with a network between them, four and more GPUs, one GPU alone for whole "
               "programs.",
    headlines=(Headline("A notified put of 4 bytes between two GPUs, by kernels", "put of 4 B, kernels, two GPUs", "kernels-2"),),
    answers=(
        Answer("dCUDA", "notified put of 4 B: same GPU, same node", "yes: ranks are blocks, and the pair are two of one GPU or of two; newer GPUs "
               "on NVLink", "one way 2.4 µs on one GPU, 6.7 on one node (over MPI 23.7)",
               "A block stores into the other GPU's memory and counts up a signal there: no host takes part, natively or remotely, so a "
               "box adds nothing. The paper's went through the host and its network adapter.",
               (Ours("put of 4 B, kernels, one GPU", "shm", None, "kernels-1"), Ours("put of 4 B, kernels, two GPUs", "shm", None, "kernels-2"),
                Ours("put of 4 B, kernels, two GPUs", "tcp", None, "kernels-2"), Ours("put of 4 B, streams, two GPUs", "two-boxes-near", None, "streams-2"), Ours("put of 4 B, streams, two GPUs", "two-boxes", None, "streams-2"))),
        Answer("dCUDA", "notification alone", "as above", "1.9 µs on one GPU, 3.4 on one node", "As above.",
               (Ours("signal, kernels, one GPU", "shm", None, "kernels-1"), Ours("signal, kernels, two GPUs", "shm", None, "kernels-2"))),
        Answer("dCUDA", "rates at 1 MB, one rank and all", "as above", "one GPU 6.9 and 79.3 GB/s, one node 2.7 and 2.2",
               "NVLink in place of PCIe and a network adapter; one block alone fills neither.",
               (Ours("large puts, kernels, two GPUs", "shm", None, "kernels-2"),
                Ours("large puts, kernels, all ranks, two GPUs", "shm", None, "kernels-2"),
                Ours("large puts, streams, two GPUs", "two-boxes-near", None, "streams-2"))),
        Answer("dCUDA", "remote: one way and rates between nodes", "no: two boxes of one host stand for two nodes", "6.9 µs; 2.2 to 2.7 GB/s",
               "A kernel's put goes into a proxy queue of its box, as the paper's goes into a queue of the host, and from there to the other box by "
               "shared memory or TCP. Set against a native put of kernels, which needs no host.",
               (Ours("put of 4 B, kernels, two GPUs", "two-boxes", None, "kernels-far"), Ours("put of 4 B, kernels, two GPUs", "two-boxes-tcp", None, "kernels-far"))),
        Answer("dCUDA", "host and GPU: flags and queues", "no", "1.8 to 2.4 µs there and back", "Near puts need no host; far ones go by a proxy queue, which the row above has."),
        Answer("dCUDA", "stencil, sparse product, power iteration", "partly: two GPUs; puts by streams, and the other way copies from GPU to GPU",
               "1.2, 1.4 and 1.33 times faster than kernels and verbs",
               "What is gained is the host's waiting for each step, which costs more through a box. Ours are times of a step with puts in "
               "a box beside native ones.",
               (Ours("stencil, by puts", "shm", None, "stencil"), Ours("sparse product, by puts", "shm", None, "sparse"),
                Ours("power iteration, by puts", "shm", None, "power"), Ours("stencil, by puts", "two-boxes-near", None, "stencil"), Ours("stencil, by puts", "two-boxes", None, "stencil"))),
        Answer("dCUDA", "particles", "partly: two GPUs; examples/particles with the paper's cells for each", "1.3 (one GPU) to 1.7 times",
               "As above.", (Ours("particles, by puts", "shm", None, "particles"), Ours("particles, by puts", "two-boxes-near", None, "particles"))),
    ),
)
