# SPDX-License-Identifier: BSD-3-Clause
"""A cluster's queue in fast motion: the same generated jobs with GPUs in the nodes, with remote GPUs of their own, and with
shares of remote GPUs. Prints a JSON line per figure; tests/slurm checks against a real Slurm which jobs it lets run when.

    cluster_model.py node|remote|pack|spread|ranked|suspend|- JOBS SEED [--gpus N] [--nodes N] [--cores N] [--cost R] [--json]

The way is that of STUDY_WAY where it is "-". A GPU of a node is used by jobs on that node only, a remote one by any. Jobs start in the order of their submission. With
pack and spread jobs have shares of remote GPUs, with the memory that they ask for: on the fullest GPU that has it, or on
the emptiest. Jobs that share a GPU run at full speed until they want more of it than there is, and then all of them slow
down alike. With ranked and suspend, remote GPUs are for one job each and urgent jobs go before others; with suspend one
that finds none free has the job suspended that was submitted first of those that are not urgent, which goes on when the urgent
one has ended. --cost is how much longer a job computes on a remote GPU than on one of its node (from the other studies).
--json prints which jobs begin and end together instead."""
import argparse
import json
import os
import random
import sys

WAYS = ("node", "remote", "pack", "spread", "ranked", "suspend")
SHARES = ("pack", "spread")
RANKS = ("ranked", "suspend")
# Kinds of jobs: their weight, the part of their time in which they compute on the GPU, cores, memory (in
# sixteenths of a GPU, unless --parts says otherwise), minutes. Parts of time are those of applications that the papers ran: much of what asks for a GPU waits for
# the processor, for files and for other nodes.
KINDS = (("dynamics", 4, 0.55, 4, 4, (20, 60)), ("sequences", 3, 0.25, 2, 2, (10, 40)), ("training", 2, 0.85, 4, 8, (30, 120)),
         ("inference", 3, 0.15, 2, 3, (5, 30)), ("interactive", 2, 0.05, 1, 2, (15, 45)))
# Those that somebody waits for.
URGENT = ("inference", "interactive")
# GiB of a GPU, and seconds for each GiB of a job that leaves it and comes back, measured on an H100 with 40 GiB (docs/admin/sharing.md).
GPU_GIB, AWAY_AND_BACK = 80, (30 + 8.5) / 40
# Watts, of a datasheet's order: a node without a GPU that idles, and each core at work; a GPU that idles, and at work; what
# a box takes for each of its GPUs.
NODE_IDLE, CORE_BUSY, GPU_IDLE, GPU_BUSY, BOX_OVERHEAD = 120, 8, 70, 500, 40
EPSILON = 1e-9


class Job:
    def __init__(self, number, submitted, kind, duty, cores, memory, seconds):
        self.number, self.submitted, self.kind, self.duty = number, submitted, kind, duty
        self.cores, self.memory, self.left = cores, memory, seconds
        self.work = seconds
        self.urgent = kind in URGENT
        self.lender = None  # the job that is suspended for this one
        self.start = self.end = self.node = self.gpu = None


def trace(count, seed, per_hour):
    """COUNT jobs that come in the mean PER_HOUR; the same for each way of having GPUs."""
    drawn, jobs, at = random.Random(seed), [], 0.0
    for number in range(count):
        name, _, duty, cores, memory, minutes = drawn.choices(KINDS, [kind[1] for kind in KINDS])[0]
        jobs.append(Job(number, at, name, duty, cores, memory, 60 * drawn.uniform(*minutes)))
        at += drawn.expovariate(per_hour / 3600)
    return jobs


class Cluster:
    """Who runs where. WAY is node, remote, pack or spread; COST what a remote GPU costs, as a factor of the GPU's part."""

    def __init__(self, way, nodes, gpus, cores, parts, cost):
        self.way, self.parts, self.cost = way, parts, cost
        self.free_cores = [cores] * nodes
        self.on = [[] for _ in range(gpus)]  # the jobs of each GPU
        self.suspensions = 0

    def used(self, gpu):
        return sum(job.memory for job in self.on[gpu])

    def gpus_for(self, job):
        """Those that can take it, the one that it gets first."""
        if self.way not in SHARES:
            return [gpu for gpu, sharers in enumerate(self.on) if not sharers]
        fitting = [gpu for gpu in range(len(self.on)) if self.used(gpu) + job.memory <= self.parts]
        return sorted(fitting, key=self.used, reverse=self.way == "pack")

    def place_of(self, job):
        """(node, GPU) where it can run now, or None."""
        for gpu in self.gpus_for(job):
            for node in ([gpu] if self.way == "node" else range(len(self.free_cores))):
                if self.free_cores[node] >= job.cores:
                    return node, gpu
        return None

    def victim_for(self, job):
        """Who is suspended for it, or None."""
        others = [other for other in self.running() if not other.urgent]
        return min(others, key=lambda other: other.number, default=None) if self.way == "suspend" and job.urgent else None

    def has_place(self, job):
        return bool(self.place_of(job) or self.victim_for(job))

    def suspend(self, job, victim):
        self.on[victim.gpu].remove(victim)
        victim.left += GPU_GIB * victim.memory / self.parts * AWAY_AND_BACK
        job.lender = victim
        self.suspensions += 1

    def begin(self, job, now):
        if not self.place_of(job):
            self.suspend(job, self.victim_for(job))
        job.node, job.gpu = self.place_of(job)
        job.start = now
        if self.way != "node":
            job.left *= 1 + job.duty * (self.cost - 1)
        self.free_cores[job.node] -= job.cores
        self.on[job.gpu].append(job)

    def finish(self, job, now):
        job.end = now
        self.free_cores[job.node] += job.cores
        self.on[job.gpu].remove(job)
        if job.lender:
            self.on[job.gpu].append(job.lender)

    def suspended(self):
        return [job.lender for job in self.running() if job.lender]

    def speed(self, job):
        return 1 / max(1.0, sum(other.duty for other in self.on[job.gpu]))

    def running(self):
        return [job for sharers in self.on for job in sharers]


