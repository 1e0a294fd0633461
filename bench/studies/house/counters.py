# SPDX-License-Identifier: BSD-3-Clause
"""Context switches and processor time of processes, as the kernel counts them: of clients and of the workers of boxes."""
import os
import time

TICK = os.sysconf("SC_CLK_TCK")


def children():
    """The processes of the machine by their parents."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry) as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            found.setdefault(parent, []).append(int(entry))
    return found


def family(roots):
    tree, found, queue = children(), [], list(roots)
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue += tree.get(pid, [])
    return found


def of_thread(path):
    """(voluntary, involuntary) context switches."""
    counts = {}
    with open(path) as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.endswith("ctxt_switches"):
                counts[name] = int(value)
    return counts.get("voluntary_ctxt_switches", 0), counts.get("nonvoluntary_ctxt_switches", 0)


def of_process(pid):
    """{"switches", "preempted", "cpu"}, or None for one that has ended."""
    voluntary = involuntary = 0
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            one = of_thread("/proc/%d/task/%s/status" % (pid, thread))
            voluntary, involuntary = voluntary + one[0], involuntary + one[1]
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return {"switches": voluntary, "preempted": involuntary, "cpu": (int(fields[11]) + int(fields[12])) / TICK}


def count(clients, servers):
    """What all of them have used until now, and the memory that they have."""
    counted = {"begun": time.monotonic(), "memory": {}}
    for who, roots in (("client", clients), ("worker", servers)):
        all_ = {pid: of_process(pid) for pid in family(roots)}
        counted[who] = {pid: used for pid, used in all_.items() if used}
        counted["memory"][who] = sum(memory_of(pid) for pid in counted[who])
    counted["counted"] = time.monotonic()
    return counted


def memory_of(pid):
    """MiB of a process, what it shares with others in parts."""
    try:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024
    except (OSError, IndexError, ValueError):
        return 0.0


def differences(before, after):
    """Figures of what was used between the two counts, by processes that were there at both."""
    figures = [{"figure": "span", "value": after["begun"] - before["counted"], "unit": "s"}]
    for who in ("client", "worker"):
        both = before[who].keys() & after[who].keys()
        if not both:
            continue
        for what, unit in (("switches", "switches"), ("preempted", "switches"), ("cpu", "s")):
            value = sum(after[who][pid][what] - before[who][pid][what] for pid in both)
            figures.append({"figure": "%s %s" % (what, who), "value": value, "unit": unit})
        figures.append({"figure": "memory " + who, "value": after["memory"][who], "unit": "MiB"})
    return figures
