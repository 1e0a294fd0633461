# SPDX-License-Identifier: BSD-3-Clause
"""Copies from each place where a client can be, by the transport and path that are chosen there and by those that are forced.

On its own it measures the place where it runs. bench/places runs it in a container, in a virtual machine with a window, and in one
with soft-RoCE as well, whose columns it declares by files."""
from house.declare import NATIVE, Need, Plot, Program, SHM, Study, TCP, VERBS

SMALL = ("64", "4096", "65536")
LARGE = ("1048576", "4194304", "33554432")
CHOSEN = TCP.but("chosen", "rgpu, as it chooses", environment={"RGPU_TRANSPORT": "auto"})
TCP_ONE = TCP.but("tcp-one", "TCP, one connection", environment={"RGPU_TCP_CONNECTIONS": "1"})
# Paths over verbs that a program's environment forces.
VERBS_FORCED = tuple(VERBS.but("verbs-" + path, "verbs, " + path, environment={"RGPU_PATHS": path})
                     for path in ("inline", "staged", "one-sided", "direct"))
DIRECTIONS = ("to the GPU", "from the GPU")


def speed(kind, title):
    command = ("{programs}/copy_speed", kind)
    return Program(kind, command + SMALL + LARGE, title=title, needs=(Need("file", "{programs}/copy_speed"),), seconds=3, limit=240,
                   environment={"STUDY_SECONDS": "0.1"},
                   miniature=dict(command=command + ("64", "1048576"), limit=60, environment={"STUDY_SECONDS": "0.002"}))


def plots(kind, what):
    return (Plot("Latency: " + what, DIRECTIONS, program=kind, x="bytes", y="µs", log="xy"),
            Plot("Bandwidth: " + what, DIRECTIONS, program=kind, show="rate", x="bytes", log="x"))


STUDY = Study(
    name="places",
    title="Places",
    question="What do copies cost from each place where a client can be, and is the path that is chosen there the best one?",
    columns=(NATIVE, CHOSEN, SHM, TCP, TCP_ONE, VERBS, *VERBS_FORCED),
    programs=(speed("pinned", "Page-locked memory, one copy and its synchronization"),
              speed("pageable", "Ordinary memory, one synchronous copy")),
    plots=plots("pinned", "page-locked memory") + plots("pageable", "ordinary memory"),
    measured="As in the study of copies. A column is a path: the one that client and box choose by themselves, or one that a setting "
             "forces. Columns of other places carry the place's name in front.",
    unmeasured="Virtual machines that bench/places starts are emulated where there is no KVM: what their processor does then takes "
               "ten times as long, and their figures are good for beside each other only.",
)
