# SPDX-License-Identifier: BSD-3-Clause
"""What must hold of a pool at every instant, checked from outside: by the broker's database, by what the
boxes say, by the software GPUs' own books, and by what programs wrote into their journal."""
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "broker"))
import check_invariants  # noqa: E402

STALL_MS = 1000
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Journal:
    """Rounds of programs in the order in which they happened. A GPU that one lease has for itself is
    shared by two of them if a round of A both begins and ends after one of B, and B goes on after it:
    so A B B A A, where the last B and the last A each began after the other's lease had computed."""

    def __init__(self, path):
        self.path = path
        open(path, "w").close()
        self.file = open(path)
        self.part = ""
        self.rounds = 0
        self.results = {}
        self.last, self.left = {}, {}

    def violations(self, exclusive):
        text = self.part + self.file.read()
        lines = text.split("\n")
        self.part = lines.pop()
        for line in lines:
            what, label, rest = line.split(" ", 2)
            lease = label.split("/")[0]
            if what == "round":
                self.rounds += 1
                yield from self.round(lease, rest, exclusive)
            elif what == "error":
                self.results[rest] = self.results.get(rest, 0) + 1
            else:
                yield "program %s: %s %s" % (label, what, rest)

    def round(self, lease, gpu, exclusive):
        """`left` are leases that were followed by another, with the rounds they wrote since."""
        if gpu not in exclusive:
            return
        left = self.left.setdefault(gpu, {})
        previous = self.last.get(gpu)
        if previous is not None and previous != lease:
            left.setdefault(previous, 0)
        if lease in left:
            left[lease] += 1
            if left[lease] > 1:  # the first may have been computed before the other had the GPU
                yield "GPU %s computes for lease %s after it did for %s" % (gpu, lease, previous)
        self.last[gpu] = lease


def check_database(path, idle=False):
    return check_invariants.check(path, idle)


def check_sessions(box, sessions, exclusive):
    """Two leases with sessions on a GPU that one of them has for itself."""
    leases = {}
    for session in sessions:
        for gpu in session["devices"]:
            leases.setdefault(gpu, set()).add(session["lease"])
    for gpu, named in leases.items():
        if bare(gpu) in exclusive and len(named) > 1:
            yield "%s serves GPU %s to leases %s at once" % (box.name, gpu, sorted(named))


def check_stalls(daemon):
    """An event loop that blocks keeps everybody waiting. Time without a processor is not counted by the loop, and a
    daemon that was stopped may have been in the middle of something; a second is more than anything that it does."""
    with open(daemon.log, errors="replace") as file:
        stalls = [int(ms) for ms in re.findall(r"served nobody for some time stall_ms=(\d+)", file.read())]
    long = [ms for ms in stalls if ms > STALL_MS]
    if len(long) > daemon.stopped:
        yield "the event loop of %s served nobody for %s ms, and was stopped %d times" % (
            daemon.name, max(long), daemon.stopped)


def bare(uuid):
    return re.sub("^GPU-", "", uuid).lower()


class GpuBooks:
    """The file in which software GPUs account for memory: per process and device."""

    MAGIC, HEAD, SLOTS = 0x72677075736D3031, 48, 1024

    def __init__(self, path):
        self.path = path
        with open(os.path.join(TOP, "sim", "sim_config.h")) as header:
            self.devices = int(re.search(r"SIM_MAX_DEVICES (\d+)", header.read()).group(1))

    def used(self):
        """{pid: [bytes per device]} of the processes that live."""
        slot = struct.Struct("=II%dQ" % self.devices)
        try:
            with open(self.path, "rb") as file:
                data = file.read(self.HEAD + self.SLOTS * slot.size)
                if len(data) < self.HEAD + self.SLOTS * slot.size or \
                        struct.unpack_from("=Q", data)[0] != self.MAGIC:
                    return {}
        except OSError:
            return {}
        found = {}
        for number in range(self.SLOTS):
            taken, pid, *used = slot.unpack_from(data, self.HEAD + number * slot.size)
            if taken and os.path.exists("/proc/%d" % pid):
                found[pid] = used
        return found


def check_budgets(box, before, used, after, holds):
    """The processes of a lease on a GPU have no more than its budget and one context. Only processes
    that served the same lease before and after the books were read count. `holds`: (budget, context)."""
    first = {(s["pid"], s["lease"]) for s in before}
    same = {s["pid"]: s["lease"] for s in after if (s["pid"], s["lease"]) in first}
    sums = {}
    for pid, lease in same.items():
        for ordinal, amount in enumerate(used.get(pid, [])):
            held, count = sums.get((lease, ordinal), (0, 0))
            sums[lease, ordinal] = (held + amount, count + (amount > 0))
    for (lease, ordinal), (amount, count) in sums.items():
        budget, context = holds.get((lease, box.name, ordinal), (None, 0))
        if budget is not None and amount > budget + context:
            yield "%d processes of lease %s have %d bytes on %s:%d, its budget is %d" % (
                count, lease, amount, box.name, ordinal, budget)
