# SPDX-License-Identifier: BSD-3-Clause
"""Many sessions on a box and many boxes under a broker, and what a rack, a cluster and a region need by these figures."""
import html

from house.declare import (Answer, Column, Headline, NATIVE, Need, Ours, Plot, Program, SHM, Study, TCP, USUAL_NAMES, VERBS,
                           json_lines)

BROKER = Column("broker", "the broker, simulated boxes", here=True)
CALLS = ("launch and synchronize", "64 bytes from the GPU", "launch alone")


def broker_figures(text):
    """Of the lines of bench/broker_load.py: one for each case of a pool of one size."""
    rows = [row for row in json_lines(text) if "boxes" in row]
    for row in rows:
        if row["case"] == "idle":
            yield {"figure": "processor for reports of boxes", "x": row["boxes"], "value": row["cpu_share"] * 100, "unit": "%cpu"}
            continue
        case = {"quiet": "", "page": ", status page open", "waiters": ", requests waiting"}[row["case"]]
        for what in ("acquire", "release"):
            for part, name in (("p50", "median"), ("p99", "99th percentile")):
                yield {"figure": "%s, %s%s" % (what, name, case), "x": row["boxes"], "value": row["%s_%s" % (what, part)], "unit": "ms"}
        yield {"figure": "processor time of a lease" + case, "x": row["boxes"], "value": row["cpu"], "unit": "ms"}


# ---- on paper ----

SITES = (("a rack", 8, 8), ("a cluster", 128, 8), ("a cloud region", 10000, 8))
LEASES_PER_GPU_HOUR = 6  # jobs of ten minutes
GB_PER_SECOND = 1.0      # what a GPU takes and gives on average


def value(all_figures, study, figure, column, x=None, program=None):
    """The median of a figure on the first machine that measured it; without x of the largest one."""
    for figures in all_figures:
        keys = [key for key in figures.keys(study, figure, program, column) if x is None or key.x == x]
        if keys:
            key = max(keys, key=lambda k: k.x or 0)
            return figures.point(key).median, key.x
    return None, None


def processor_seconds_per_gb(all_figures):
    """What box and client each use to move a gigabyte over TCP: of SAXPY in the study of kernels, which moves 12 bytes an element."""
    found = []
    for who in ("worker", "client"):
        used, elements = value(all_figures, "kernels", "cpu " + who, "tcp", program="saxpy")
        found.append(used / (elements * 12 * 10 / 1e9) if used is not None else None)
    return found


def site_row(name, boxes, gpus, box_cpu, client_cpu, lease_ms):
    total = boxes * gpus
    leases = total * LEASES_PER_GPU_HOUR / 3600
    return (name, "%d" % boxes, "%d" % total, "%.2f" % leases,
            "%.1f %%" % (leases * lease_ms / 10) if lease_ms is not None else "–",
            "%.1f" % (gpus * GB_PER_SECOND * box_cpu) if box_cpu is not None else "–",
            "%.2f" % (GB_PER_SECOND * client_cpu) if client_cpu is not None else "–",
            "%.0f Gbit/s" % (gpus * GB_PER_SECOND * 8), "%.1f Tbit/s" % (total * GB_PER_SECOND * 8 / 1e3))


def on_paper(all_figures):
    box_cpu, client_cpu = processor_seconds_per_gb(all_figures)
    lease_ms, measured = value(all_figures, "scale", "processor time of a lease", "broker")
    head = ("site", "boxes", "GPUs", "leases a second", "of one processor for the broker", "cores a box for TCP",
            "cores a GPU for its client", "network of a box", "network in all")
    rows = [site_row(*site, box_cpu, client_cpu, lease_ms) for site in SITES]
    cells = "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % html.escape(cell) for cell in row) for row in rows)
    table = "<div class=wide><table><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>" % (
        "".join("<th>%s</th>" % cell for cell in head), cells)
    assumed = ("Assumed: eight GPUs a box, each with %g GB/s to and from its clients on average, all over TCP, jobs of %d minutes on one "
               "GPU each. Over verbs or shared memory the processors hardly move data. By these figures: a gigabyte over TCP takes %s of "
               "processor time on the box and %s on the client; a lease takes the broker %s at %s boxes, and a single broker serves the "
               "pool as long as its share of one processor is well below 100 %%." %
               (GB_PER_SECOND, 60 // LEASES_PER_GPU_HOUR, "%.2f s" % box_cpu if box_cpu is not None else "(not measured)",
                "%.2f s" % client_cpu if client_cpu is not None else "(not measured)",
                "%.2f ms" % lease_ms if lease_ms is not None else "(not measured)", measured or "none"))
    return [("What a rack, a cluster and a region need, on paper", table + "<p>%s</p>" % html.escape(assumed))]