def play(jobs, cluster):
    """Runs all jobs; yields (time, jobs that begin, jobs that end) at each change."""
    now, waiting, coming = 0.0, [], sorted(jobs, key=lambda job: job.submitted)
    while coming or waiting or cluster.running():
        ends = [(now + job.left / cluster.speed(job), job.number) for job in cluster.running()]
        then = min(ends + ([(coming[0].submitted, -1)] if coming else []))[0]
        for job in cluster.running():
            job.left -= (then - now) * cluster.speed(job)
        now = then
        ended = [job for job in cluster.running() if job.left <= EPSILON * max(1.0, job.work)]
        for job in ended:
            cluster.finish(job, now)
        while coming and coming[0].submitted <= now:
            waiting.append(coming.pop(0))
        if cluster.way in RANKS:
            waiting.sort(key=lambda job: (not job.urgent, job.number))
        begun = []
        while waiting and cluster.has_place(waiting[0]):
            begun.append(waiting.pop(0))
            cluster.begin(begun[-1], now)
        if waiting and not cluster.running():
            sys.exit("cluster_model: job %d can never run" % waiting[0].number)
        yield now, begun, ended


def energy(jobs, cluster, makespan):
    """Joules of all nodes, boxes and GPUs from the first submission to the last end."""
    computed = sum(job.work * job.duty for job in jobs)
    cores = sum((job.end - job.start) * job.cores for job in jobs)
    boxes = 0 if cluster.way == "node" else BOX_OVERHEAD * len(cluster.on)
    return (makespan * (NODE_IDLE * len(cluster.free_cores) + GPU_IDLE * len(cluster.on) + boxes) +
            cores * CORE_BUSY + computed * (GPU_BUSY - GPU_IDLE))


def mean_minutes(values):
    values = list(values)
    return sum(values) / max(1, len(values)) / 60


def figures(jobs, cluster):
    makespan = max(job.end for job in jobs)
    hours = makespan / 3600
    yield "makespan", hours * 60, "min"
    yield "turn-around", mean_minutes(job.end - job.submitted for job in jobs), "min"
    yield "turn-around, urgent", mean_minutes(job.end - job.submitted for job in jobs if job.urgent), "min"
    yield "turn-around, others", mean_minutes(job.end - job.submitted for job in jobs if not job.urgent), "min"
    yield "waiting", mean_minutes(job.start - job.submitted for job in jobs), "min"
    yield "running", mean_minutes(job.end - job.start for job in jobs), "min"
    yield "throughput", len(jobs) / hours, "jobs/h"
    yield "GPUs busy", 100 * sum(job.work * job.duty for job in jobs) / (makespan * len(cluster.on)), "%busy"
    yield "energy", energy(jobs, cluster, makespan), "J"
    if cluster.way == "suspend":
        yield "suspensions", cluster.suspensions / len(jobs) * 100, "of 100 jobs"


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("way", choices=WAYS + ("-",))
    p.add_argument("jobs", type=int)
    p.add_argument("seed", type=int)
    p.add_argument("--gpus", type=int, default=16)
    p.add_argument("--nodes", type=int, default=16)
    p.add_argument("--cores", type=int, default=16)
    p.add_argument("--parts", type=int, default=16, help="into which a GPU's memory is divided")
    p.add_argument("--per-hour", type=float, default=120)
    p.add_argument("--cost", type=float, default=1.05)
    p.add_argument("--json", action="store_true")
    options = p.parse_args()
    if options.way == "-":
        options.way = os.environ.get("STUDY_WAY", "")
    if options.way not in WAYS:
        p.error("STUDY_WAY is none of " + ", ".join(WAYS))
    if options.way == "node" and options.gpus > options.nodes:
        p.error("a node has one GPU at most")
    return options


def main():
    options = arguments()
    jobs = trace(options.jobs, options.seed, options.per_hour)
    cluster = Cluster(options.way, options.nodes, options.gpus, options.cores, options.parts, options.cost)
    events, steps, told = [], [], 0
    for now, begun, ended in play(jobs, cluster):
        events.append((now, begun, ended))
        came = [job.number for job in jobs[told:] if job.submitted <= now]
        told += len(came)
        steps.append({"submitted": came, "ended": [job.number for job in ended],
                      "running": [job.number for job in cluster.running()],
                      "suspended": [job.number for job in cluster.suspended()],
                      "lent_on": any(job.lender for job in ended) and any(job.urgent for job in begun)})
    if options.json:
        print(json.dumps({"jobs": [{"number": job.number, "cores": job.cores, "memory": job.memory, "urgent": job.urgent}
                                   for job in jobs], "steps": steps,
                          "events": [[[job.number for job in begun], [job.number for job in ended]]
                                     for _, begun, ended in events]}))
        return
    for name, value, unit in figures(jobs, cluster):
        print(json.dumps({"figure": name, "value": round(value, 3), "unit": unit}))


if __name__ == "__main__":
    main()