STUDY = Study(
    name="scale",
    title="Many sessions, many boxes",
    question="What does a call cost if 64 programs use one box, and what does a lease cost in a pool of ten thousand boxes?",
    columns=(NATIVE, SHM, TCP, VERBS, BROKER),
    programs=(
        Program("sessions", ("{programs}/call_cost",), title="Calls of so many clients at once", sizes=(1, 4, 16, 64),
                clients="size", marks=True, columns=USUAL_NAMES, seconds=8, limit=150, rounds=2,
                environment={"STUDY_SECONDS": "0.25"}, needs=(Need("file", "{programs}/call_cost"),),
                miniature=dict(sizes=(1, 3), limit=60, environment={"STUDY_SECONDS": "0.002"})),
        Program("broker", ("{python}", "{top}/bench/broker_load.py", "{build}", "size"), title="Leases by the size of the pool",
                sizes=(10, 1000, 10000), columns=("broker",), seconds=40, limit=900, rounds=1, parse=broker_figures,
                environment={"BENCH_BOXES": "{size}", "BENCH_SAMPLES": "100", "BENCH_IDLE": "3", "BENCH_WAITERS": "200"},
                miniature=dict(sizes=(2, 5), limit=60, environment={
                    "BENCH_BOXES": "{size}", "BENCH_SAMPLES": "3", "BENCH_IDLE": "0", "BENCH_WAITERS": "3"})),
    ),
    plots=(
        Plot("A launch and its synchronization, by sessions", ("launch and synchronize",), program="sessions", x="clients at once",
             y="µs", log="xy"),
        Plot("64 bytes from the GPU, by sessions", ("64 bytes from the GPU",), program="sessions", x="clients at once", y="µs",
             log="xy"),
        Plot("A launch alone, by sessions", ("launch alone",), program="sessions", x="clients at once", y="µs", log="xy"),
        Plot("Calls beside the native driver with as many processes", CALLS, program="sessions", show="ratio",
             x="clients at once", log="xy"),
        Plot("Memory of the box's host", ("memory worker",), program="sessions", x="clients at once", y="MiB", log="xy",
             columns=("shm", "tcp", "verbs")),
        Plot("A lease by the size of the pool", ("acquire, median", "acquire, 99th percentile", "release, median"), program="broker",
             x="boxes of eight GPUs", y="ms", log="xy"),
        Plot("A lease while requests wait", ("acquire, median, requests waiting", "acquire, 99th percentile, requests waiting"),
             program="broker", x="boxes of eight GPUs", y="ms", log="xy"),
    ),
    derive=on_paper,
    measured="So many processes begin together and repeat three calls for a quarter of a second each; the value is the median over "
             "processes of their medians. For the broker, boxes are simulated: each keeps its connection and signs its reports as "
             "rgpud does, and requests come with a connection and a signature each, and its database is on this machine's disk.",
    unmeasured="Native processes on one GPU take turns, as the GPU does not run kernels of several contexts at once; so do ours. "
               "Sessions and box share the processors of one host here. The needs of sites are computed and not measured.",
    headlines=(
        Headline("A launch and its synchronization", "launch and synchronize", "sessions", 1),
        Headline("The same in each of 16 programs at once", "launch and synchronize", "sessions", 16),
    ),
    answers=(
        Answer("rCUDA", "figure 8d: a box with 4 GPUs and 8 clients", "no: calls instead of LAMMPS, one GPU; the study of LAMMPS has it",
               "+47 % oversubscribed, under 6 % before",
               "What sharing costs is nearly all in the GPU and its driver: natively as many processes pay it too.",
               (Ours("launch and synchronize", "shm", 16, "sessions"), Ours("launch and synchronize", "tcp", 16, "sessions"),
                Ours("launch and synchronize", "shm", 64, "sessions"))),
    ),
)
